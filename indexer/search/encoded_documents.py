"""Distances of a query from every document by vectors of an encoder."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.checksums import checksum
from moverank.indexer.search.candidates import vector_search
from moverank.indexer.search.query import Query, QueryWords
from moverank.indexer.search.segments import LiveSegment
from moverank.indexer.search.view import View
from moverank.indexer.values.given_vectors import Space
from moverank.indexer.values.ranking_spec import EncoderChoice, RankingSpec, Weights
from moverank.rerank.distance.bounds import bag_means, centroid_lengths, inner_products
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.encoders.first_stages import choose_encoder

Distances = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Ids of documents (n,), increasing, and their distances (n,)."""


@dataclass(frozen=True, slots=True, eq=False)
class EncodedDocuments:
    """A fitted encoder, the `vectors` (n, dim) of the documents `ids` (n,), increasing, and their `squares` (n,)."""

    encoder: Encoder
    ids: NDArray[np.int64]
    vectors: NDArray[np.float64]
    squares: NDArray[np.float64]

    def distances(self, words: QueryWords) -> Distances:
        """Return the distances from a query: Euclidean, or 1 minus the inner product if that is the metric."""
        vector = words.encoded(self.encoder).astype(np.float64)
        if self.encoder.metric == "ip":
            return self.ids, np.maximum(1.0 - self.vectors @ vector, 0.0)
        squares = self.squares + vector @ vector - 2 * (self.vectors @ vector)
        return self.ids, np.sqrt(np.maximum(squares, 0.0))


def encoder_distances(view: View, query: Query, choice: EncoderChoice) -> Distances:
    """Return the distances of all documents by an encoder that is fitted to them on first use."""
    key = choice, query.ranking.gamma, query.ranking.weights
    return view.computed.get(key, lambda: _fitted(view, *key)).distances(query.words)


_ROUNDING = 1e-12
"""The error of a cosine, at most: that of a text with itself is 1."""


def cosine_distances(view: View, query: Query) -> Distances:
    """Return 1 minus the cosine between the centroids of the query's bag and of documents' bags.

    A filter leaves only documents that may be hits, and the sample. Only the lengths of centroids are cached: the inner
    product of two centroids is a weighted sum over the words.
    """
    ranking, centre = query.ranking, query.words.weights @ query.words.vectors.astype(np.float64)
    length = float(np.linalg.norm(centre))
    ids, distances = [np.empty(0, np.int64)], [np.empty(0)]
    for number, part in enumerate(view.segments):
        live = np.flatnonzero(part.live)
        wanted = np.ones(len(live), bool)
        if query.allowed is not None:
            wanted = np.isin(part.segment.ids[live], np.union1d(query.allowed, view.sample))
        rows = live[wanted]
        key = "lengths", number, ranking.gamma, ranking.weights
        every_length = view.computed.get(key, partial(_centroid_lengths, part, ranking))
        bags = part.bags_of_most(rows, ranking.gamma, ranking.weights)
        products = bag_means(bags, inner_products(part.segment.vectors, centre))
        lengths = every_length[rows] * length
        cosines = np.divide(products, lengths, out=np.zeros(len(bags)), where=lengths > 0)
        ids.append(part.segment.ids[rows])
        distances.append(np.where(cosines > 1.0 - _ROUNDING, 0.0, 1.0 - cosines))
    every = np.concatenate(ids)
    order = np.argsort(every, kind="stable")
    return every[order], np.concatenate(distances)[order]


def _centroid_lengths(part: LiveSegment, ranking: RankingSpec) -> NDArray[np.float64]:
    """Return the lengths (n,) of the centroids of all rows of a segment; a snapshot's segment caches them."""
    gamma, weights = ranking.gamma, ranking.weights

    def compute() -> NDArray[np.float64]:
        rows = np.arange(len(part.live))
        return centroid_lengths(part.bags_of_most(rows, gamma, weights), part.segment.vectors)

    factors = part.factors_of_words(weights)
    own = "" if factors is None else checksum(factors)
    name, of = f"lengths-{weights}-{gamma:g}", f"{gamma!r} {part.title_weight!r} {own}"
    return part.kept_sums(name, compute, len(part.live), np.float64, of)


def vector_distances(view: View, query: Query) -> Distances:
    """Return the distances of all documents by the vectors of the first stage; inner products are negated.

    Documents without a given vector are left out.
    """
    if view.space is not None:
        return _given_distances(view, query, view.space)
    return view.computed.get("vectors", lambda: _of_first_stage(view)).distances(query.words)


def _of_first_stage(view: View) -> EncodedDocuments:
    encoder = view.encoder()
    vectors = [
        part.encoded(encoder, np.arange(len(part.segment.ids)), view.gamma, view.weights)[part.live]
        for part in view.segments
    ]
    return _sorted(view, encoder, np.concatenate(vectors))


def _given_distances(view: View, query: Query, space: Space) -> Distances:
    search = vector_search(view)
    vector = search.vector(query)
    ids, costs = [np.empty(0, np.int64)], [np.empty(0)]
    for part in view.segments:
        rows, own = search.costs(part, np.flatnonzero(part.live), vector)
        ids.append(part.segment.ids[rows])
        costs.append(own.astype(np.float64))
    every = np.concatenate(ids)
    order = np.argsort(every)
    return every[order], space.distances(np.concatenate(costs)[order])


def _fitted(view: View, choice: EncoderChoice, gamma: float, weights: Weights) -> EncodedDocuments:
    documents, options = whole_documents(view, gamma, weights), dict(choice.options)
    encoder: Encoder = choose_encoder(choice.name, options).fit(documents, options)
    return _sorted(view, encoder, encoder.encode(documents))


def _sorted(view: View, encoder: Encoder, vectors: NDArray[np.float32]) -> EncodedDocuments:
    ids = np.concatenate([part.segment.ids[part.live] for part in view.segments])
    order = np.argsort(ids)
    chosen = vectors.astype(np.float64)[order]
    return EncodedDocuments(encoder, ids[order], chosen, np.square(chosen).sum(axis=1))


def whole_documents(view: View, gamma: float, weights: Weights) -> Documents:
    """Return all live documents of a view over one vocabulary, in the order of segments."""
    joined = view.all_bags(gamma, weights)
    lengths = [part.tokens(np.flatnonzero(part.live)) for part in view.segments]
    return Documents(joined.bags, np.concatenate(lengths), joined.word_ids, joined.vectors)
