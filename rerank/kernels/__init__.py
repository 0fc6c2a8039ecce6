"""Inner loops compiled by numba, each over a range of rows, for the parallel loops of `rerank.runtime.thread_pool`.

The only package that imports numba, whose import takes half a second: the names below are imported on first use.
Compiled code is cached on disk. The decorators erase the types of the functions: the modules of `rerank.distance` are
their typed interface.

Parameters of one name have one meaning. A kernel processes the rows from `first` to `last`, exclusive. A document is a
row of bags in compressed form (`starts`, `words`, `weights`), and `rows` (m,) are the documents to process. `cost`
(v, h) float32 holds distances that are never above the exact ones, from every word of the vocabulary to every word of
the query, whose weights are `query_weights` (h,); `query_index` (v,) is a word's column in it, -1 for words that the
query lacks. `left` and `right` are the masses of rows and columns of a transport problem: of the document's and of the
query's words; `u` and `v` are the potentials of rows and columns. `norms` (v,) and `query_norms` (h,) are the lengths
of word vectors.
"""

from typing import TYPE_CHECKING

from moverank.lazy_names import lazy_names as _lazy_names

if TYPE_CHECKING:
    from moverank.rerank.kernels.arcs import missing_arcs as missing_arcs
    from moverank.rerank.kernels.arcs import promising_arcs as promising_arcs
    from moverank.rerank.kernels.costs import distances_from_products as distances_from_products
    from moverank.rerank.kernels.costs import document_sides as document_sides
    from moverank.rerank.kernels.costs import exact_arcs as exact_arcs
    from moverank.rerank.kernels.costs import exact_distances as exact_distances
    from moverank.rerank.kernels.costs import quantised_costs as quantised_costs
    from moverank.rerank.kernels.costs import query_sides as query_sides
    from moverank.rerank.kernels.costs import row_minima as row_minima
    from moverank.rerank.kernels.counts import count_words as count_words
    from moverank.rerank.kernels.counts import fill_slots as fill_slots
    from moverank.rerank.kernels.counts import replaced as replaced
    from moverank.rerank.kernels.counts import transposed as transposed
    from moverank.rerank.kernels.duals import c_transform as c_transform
    from moverank.rerank.kernels.duals import one_pass_duals as one_pass_duals
    from moverank.rerank.kernels.duals import quantised_duals as quantised_duals
    from moverank.rerank.kernels.nearest_words import keep_nearest_of_rows as keep_nearest_of_rows
    from moverank.rerank.kernels.nearest_words import pair_bounds as pair_bounds
    from moverank.rerank.kernels.products import FEW as FEW
    from moverank.rerank.kernels.products import products_with_one as products_with_one
    from moverank.rerank.kernels.products import row_products as row_products
    from moverank.rerank.kernels.sinkhorn import near_potentials as near_potentials
    from moverank.rerank.kernels.sinkhorn import sinkhorn_bounds as sinkhorn_bounds
    from moverank.rerank.kernels.sums import weighted_sums as weighted_sums

if not TYPE_CHECKING:  # type checkers would accept any name, and do not compute `__all__`
    __all__, __getattr__, __dir__ = _lazy_names(globals())
