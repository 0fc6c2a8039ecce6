"""The row of unknown words."""

UNKNOWN = -1
"""The row of a word that has no vector."""
