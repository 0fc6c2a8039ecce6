"""scikit-learn: nearest neighbours by exact Word Mover's Distance, as a transformer and as a classifier.

`WMDTransformer` returns the sparse graph of nearest neighbours, as `KNeighborsTransformer` does, for everything that
takes precomputed distances: `KNeighborsClassifier(metric="precomputed")`, DBSCAN, TSNE. `WMDClassifier` votes.
"""

import os
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, csr_matrix

from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.errors import BagError, NoKnownWords
from moverank.rerank.evaluation.knn import deciding_votes
from moverank.rerank.plugins.adapters.document_bags import DocumentBags, Queries, TextBags
from moverank.rerank.plugins.adapters.ranker import (
    are_texts,
    column_vectors,
    count_texts,
    missing,
    row_bags,
    word_lookup,
)
from moverank.rerank.runtime.thread_pool import single_threaded_blas
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.languages import DEFAULT
from moverank.rerank.words.tokenizer import AUTO_WORDS, StopWords

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        check_consistent_length,
        check_is_fitted,
        check_non_negative,
        column_or_1d,
        validate_data,
    )
except ImportError as error:
    raise missing("scikit-learn", "sklearn") from error

GivenEmbedding = Embedding | str | os.PathLike[str]


class _WMDNeighbors(BaseEstimator):
    """The documents of an estimator, and the search for the nearest ones."""

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        embedding: GivenEmbedding | None = None,
        vectors: ArrayLike | None = None,
        stop_words: StopWords = AUTO_WORDS,
        language: str = DEFAULT,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.embedding = embedding
        self.vectors = vectors
        self.stop_words = stop_words
        self.language = language

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]] | NDArray[np.int64]:
        """Return the distances (q, k) of the k nearest documents of each of `X`, nearest first, and their rows (q, k).

        Without `X`, the queries are the documents, none of which is its own neighbour. `n_neighbors` is k, by default
        that of the estimator. Raises ValueError if there are fewer than k documents.
        """
        queries, distances, rows = self._neighbours(X, n_neighbors)
        return (self._finite(distances, queries), rows) if return_distance else rows

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> csr_matrix:
        """Return the neighbours that `kneighbors` finds as a sparse matrix (q, n); a row is in the order of distances.

        Its values are 1, or with the `mode` "distance" the distances, also distances of 0.
        """
        _check_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors)
        values = distances if mode == "distance" else np.ones(rows.shape)
        starts = np.arange(0, rows.size + 1, rows.shape[1])
        return csr_matrix((values.ravel(), rows.ravel(), starts), shape=(len(rows), self.n_samples_fit_))

    def _fit(self, X: Any) -> None:
        """Read the documents."""
        _check_positive(self.n_neighbors)
        self._text_bags, self._known = None, None
        if self.embedding is None:
            bags = row_bags(self._numbers(X, reset=True))
            self._documents = DocumentBags.of(bags, column_vectors(self.vectors, self.n_features_in_))
        else:
            self._known = word_lookup(self.embedding)
            self._text_bags = TextBags(count_texts(X, self.stop_words, self.language), self._known)
            self._documents = self._text_bags.documents
            if not len(self._documents.rows):
                raise NoKnownWords("no word of X has a vector in the embedding")
        self.n_samples_fit_ = self._documents.n

    def _neighbours(self, X: Any, k: int | None) -> tuple[Queries, NDArray[np.float64], NDArray[np.int64]]:
        """Return the queries, and the distances, perhaps infinite, and rows of `kneighbors`."""
        check_is_fitted(self)
        count = self.n_neighbors if k is None else k
        _check_positive(count)
        n, is_own = self.n_samples_fit_, X is None
        queries = self._documents.as_queries() if is_own else self._queries(X)
        if count + is_own > n:
            raise ValueError(
                f"Expected n_neighbors {'<' if is_own else '<='} n_samples_fit, but n_neighbors = {count}, "
                f"n_samples_fit = {n}, n_samples = {len(queries)}"
            )
        with single_threaded_blas():  # for all queries: setting it takes as long as a short query
            found = list(self._documents.nearest_of_each(queries, count + is_own))
        rows, distances = (np.array(arrays) for arrays in zip(*found, strict=True))
        if is_own:
            others = rows != np.arange(n)[:, None]
            others[others.all(axis=1), -1] = False  # documents equal to it, more than k, came first
            rows, distances = (each[others].reshape(n, count) for each in (rows, distances))
        return queries, distances, rows

    def _finite(self, distances: NDArray[np.float64], queries: Queries) -> NDArray[np.float64]:
        """Replace infinite distances by a bound that no distance of a document to the same query exceeds."""
        if not np.isinf(distances).any():
            return distances
        # Words are at most as far apart as the sum of their distances from the origin.
        longest = float(self._documents.norms.max(initial=0.0))
        own = np.array([np.linalg.norm(query.vectors, axis=1).max() if query else 0.0 for query in queries])
        return np.where(np.isinf(distances), (longest + np.maximum(longest, own))[:, None], distances)

    def _queries(self, X: Any) -> Queries:
        if self._text_bags and self._known:
            counted = count_texts(X, self.stop_words, self.language)
            return [self._text_bags.query(counts, self._known) for counts in counted]
        bags, vectors = row_bags(self._numbers(X, reset=False)), self._documents.vectors
        return [None if bag is None else QueryBag(bag, vectors[bag.words]) for bag in bags]

    def _numbers(self, X: Any, *, reset: bool) -> csr_array:
        """Return numbers >= 0 as sparse rows; `reset`: they are the samples of `fit`."""
        if are_texts(X):
            raise BagError("X are texts: give their word vectors, embedding=moverank.Embedding.of(words, vectors)")
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        check_non_negative(rows, type(self).__name__)
        return csr_array(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        takes_texts = self.embedding is not None
        tags.input_tags.string = tags.input_tags.one_d_array = takes_texts
        tags.input_tags.two_d_array = tags.input_tags.sparse = tags.input_tags.positive_only = not takes_texts
        return tags


class WMDTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _WMDNeighbors):
    """Turns texts into the sparse graph of their `n_neighbors` nearest neighbours by exact Word Mover's Distance.

    With the `mode` "distance" a row of the graph has `n_neighbors` + 1 entries, because a fitted document is its own
    neighbour, with "connectivity" `n_neighbors` entries of 1.

    With `embedding`, X are texts (n,): they are split and counted as `Reranker` does, in a `language`, by its ISO code,
    and without `stop_words`: "auto" (the language's), "english", "none", or a list of words. `embedding` is a
    `moverank.Embedding`, or what `Reranker.load` takes, and `fit` loads: the path of word vectors or of a collection,
    "gensim:NAME" or "hf:NAME".

    Otherwise X are numbers >= 0 (n, v), dense or sparse, such as counts or tf-idf; a row is scaled to a sum of 1, and
    `vectors` (v, d) are the word vectors of the columns. Without these, too, all words are equally far apart: the
    distance is half the L1 distance of the scaled rows, times the root of 2.

    A document without a word (no known one in a text, only zeros in a row) has a distance of 0 to others without one,
    and to all others a finite distance that no distance between two of these exceeds.
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        mode: str = "distance",
        embedding: GivenEmbedding | None = None,
        vectors: ArrayLike | None = None,
        stop_words: StopWords = AUTO_WORDS,
        language: str = DEFAULT,
    ) -> None:
        super().__init__(n_neighbors, embedding=embedding, vectors=vectors, stop_words=stop_words, language=language)
        self.mode = mode

    def fit(self, X: Any, y: Any = None) -> "WMDTransformer":  # noqa: ARG002 - part of the interface
        """Read the documents; `y` has no effect. Raises ValueError for invalid input."""
        _check_mode(self.mode)
        self._fit(X)
        self._n_features_out = self.n_samples_fit_
        return self

    def transform(self, X: Any) -> csr_matrix:
        """Return the graph (q, n) of the n fitted documents that are nearest to each of `X`: see `kneighbors_graph`."""
        check_is_fitted(self)
        return self.kneighbors_graph(X, self.n_neighbors + (self.mode == "distance"), self.mode)


class WMDClassifier(ClassifierMixin, _WMDNeighbors):
    """Classifies texts by their `n_neighbors` nearest neighbours, as in Kusner et al. 2015.

    A class with at least half of the votes wins; while there is none, the two farthest neighbours are dropped. Between
    two classes with half of the votes each, the class of the nearest neighbour wins. A document without a word has the
    most frequent class, unless other documents without a word are among its neighbours. X and the other parameters are
    as in `WMDTransformer`.
    """

    def fit(self, X: Any, y: Any) -> "WMDClassifier":
        """Read the documents and their classes `y` (n,). Raises ValueError for invalid input."""
        self._fit(X)
        if y is None:
            raise ValueError("WMDClassifier requires y to be passed, but the target y is None")
        labels = column_or_1d(y, warn=True)
        check_consistent_length(np.empty(self.n_samples_fit_), labels)
        check_classification_targets(labels)
        self.classes_, self._labels = np.unique(labels, return_inverse=True)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes (q,) of `X`; None stands for the fitted documents, each by its other neighbours."""
        labels, _ = self._vote(X)
        return self.classes_[labels]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the shares (q, c) of the classes in the last vote, or in all documents where there is no vote.

        The columns are in the order of `classes_`. The predicted class has the largest share, alone or with one
        other: a tie is won by the nearest neighbour.
        """
        return self._vote(X)[1]

    def _vote(self, X: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the labels (q,), and their shares (q, c) of the votes."""
        _, distances, rows = self._neighbours(X, None)
        votes = np.where(np.isinf(distances), -1, self._labels[rows])
        labels, voters = deciding_votes(votes, votes.shape[1], len(self.classes_))
        voting = np.arange(votes.shape[1]) < voters[:, None]
        shares = np.stack([((votes == i) & voting).sum(axis=1) for i in range(len(self.classes_))], axis=1)
        frequencies = np.bincount(self._labels)
        shares[labels < 0] = frequencies
        return np.where(labels < 0, frequencies.argmax(), labels), shares / shares.sum(axis=1, keepdims=True)


def _check_positive(k: object) -> None:
    """Raise TypeError or ValueError unless `k` is a whole number of 1 or more."""
    if not isinstance(k, Integral):
        raise TypeError(f"n_neighbors must be a whole number, not {k!r}")
    if k < 1:
        raise ValueError(f"n_neighbors must be 1 or more, not {k}")


def _check_mode(mode: str) -> None:
    """Raise ValueError for an unknown mode of a graph."""
    if mode not in ("connectivity", "distance"):
        raise ValueError(f'mode must be "connectivity" or "distance", not {mode!r}')
