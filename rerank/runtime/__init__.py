"""Process-wide resources of the numerics: thread pool, BLAS threads, extensions loaded alone, shared contexts."""
