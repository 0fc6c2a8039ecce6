"""Inner loops compiled by numba, each over a range of rows, for the parallel loops of `rerank.runtime.thread_pool`.

The only package that imports numba, whose import takes half a second. Compiled code is cached on disk. The decorators
erase the types of the functions: the modules of `rerank.distance` are their typed interface.

Parameters of one name have one meaning. A kernel processes the rows from `first` to `last`, exclusive. A document is a
row of bags in compressed form (`starts`, `words`, `weights`), and `rows` (m,) are the documents to process. `cost`
(v, h) float32 holds distances that are never above the exact ones, from every word of the vocabulary to every word of
the query, whose weights are `query_weights` (h,); `query_index` (v,) is a word's column in it, -1 for words that the
query lacks. `left` and `right` are the masses of rows and columns of a transport problem: of the document's and of the
query's words; `u` and `v` are the potentials of rows and columns. `norms` (v,) and `query_norms` (h,) are the lengths
of word vectors.
"""
