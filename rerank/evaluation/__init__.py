"""Evaluation of rankings and neighbours: judgments, measures, significance, classification, hubness, tightness."""
