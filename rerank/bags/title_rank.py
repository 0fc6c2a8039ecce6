"""The rank of titles."""

TITLE = -1
"""The rank that marks the words of a title: they count `title_weight` times, independently of gamma."""
