"""What the compiler may assume, so that loops become vector instructions."""

MINIMA = {"nnan", "nsz"}
"""Minima: that there is no NaN."""

SUMS = {"nnan", "nsz", "reassoc", "contract"}
"""Sums: that their order is free, too."""
