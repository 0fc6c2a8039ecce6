"""Serves collections over HTTP: every operation as JSON, reranking for other engines, and pages (extra `server`).

It adds the command `serve`, with an endpoint and an OpenAPI description of each operation, the APIs of Text Embeddings
Inference, Infinity, Jina and Cohere, changes, watches and metrics; and the store `server`, a client of such a server,
for `--server`. Engines, other programs and browsers use it.
"""
