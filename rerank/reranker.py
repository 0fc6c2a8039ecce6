"""Reranking of another engine's candidates."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.errors import BagError, NoKnownWords
from moverank.rerank.ranking import Hit, Ranking
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.stop_words import default_stop_words
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN


class Reranker:
    """Ranks the candidates of any other engine by exact Word Mover's Distance.

    `embedding` holds the word vectors. `stop_words` are ignored in all texts; None stands for the default English list.
    """

    def __init__(self, embedding: Embedding, stop_words: frozenset[str] | None = None) -> None:
        self._embedding = embedding
        self._tokenizer = Tokenizer(default_stop_words() if stop_words is None else stop_words)

    def rank(self, query: str, texts: Sequence[str] | Mapping[str, str], k: int = 10) -> Ranking:
        """Return the `k` of `texts` nearest to `query`, certified among `texts`.

        A hit's key is the key of the text in a mapping, or its index in a sequence ("0", "1", ...). Texts without a
        known word are not ranked. Raises NoKnownWords if the query has none, BagError if `k` is below 1 or `texts` is a
        single str, or the query or one of them is no str.
        """
        if isinstance(texts, str):
            raise BagError("texts must be a sequence or mapping of texts, not a single string: put it into a list")
        named = list(texts.items()) if isinstance(texts, Mapping) else [(str(i), t) for i, t in enumerate(texts)]
        for name, text in [("the query", query), *((f"text {key}", text) for key, text in named)]:
            if not isinstance(text, str):
                raise BagError(f"{name} must be a string, not {text!r}")
        counted = [self._tokenizer.count(text) for text in (query, *(text for _, text in named))]
        vocabulary, vectors = self._vocabulary(counted)
        bags = [_bag(counts, vocabulary) for counts in counted]
        if bags[0] is None:
            raise NoKnownWords("no word of the query has a vector in the embedding")
        ranked = [(key, bag) for (key, _), bag in zip(named, bags[1:], strict=True) if bag is not None]
        found = nearest(QueryBag(bags[0], vectors[bags[0].words]), Bags.of([bag for _, bag in ranked]), vectors, k)
        hits = tuple(
            Hit(ranked[row][0], distance)
            for row, distance in zip(found.rows.tolist(), found.distances.tolist(), strict=True)
        )
        unknown = tuple(sorted(word for word in counted[0] if word not in vocabulary))
        return Ranking(
            hits,
            certified=True,
            scope="collection",
            counts=found.counts,
            unknown_words=unknown,
            ignored_words=unknown,
        )

    def _vocabulary(self, counted: Sequence[Mapping[str, int]]) -> tuple[dict[str, int], NDArray[np.float32]]:
        """Return ids for the known words of the counted texts, and their vectors (v, d)."""
        words = sorted({word for counts in counted for word in counts})
        rows = self._embedding.find(words)
        known = np.flatnonzero(rows != UNKNOWN)
        names = [words[i] for i in known.tolist()]
        return {word: i for i, word in enumerate(names)}, self._embedding.gather(names, rows[known])


def _bag(counts: Mapping[str, int], vocabulary: Mapping[str, int]) -> Bag | None:
    """Return the bag of the known words, None if there is none."""
    known = [(vocabulary[word], count) for word, count in counts.items() if word in vocabulary]
    return Bag.of(*zip(*known, strict=True)) if known else None
