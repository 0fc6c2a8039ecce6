"""Bags of words, and the weights of their words."""
