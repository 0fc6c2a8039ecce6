"""Word vectors on disk: imported from files or trained on the corpus, and memory-mapped."""
