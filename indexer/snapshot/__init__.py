"""Snapshots: files derived from the store for fast searches (counts, bags, vectors, first stage), and compaction."""
