"""The current schema of the tables."""

SCHEMA = "0006"
"""The revision of the schema that this version writes: the newest file of `migrations/versions`."""
