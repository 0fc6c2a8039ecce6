"""Experiments on a collection: which ranking method suits its texts, and how much each approximation loses."""
