"""Alembic migrations of a collection's database, one for each schema version."""
