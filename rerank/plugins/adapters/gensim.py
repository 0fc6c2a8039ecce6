"""gensim: a `WmdSimilarity` with the interface and the similarities of gensim's, which prunes.

`from moverank.rerank.plugins.adapters.gensim import WmdSimilarity` replaces the import from `gensim.similarities`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.runtime.gensim_log import gensim_imports

with gensim_imports("the adapter for gensim", "rank texts with `Reranker`"):
    from gensim import similarities

from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.errors import BagError
from moverank.rerank.plugins.adapters.document_bags import NearestRows, Queries, TextBags

Similarities = NDArray[np.float64]
Best = list[tuple[int, float]]


class WmdSimilarity(similarities.WmdSimilarity):
    """Similarities 1 / (1 + d) of documents by the exact Word Mover's Distance d over vectors of unit length.

    `corpus` is a sequence of documents, each a list of words, `kv_model` gensim's word vectors; both are read once,
    here. `index[query]` returns the similarities (n,) of a list of words, or (q, n) of a list of q such lists. With
    `num_best` it returns the best pairs (document, similarity), best first, and lower bounds exclude almost all
    documents. `chunksize` has no effect. Documents and queries without a known word have the similarity 0, as in
    gensim. Raises BagError for a text that is not split into words.
    """

    def __init__(
        self, corpus: Sequence[Sequence[str]], kv_model: Any, num_best: int | None = None, chunksize: int = 256
    ) -> None:
        super().__init__(corpus, kv_model, num_best, chunksize)
        self._texts = TextBags([_count(document) for document in corpus], self._known)

    def get_similarities(self, query: Any) -> Similarities:
        """Return the similarities (n,) of all documents to a list of words, or (q, n) to a list of q such lists.

        An array of ints stands for documents of the corpus. A list of a single query also returns an array (n,).
        """
        rows = np.array(list(self._rows(self._split(query))))
        return rows[0] if len(rows) == 1 else rows

    def __getitem__(self, query: Any) -> Any:
        """Return the result of `get_similarities`, or with `num_best` the best (document, similarity) of each query."""
        if self.num_best is None:
            return self.get_similarities(query)
        best = list(self._best(self._split(query), self.num_best))
        return best[0] if len(best) == 1 else best

    def __iter__(self) -> Iterator[Any]:
        """Yield the similarities of each document of the corpus as a query."""
        queries = [self._query(document) for document in self.corpus]
        return self._rows(queries) if self.num_best is None else self._best(queries, self.num_best)

    def _rows(self, queries: Queries) -> Iterator[Similarities]:
        """Yield the similarities (n,) of all documents to each query."""
        for rows, values in self._nearest(queries, len(self)):
            row = np.empty(len(self))
            row[rows] = values
            yield row

    def _best(self, queries: Queries, count: int) -> Iterator[Best]:
        """Yield the best documents of each query, at most `count`, with a similarity above 0."""
        if count < 1:
            yield from ([] for _ in queries)
            return
        for rows, values in self._nearest(queries, min(count, len(self))):
            yield list(zip(rows[values > 0].tolist(), values[values > 0].tolist(), strict=True))

    def _nearest(self, queries: Queries, k: int) -> Iterator[NearestRows]:
        """Yield the rows of the `k` documents nearest to each query, and their similarities."""
        found = self._texts.documents.nearest_of_each(queries, k)
        for query, (rows, distances) in zip(queries, found, strict=True):
            yield rows, np.zeros(len(rows)) if query is None else 1 / (1 + distances)

    def _split(self, query: Any) -> Queries:
        """Return the queries that `query` stands for: see `get_similarities`."""
        if isinstance(query, np.ndarray):
            query = [self.corpus[i] for i in query.ravel()]
        several = len(query) and isinstance(query[0], list | tuple)
        return [self._query(document) for document in (query if several else [query])]

    def _query(self, words: Sequence[str]) -> QueryBag | None:
        return self._texts.query(_count(words), self._known)

    def _known(self, words: Sequence[str]) -> tuple[list[str], NDArray[np.float32]]:
        """Return the `words` of the model, and their vectors (n, d), scaled as in gensim's distance."""
        names = [word for word in words if word in self.wv]
        vectors = np.empty((len(names), self.wv.vector_size), np.float32)
        with np.errstate(invalid="ignore"):
            for row, name in enumerate(names):
                vectors[row] = self.wv.get_vector(name, norm=True)
        return names, np.nan_to_num(vectors, copy=False)  # a vector of zeros has no unit length: it stays zero


def _count(words: Sequence[str]) -> Counter[str]:
    if isinstance(words, str):
        raise BagError(f"a text must be a list of words, not {words!r}: split it")
    return Counter(words)
