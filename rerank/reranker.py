"""The nearest bags by any of the distances, and the reranking of another engine's candidates."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.cascade import Cascade, never
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.query_bag import QueryBag, restricted
from moverank.rerank.distance.relaxed import nearest_by_rwmd, nearest_by_wcd
from moverank.rerank.errors import BagError, NoKnownWords
from moverank.rerank.ranking import Distance, Hit, Nearest, Ranking, StageCounts
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer, default_stop_words
from moverank.rerank.words.vocabulary import UNKNOWN


def nearest(
    query: QueryBag,
    bags: Bags,
    vectors: NDArray[np.float32],
    k: int,
    distance: Distance = "wmd",
    within: float = np.inf,
    norms: NDArray[np.float32] | None = None,
    stop: Callable[[], bool] = never,
) -> Nearest:
    """Find the exact `k` nearest of `bags` over word vectors (v, d) by a cascade of bounds.

    Equal distances are kept in the order of their rows. Whatever is known to be farther than `within` is not settled:
    fewer than k rows may come back. `norms` (v,) are the vectors' lengths, where they are at hand. Once `stop` says
    yes, the search ends with the k best that it can have at once, and says by `possible` what it does not know.
    """
    if k < 1:
        raise BagError(f"k must be 1 or more, not {k}")
    if not len(bags):
        return Nearest(np.empty(0, np.int64), np.empty(0), StageCounts())
    if len(bags.words) < len(vectors):  # fewer words for certain, and a smaller vocabulary is worth its making
        query, bags, vectors, norms = restricted(query, bags, vectors, norms)
    if distance == "wcd":
        return nearest_by_wcd(query, bags, vectors, k, within)
    lengths = vector_norms(vectors) if norms is None else norms
    if distance == "rwmd":
        return nearest_by_rwmd(query, bags, vectors, lengths, k, within)
    return Cascade(query, bags, vectors, lengths, k, within, stop).run()


class Reranker:
    """Ranks the candidates of any other engine by exact Word DistanceRanker's Distance.

    `embedding` holds the word vectors; `stop_words` are left out (None: the default English list).
    """

    def __init__(self, embedding: Embedding, stop_words: frozenset[str] | None = None) -> None:
        self._embedding = embedding
        self._tokenizer = Tokenizer(default_stop_words() if stop_words is None else stop_words)

    def rank(self, query: str, texts: Sequence[str] | Mapping[str, str], k: int = 10) -> Ranking:
        """Return the `k` texts nearest to `query`, certified among `texts`.

        A hit's key is the text's key in a mapping, its place in a sequence ("0", "1", ...). Texts without a known word
        are not ranked. Raises NoKnownWords when the query has none.
        """
        if isinstance(texts, str):
            raise BagError("texts must be many texts, not one: put it into a list")
        named = list(texts.items()) if isinstance(texts, Mapping) else [(str(i), t) for i, t in enumerate(texts)]
        counted = [self._tokenizer.count(text) for text in (query, *(text for _, text in named))]
        vocabulary, vectors = self._vocabulary(counted)
        bags = [_bag(counts, vocabulary) for counts in counted]
        if bags[0] is None:
            raise NoKnownWords("the query has no word that the embedding knows")
        ranked = [(key, bag) for (key, _), bag in zip(named, bags[1:], strict=True) if bag is not None]
        found = nearest(QueryBag(bags[0], vectors[bags[0].words]), Bags.of([bag for _, bag in ranked]), vectors, k)
        hits = tuple(
            Hit(ranked[row][0], distance)
            for row, distance in zip(found.rows.tolist(), found.distances.tolist(), strict=True)
        )
        return Ranking(hits, certified=True, scope="collection", counts=found.counts)

    def _vocabulary(self, counted: Sequence[Mapping[str, int]]) -> tuple[dict[str, int], NDArray[np.float32]]:
        """Collect the known words of these texts, and gather their vectors."""
        words = sorted({word for counts in counted for word in counts})
        rows = self._embedding.find(words)
        known = np.flatnonzero(rows != UNKNOWN)
        names = [words[i] for i in known.tolist()]
        return {word: i for i, word in enumerate(names)}, self._embedding.gather(names, rows[known])


def _bag(counts: Mapping[str, int], vocabulary: Mapping[str, int]) -> Bag | None:
    """Return the bag of the known words, None where there is none."""
    known = [(vocabulary[word], count) for word, count in counts.items() if word in vocabulary]
    return Bag.of(*zip(*known, strict=True)) if known else None
