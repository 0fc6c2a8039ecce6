"""Judged sets as encoders and Word DistanceRanker's Distance take them: bags over the words that have a vector."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moverank import Embedding
from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.bags.weights import inverse_document_frequency, with_idf
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.reranker import nearest
from moverank.rerank.words.vocabulary import UNKNOWN
from tests.benchmarks.judged import JudgedSet, Rankings, order
from tests.rerank.scorers.counted import Counts


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedSet:
    """The documents and the queries that have known words, over one vocabulary, with their keys and ids."""

    keys: Sequence[str]
    documents: Documents
    asked: Sequence[str]
    queries: Documents

    @classmethod
    def of(cls, judged: JudgedSet, embedding: Embedding) -> "EmbeddedSet":
        """Keep the words that the embedding has, and the texts with such words."""
        queries = {query: judged.queries[query] for query in judged.relevant}
        terms = sorted({term for text in [*judged.documents, *queries.values()] for term in text})
        rows = embedding.find(terms)
        known = np.flatnonzero(rows != UNKNOWN)
        places = {terms[place]: i for i, place in enumerate(known.tolist())}
        words = np.arange(len(known)), np.array(embedding.vectors[rows[known]], np.float32)
        documents = dict(zip(judged.keys, judged.documents, strict=True))
        keys, asked = (
            [name for name, text in texts.items() if any(term in places for term in text)]
            for texts in (documents, queries)
        )
        return cls(
            keys,
            Documents(*_bags([documents[key] for key in keys], places), *words),
            asked,
            Documents(*_bags([queries[query] for query in asked], places), *words),
        )

    def with_idf(self) -> "EmbeddedSet":
        """Weigh the words of documents and queries by idf."""
        bags = self.documents.bags
        frequencies = np.bincount(bags.words, minlength=len(self.documents.word_ids)).astype(np.int64)
        idf = inverse_document_frequency(frequencies, len(bags))
        documents, queries = (
            Documents(with_idf(some.bags, idf), some.lengths, some.word_ids, some.vectors)
            for some in (self.documents, self.queries)
        )
        return EmbeddedSet(self.keys, documents, self.asked, queries)

    def encoded(self, encoder: Encoder) -> Rankings:
        """Rank all documents by an encoder's own metric; equal ones keep their order."""
        stored = encoder.encode(self.documents).astype(np.float64)
        found = {}
        for query, vector in zip(self.asked, encoder.encode(self.queries).astype(np.float64), strict=True):
            if encoder.metric == "ip":
                ranked = order(stored @ vector, ascending=False)
            else:
                ranked = order(np.square(stored - vector).sum(axis=1), ascending=True)
            found[query] = [self.keys[row] for row in ranked.tolist()]
        return found

    def moved(self, depth: int) -> Rankings:
        """Rank the `depth` nearest documents by exact Word DistanceRanker's Distance."""
        bags, vectors = self.documents.bags, self.documents.vectors
        found = {}
        for query, bag in zip(self.asked, self.queries.bags, strict=True):
            rows = nearest(QueryBag(bag, vectors[bag.words]), bags, vectors, depth).rows
            found[query] = [self.keys[row] for row in rows.tolist()]
        return found


def _bags(texts: Sequence[Counts], places: dict[str, int]) -> tuple[Bags, np.ndarray]:
    """Return the bags of texts over known words, and how many tokens (n,) these are."""
    counts = [{places[term]: count for term, count in text.items() if term in places} for text in texts]
    bags = [Bag.of(list(known), list(known.values())) for known in counts]
    return Bags.of(bags), np.array([sum(known.values()) for known in counts], np.float64)
