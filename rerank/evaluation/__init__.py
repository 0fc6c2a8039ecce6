"""Experiments on rankings and neighbours: judgments, measures, tests of significance, classification, hubness."""
