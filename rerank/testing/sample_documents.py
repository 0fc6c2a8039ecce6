"""Documents that are hard for encoders: equal and zero word vectors, equal documents, single words, extreme weights."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.encoders.encoder import Documents

VECTORS = ("normal", "lattice", "zeros", "twins", "equal", "offset")
WEIGHTS = ("equal", "normal", "orders")

_SIZES = ((1, 1, 1), (3, 1, 2), (30, 8, 12))
"""Numbers of words, dimensions and documents."""


def make_vectors(rng: np.random.Generator, v: int, d: int, kind: str, scale: float) -> NDArray[np.float32]:
    """Return word vectors (v, d) of one of the `VECTORS` kinds."""
    vectors = rng.standard_normal((v, d))
    if kind == "lattice":
        vectors = rng.integers(-1, 2, (v, d)).astype(np.float64)
    elif kind == "zeros":
        vectors[rng.random(v) < 0.5] = 0
    elif kind == "twins":
        vectors = vectors[rng.integers(0, v, v)]
    elif kind == "equal":
        vectors[:] = vectors[0]
    elif kind == "offset":
        # Close together and far from the origin: a distance computed from float32 products cancels to noise.
        vectors = 100 + 1e-3 * vectors
    return (scale * vectors).astype(np.float32)


def make_weights(rng: np.random.Generator, n: int, kind: str) -> NDArray[np.float64]:
    """Return weights (n,) of one of the `WEIGHTS` kinds, not normalised."""
    if kind == "equal":
        return np.ones(n)
    return rng.uniform(0.1, 1, n) if kind == "normal" else 10.0 ** rng.uniform(-12, 0, n)


def make_bag(rng: np.random.Generator, words: int, kind: str, longest: int) -> Bag:
    """Return a bag of at most `longest` distinct words, drawn from the ids 0 to `words` - 1."""
    size = int(rng.integers(1, min(words, longest) + 1))
    return Bag.of(rng.choice(words, size, replace=False), make_weights(rng, size, kind))


def make_documents(bags: Sequence[Bag], vectors: NDArray[np.float32], seed: int = 0) -> Documents:
    """Return documents of random lengths over words whose ids have gaps; `vectors` (v, d) belong to the words."""
    rng = np.random.default_rng(seed)
    ids = np.cumsum(rng.integers(1, 4, len(vectors))).astype(np.int64)
    return Documents(Bags.of(list(bags)), rng.integers(1, 200, len(bags)).astype(np.float64), ids, vectors)


def random_documents(seed: int, n: int = 40, v: int = 60, d: int = 6, longest: int = 12) -> Documents:
    """Return `n` documents of at most `longest` words, over `v` words with vectors (v, d)."""
    rng = np.random.default_rng(seed)
    return make_documents(
        [make_bag(rng, v, "normal", longest) for _ in range(n)], make_vectors(rng, v, d, "normal", 1.0), seed
    )


def varied_documents() -> Iterator[Documents]:
    """Yield documents of each kind of word vectors and weights, few and many, some of them equal."""
    for seed, (vectors, weights, (v, d, n)) in enumerate(product(VECTORS, WEIGHTS, _SIZES)):
        rng = np.random.default_rng(seed)
        scale = (1e-3, 1.0, 1e3)[seed % 3]
        bags = [make_bag(rng, v, weights, 8) for _ in range(n)]
        bags[-1] = bags[0]
        yield make_documents(bags, make_vectors(rng, v, d, vectors, scale), seed)


def alone(whole: Documents, row: int) -> Documents:
    """Return one document over the vocabulary of its own words."""
    bag = whole.bags[row]
    own = Bag(np.arange(len(bag), dtype=np.int32), bag.weights)
    lengths = whole.lengths[row : row + 1]
    return Documents(Bags.of([own]), lengths, whole.word_ids[bag.words], whole.vectors[bag.words])


def with_unseen_words(whole: Documents) -> Documents:
    """Return the same documents with new word ids for the same vectors."""
    beyond = whole.word_ids + whole.word_ids[-1] + 1
    return Documents(whole.bags, whole.lengths, beyond, whole.vectors)
