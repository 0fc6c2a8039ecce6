"""Process-wide resources of the numerics: thread pool, BLAS threads, deadlines, single extension modules."""
