"""Collections of texts that are kept up to date and searched: files, SQL and FAISS around `rerank`."""
