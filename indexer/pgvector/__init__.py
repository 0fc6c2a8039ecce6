"""The first stage in PostgreSQL: a table of documents' vectors (pgvector), which follows changes; its candidates."""
