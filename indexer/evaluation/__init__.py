"""Experiments on a collection: which distance is best for these texts, and what is lost by being quick."""
