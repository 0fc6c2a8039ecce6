"""Experiments on a collection: which ranking suits its texts, and how much each approximation loses.

It adds the commands `evaluate` and `tune`, which measure retrieval, kNN classification, gamma and bounds by the code
that searches run, draw figures (extra `plot`), and choose a ranking by judgments. Researchers use it, and whoever
configures a collection.
"""
