"""Proofs of searches: their prover, and a verifier that runs alone."""
