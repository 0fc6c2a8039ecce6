"""Documents for tests of encoders, and the assertions that several of them share.

There are two kinds: random documents over word vectors that are hard for encoders (equal and zero vectors, equal
documents, single words), and documents of counts without useful vectors, some of them drawn from a few themes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.encoders.first_stages import is_encoder
from moverank.rerank.errors import EncoderError
from moverank.rerank.testing.sample_documents import VECTORS, WEIGHTS, make_bag, make_documents, make_vectors

_OWN: list[tuple[str, Mapping[str, str]]] = [
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
CASES = [case for case in _OWN if is_encoder(case[0])]  # a plug-in may have been removed
"""Every encoder of this package, with options that make it small."""


@st.composite
def documents(draw: st.DrawFn) -> Documents:
    """Draw few documents, some of them equal or of one word."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    v, d, n = draw(st.integers(1, 30)), draw(st.integers(1, 8)), draw(st.integers(1, 12))
    vectors = make_vectors(rng, v, d, draw(st.sampled_from(VECTORS)), draw(st.sampled_from([1e-3, 1.0, 1e3])))
    kind, longest = draw(st.sampled_from(WEIGHTS)), draw(st.sampled_from([1, 8]))
    bags = [make_bag(rng, v, kind, longest) for _ in range(n)]
    for row in range(n):
        if draw(st.booleans()):
            bags[row] = bags[draw(st.integers(0, n - 1))]
    return make_documents(bags, vectors, draw(st.integers(0, 9)))


def counted_documents(
    counts: Sequence[Sequence[float]] | NDArray[np.float64], word_ids: NDArray[np.int64]
) -> Documents:
    """Return documents of counts (n, v), with zero word vectors."""
    rows = np.asarray(counts, np.float64)
    bags = Bags.of([Bag.of(np.flatnonzero(row), row[row > 0]) for row in rows])
    return Documents(bags, rows.sum(axis=1), word_ids, np.zeros((len(word_ids), 2), np.float32))


UNSEEN = counted_documents([[1, 1]], np.array([0, 1000]))
"""A document of words that no themed document contains."""


def themed(seed: int, n: int = 60, themes: int = 3, words: int = 12) -> tuple[Documents, NDArray[np.int64]]:
    """Return n documents and their themes (n,); a theme has `words` of its own, and all themes share three more."""
    rng = np.random.default_rng(seed)
    labels, v = np.arange(n) % themes, themes * words + 3
    counts = np.zeros((n, v))
    for row, theme in enumerate(labels):
        own = rng.choice(np.arange(theme * words, (theme + 1) * words), 5, replace=False)
        counts[row, own] = rng.integers(1, 4, 5)
        counts[row, rng.integers(themes * words, v, 2)] += 1
    return counted_documents(counts, 3 * np.arange(v) + 1), labels


@st.composite
def small_counts(draw: st.DrawFn) -> Documents:
    """Draw few counted documents over few words, some of them equal or of one word."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, v = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    counts = rng.integers(0, 3, (n, v)).astype(np.float64)
    counts[np.arange(n), rng.integers(0, v, n)] += 1
    if draw(st.booleans()):
        counts[:] = counts[0]
    return counted_documents(counts, np.sort(rng.choice(100, v, replace=False)))


def neighbours_agree(vectors: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    """Return the share of documents whose nearest other one, by inner product, has the same label."""
    products = vectors @ vectors.T
    np.fill_diagonal(products, -np.inf)
    return float(np.mean(labels[products.argmax(axis=1)] == labels))


def assert_invalid_option(fit: Callable[[Documents, Mapping[str, str]], Encoder], option: str, **others: str) -> None:
    """Check that `fit` raises EncoderError, which names the option, for an option written as KEY=VALUE."""
    key, _, value = option.partition("=")
    with pytest.raises(EncoderError, match=key):
        fit(themed(0)[0], {**others, key: value})


def assert_invalid_state(encoder: Encoder, name: str, invalid: NDArray[Any]) -> None:
    """Check that `restore` raises EncoderError for an `invalid` array of that name in the state, and for none."""
    state = encoder.state()
    with pytest.raises(EncoderError, match="fit"):
        type(encoder).restore({**state, name: invalid})
    with pytest.raises(EncoderError, match=f"has no '{name}'"):
        type(encoder).restore({key: value for key, value in state.items() if key != name})
