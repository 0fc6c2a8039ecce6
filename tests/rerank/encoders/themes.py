"""Documents whose words come from a few themes, for encoders that are to find them again."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.encoders.encoder import Documents, Encoder


def make_documents(counts: Sequence[Sequence[float]] | NDArray[np.float64], word_ids: NDArray[np.int64]) -> Documents:
    """Return documents of counts (n, v); word vectors play no part."""
    rows = np.asarray(counts, np.float64)
    bags = Bags.of([Bag.of(np.flatnonzero(row), row[row > 0]) for row in rows])
    return Documents(bags, rows.sum(axis=1), word_ids, np.zeros((len(word_ids), 2), np.float32))


def themed(seed: int, n: int = 60, themes: int = 3, words: int = 12) -> tuple[Documents, NDArray[np.int64]]:
    """Return n documents and their themes (n,); a theme has `words` of its own, and all share three more."""
    rng = np.random.default_rng(seed)
    labels, v = np.arange(n) % themes, themes * words + 3
    counts = np.zeros((n, v))
    for row, theme in enumerate(labels):
        own = rng.choice(np.arange(theme * words, (theme + 1) * words), 5, replace=False)
        counts[row, own] = rng.integers(1, 4, 5)
        counts[row, rng.integers(themes * words, v, 2)] += 1
    return make_documents(counts, 3 * np.arange(v) + 1), labels


def neighbours_agree(vectors: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    """Return the share of documents whose nearest other one, by inner product, has the same label."""
    products = vectors @ vectors.T
    np.fill_diagonal(products, -np.inf)
    return float(np.mean(labels[products.argmax(axis=1)] == labels))


@st.composite
def small_documents(draw: st.DrawFn) -> Documents:
    """Draw few documents over few words, identical ones and those of one word among them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, v = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    counts = rng.integers(0, 3, (n, v)).astype(np.float64)
    counts[np.arange(n), rng.integers(0, v, n)] += 1
    if draw(st.booleans()):
        counts[:] = counts[0]
    return make_documents(counts, np.sort(rng.choice(100, v, replace=False)))


def assert_each_for_itself(encoder: Encoder, documents: Documents) -> None:
    """Check that a document has the same bits alone, among others in another order, and from the restored state."""
    whole = encoder.encode(documents)
    order = np.random.default_rng(0).permutation(len(documents))
    restored = type(encoder).restore(encoder.state())
    np.testing.assert_array_equal(restored.encode(documents.take(order)), whole[order])
    for row in range(min(len(documents), 10)):
        np.testing.assert_array_equal(encoder.encode(documents.take(np.array([row])))[0], whole[row])
