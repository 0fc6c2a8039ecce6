"""Documents over word vectors that are hard for encoders: equal and zero vectors, equal documents, single words."""

from collections.abc import Mapping

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.encoders.encoder import Documents
from tests.rerank.problems import VECTORS, WEIGHTS, make_bag, make_vectors

CASES: list[tuple[str, Mapping[str, str]]] = [
    ("centroid", {}),
    ("centroid", {"idf": "yes"}),
    ("fisher", {"k": "5", "dim": "3"}),
    ("fisher", {"k": "3", "dim": "300", "variances": "yes", "frequency": "1"}),
    ("fisher", {"k": "4", "power": "no", "l2": "no", "variances": "yes", "frequency": "0.5"}),
    ("fisher", {"k": "1", "power": "no"}),
    ("lsi", {"dim": "4"}),
    ("lsi", {"dim": "300", "inverse": "no", "idf": "no"}),
    ("lda", {"topics": "3", "passes": "1"}),
    ("msda", {"features": "4", "layers": "2"}),
    ("ccg", {"extent": "3", "window": "2", "iterations": "3"}),
]
"""Every encoder, with options that make it small."""


def make_documents(bags: list[Bag], vectors: NDArray[np.float32], seed: int = 0) -> Documents:
    """Return documents of some tokens each over words whose ids have gaps."""
    rng = np.random.default_rng(seed)
    ids = np.cumsum(rng.integers(1, 4, len(vectors))).astype(np.int64)
    return Documents(Bags.of(bags), rng.integers(1, 200, len(bags)).astype(np.float64), ids, vectors)


def random_documents(seed: int, n: int = 40, v: int = 60, d: int = 6, longest: int = 12) -> Documents:
    """Return n documents over v words with vectors (v, d)."""
    rng = np.random.default_rng(seed)
    return make_documents(
        [make_bag(rng, v, "normal", longest) for _ in range(n)], make_vectors(rng, v, d, "normal", 1.0), seed
    )


@st.composite
def documents(draw: st.DrawFn) -> Documents:
    """Draw few documents, some of them alike or of one word."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    v, d, n = draw(st.integers(1, 30)), draw(st.integers(1, 8)), draw(st.integers(1, 12))
    vectors = make_vectors(rng, v, d, draw(st.sampled_from(VECTORS)), draw(st.sampled_from([1e-3, 1.0, 1e3])))
    kind, longest = draw(st.sampled_from(WEIGHTS)), draw(st.sampled_from([1, 8]))
    bags = [make_bag(rng, v, kind, longest) for _ in range(n)]
    for row in range(n):
        if draw(st.booleans()):
            bags[row] = bags[draw(st.integers(0, n - 1))]
    return make_documents(bags, vectors, draw(st.integers(0, 9)))


def alone(whole: Documents, row: int) -> Documents:
    """Return one document over a vocabulary of its own words only."""
    bag = whole.bags[row]
    own = Bag(np.arange(len(bag), dtype=np.int32), bag.weights)
    lengths = whole.lengths[row : row + 1]
    return Documents(Bags.of([own]), lengths, whole.word_ids[bag.words], whole.vectors[bag.words])


def strangers(whole: Documents) -> Documents:
    """Return the same documents with words that nobody has seen, though they have the same vectors."""
    beyond = whole.word_ids + whole.word_ids[-1] + 1
    return Documents(whole.bags, whole.lengths, beyond, whole.vectors)
