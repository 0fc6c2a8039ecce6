"""File operations: atomic writing, checksums, limited gzip expansion, a collection's directory and its lock."""
