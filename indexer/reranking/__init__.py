"""Ranks the candidates of other engines by the code of a search: texts in memory, and stored documents."""
