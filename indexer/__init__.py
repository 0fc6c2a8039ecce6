"""Searchable, updatable collections of texts: files, SQL and FAISS around `rerank`."""
