"""The factor by which each word counts in a bag, by the weights of a ranking: 1, idf, or the length of its vector."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self, get_args

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.values.ranking_spec import RankingSpec, Weights, resolve
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.subwords import Pieces

OF_VECTORS: tuple[Weights, ...] = ("norm", "model")
"""The weights that the vector of a word determines."""

OfWords = Callable[[NDArray[np.int64], Sequence[str] | None], NDArray[np.float64]]
"""Returns the factor (n,) of words by id (0: in no document of the collection); words of a query also have texts."""

VectorFactors = Mapping[Weights, NDArray[np.float64] | str]
"""The factors (t,) of some words by the weights that vectors determine, or why these vectors determine none."""

_SHORTEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, slots=True)
class WordFactors:
    """The factors of the words of some documents; `of_vectors` takes the name of the weights first."""

    idf: OfWords
    of_vectors: Callable[[Weights, NDArray[np.int64], Sequence[str] | None], NDArray[np.float64]]

    @classmethod
    def by(cls, embedding: Embedding, idf: OfWords, texts_of: Callable[[NDArray[np.int64]], Sequence[str]]) -> Self:
        """Return the factors of words with vectors in `embedding`; `texts_of` returns the words of ids."""

        def of_vectors(weights: Weights, ids: NDArray[np.int64], texts: Sequence[str] | None) -> NDArray[np.float64]:
            return factors_of_vectors(weights, texts_of(ids) if texts is None else texts, embedding)

        return cls(idf, of_vectors)

    def of(
        self, weights: Weights, ids: NDArray[np.int64], texts: Sequence[str] | None = None
    ) -> NDArray[np.float64] | None:
        """Return the factors (n,) of words, see `OfWords`; None: all are 1.

        Raises UsageError for weights that the word vectors do not determine.
        """
        if weights == "tf":
            return None
        return self.idf(ids, texts) if weights == "tfidf" else self.of_vectors(weights, ids, texts)


def _problem(weights: Weights, *, pieces: bool, unit: bool, lengths: bool) -> str | None:
    """Return why there are no factors by `weights` for such vectors: composed of pieces, of length 1, with lengths."""
    if weights not in OF_VECTORS:
        return None
    if weights == "model" and not pieces:
        return (
            "weights=model needs the word vectors of a static embedding model, a directory of model2vec or "
            "StaticEmbedding: choose tf, tfidf or norm"
        )
    if not unit:
        return (
            f"weights={weights} compares words by the angle of their vectors, which must have length 1 for that: "
            "import them with --setting normalize=yes (`moverank refit --embedding FILE --setting normalize=yes`; "
            "in Python, normalize=True)"
        )
    if not lengths:
        return (
            f"weights={weights} needs the lengths that the word vectors had before they were scaled: let moverank "
            "scale them (in Python, normalize=True)"
        )
    return None


def why_no_factors(weights: Weights, embedding: Embedding) -> str | None:
    """Return why word vectors do not determine the factors of words by these weights; None if they do."""
    pieces = embedding.subwords is not None and isinstance(embedding.subwords.split, Pieces)
    return _problem(weights, pieces=pieces, unit=embedding.unit, lengths=embedding.lengths is not None)


def check_weights(weights: Weights, embedding: Embedding) -> None:
    """Raise UsageError unless word vectors determine the factors of words by these weights."""
    if problem := why_no_factors(weights, embedding):
        raise UsageError(problem)


def check_own_weights(own: RankingSpec, embedding: Embedding) -> None:
    """Raise UsageError unless word vectors determine the weights of a collection's `own` ranking and its default."""
    for weights in (own.weights, resolve(None, None, own).weights):
        check_weights(weights, embedding)


def check_trained_weights(own: RankingSpec, *, normalize: bool) -> None:
    """Raise UsageError unless vectors that are yet to be trained will determine the weights of `own`."""
    for weights in (own.weights, resolve(None, None, own).weights):
        if problem := _problem(weights, pieces=False, unit=normalize, lengths=True):
            raise UsageError(problem)


def factors_of_vectors(weights: Weights, words: Sequence[str], embedding: Embedding) -> NDArray[np.float64]:
    """Return the factors (n,) > 0 of words by weights that vectors determine; UsageError if these determine none.

    norm: the length of the word's vector before it was scaled (Yokoi et al. 2020); model: how much a static embedding
    model counts the word, see `Embedding.lengths_of`. A word whose vector is zero keeps some mass: a document may have
    no other word.
    """
    check_weights(weights, embedding)
    return np.maximum(embedding.lengths_of(words, summed=weights == "model"), _SHORTEST)


def usable_weights(factors: VectorFactors) -> tuple[Weights, ...]:
    """Return the weights that have factors."""
    every: tuple[Weights, ...] = get_args(Weights)
    return tuple(each for each in every if each not in OF_VECTORS or isinstance(factors.get(each), np.ndarray))


@dataclass(frozen=True, eq=False)
class CorpusVocabulary:
    """Words by index: `vectors` (t, d) float32, `known` (t,) whether a word has one.

    `fingerprint` identifies the vectors, `words` are the texts, `factors` those by weights that vectors determine.
    """

    vectors: NDArray[np.float32]
    known: NDArray[np.bool_]
    fingerprint: str
    words: tuple[str, ...] = ()
    factors: VectorFactors = field(default_factory=dict)

    @classmethod
    def of(cls, words: Sequence[str], embedding: Embedding, weights: Iterable[Weights] = OF_VECTORS) -> Self:
        """Return words, with vectors where words have one, and their factors by some `weights`."""
        factors: VectorFactors = {
            one: why_no_factors(one, embedding) or factors_of_vectors(one, words, embedding)
            for one in OF_VECTORS
            if one in weights
        }
        return cls(*embedding.spread(words), embedding.fingerprint, tuple(words), factors)

    def take(self, places: NDArray[np.int64]) -> "CorpusVocabulary":
        """Return the words at `places` (m,), in that order, without a fingerprint."""
        names = tuple(self.words[place] for place in places.tolist())
        own = {name: one if isinstance(one, str) else one[places] for name, one in self.factors.items()}
        return CorpusVocabulary(self.vectors[places], self.known[places], "", names, own)

    def factors_of(self, weights: Weights) -> NDArray[np.float64]:
        """Return the factors (t,) of the words by weights that vectors determine; UsageError if these do not."""
        found = self.factors.get(weights, f"the words have no vectors for weights={weights}")
        if isinstance(found, str):
            raise UsageError(found)
        return found
