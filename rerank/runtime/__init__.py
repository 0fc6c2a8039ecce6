"""Process-wide resources of the numerics: thread pool, BLAS threads, lazy imports, shared contexts."""
