"""Encoders: fixed-length document vectors for the first stage of the search."""
