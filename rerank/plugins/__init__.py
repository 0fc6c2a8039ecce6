"""What `rerank` does without: each folder adds something; `rerank` imports none of them."""
