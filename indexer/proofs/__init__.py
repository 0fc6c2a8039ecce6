"""Proofs of searches: what writes them, and what verifies them alone."""
