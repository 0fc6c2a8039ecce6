"""Distances between bags of words: ground cost, lower bounds, exact transport, and search for the nearest bags."""
