"""Retrieval sets in the form that encoders and the Word Mover's Distance take: bags of the words that have a vector."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from moverank import Embedding
from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.bags.weights import inverse_document_frequency, with_factors
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.testing.sample_counts import Counts
from moverank.rerank.words.vocabulary import UNKNOWN
from tests.benchmarks.retrieval_sets import Rankings, RetrievalSet, order


@dataclass(frozen=True, slots=True, eq=False)
class RetrievalBags:
    """The documents and the judged queries that have known words, over one vocabulary, with their keys and ids."""

    keys: Sequence[str]
    documents: Documents
    query_ids: Sequence[str]
    queries: Documents

    @classmethod
    def of(cls, retrieval_set: RetrievalSet, embedding: Embedding) -> "RetrievalBags":
        """Keep the words that the embedding has, and the texts with such words."""
        queries = retrieval_set.judged_queries
        terms = sorted({term for text in [*retrieval_set.documents, *queries.values()] for term in text})
        rows = embedding.find(terms)
        known = np.flatnonzero(rows != UNKNOWN)
        word_ids = {terms[row]: i for i, row in enumerate(known.tolist())}
        vocabulary = np.arange(len(known)), np.array(embedding.vectors[rows[known]], np.float32)
        documents = dict(zip(retrieval_set.keys, retrieval_set.documents, strict=True))
        keys, query_ids = (
            [name for name, text in texts.items() if any(term in word_ids for term in text)]
            for texts in (documents, queries)
        )
        return cls(
            keys,
            Documents(*_bags([documents[key] for key in keys], word_ids), *vocabulary),
            query_ids,
            Documents(*_bags([queries[query] for query in query_ids], word_ids), *vocabulary),
        )

    def with_idf(self) -> "RetrievalBags":
        """Return the same texts, with the words of documents and queries weighted by idf."""
        bags = self.documents.bags
        frequencies = np.bincount(bags.words, minlength=len(self.documents.word_ids)).astype(np.int64)
        idf = inverse_document_frequency(frequencies, len(bags))
        documents, queries = (
            replace(texts, bags=with_factors(texts.bags, idf)) for texts in (self.documents, self.queries)
        )
        return RetrievalBags(self.keys, documents, self.query_ids, queries)

    def ranked_by_encoder(self, encoder: Encoder) -> Rankings:
        """Rank all documents by the metric of a fitted encoder; ties keep their order."""
        stored = encoder.encode(self.documents).astype(np.float64)
        rankings = {}
        for query, vector in zip(self.query_ids, encoder.encode(self.queries).astype(np.float64), strict=True):
            if encoder.metric == "ip":
                rows = order(stored @ vector, ascending=False)
            else:
                rows = order(np.square(stored - vector).sum(axis=1), ascending=True)
            rankings[query] = [self.keys[row] for row in rows]
        return rankings

    def ranked_by_wmd(self, depth: int) -> Rankings:
        """Rank the `depth` nearest documents by exact Word Mover's Distance."""
        bags, vectors = self.documents.bags, self.documents.vectors
        rankings = {}
        for query, bag in zip(self.query_ids, self.queries.bags, strict=True):
            rows = nearest(QueryBag(bag, vectors[bag.words]), bags, vectors, depth).rows
            rankings[query] = [self.keys[row] for row in rows.tolist()]
        return rankings


def _bags(texts: Sequence[Counts], word_ids: Mapping[str, int]) -> tuple[Bags, NDArray[np.float64]]:
    """Return the bags of the known words of texts, and their numbers of known tokens (n,)."""
    counts = [{word_ids[term]: count for term, count in text.items() if term in word_ids} for text in texts]
    bags = [Bag.of(list(known), list(known.values())) for known in counts]
    return Bags.of(bags), np.array([sum(known.values()) for known in counts], np.float64)
