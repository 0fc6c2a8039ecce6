"""File operations: atomic writing, checksums, arrays, limited gzip expansion, a collection's directory and its lock."""
