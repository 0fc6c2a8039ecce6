"""Inputs beside documents: queries, candidates, judgments, vectors, stop words."""
