"""Fast-math flags: assumptions that allow the compiler to vectorise loops."""

MINIMA = {"nnan", "nsz"}
"""For minima: there is no NaN, and the sign of zero does not matter."""

SUMS = {"nnan", "nsz", "reassoc", "contract"}
"""For sums: in addition, terms may be reordered and fused."""
