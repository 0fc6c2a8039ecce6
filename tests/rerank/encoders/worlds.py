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
from moverank.rerank.errors import EncoderError
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
    """Return documents of random lengths over words whose ids have gaps."""
    rng = np.random.default_rng(seed)
    ids = np.cumsum(rng.integers(1, 4, len(vectors))).astype(np.int64)
    return Documents(Bags.of(bags), rng.integers(1, 200, len(bags)).astype(np.float64), ids, vectors)


def random_documents(seed: int, n: int = 40, v: int = 60, d: int = 6, longest: int = 12) -> Documents:
    """Return n documents of at most `longest` words, over v words with vectors (v, d)."""
    rng = np.random.default_rng(seed)
    return make_documents(
        [make_bag(rng, v, "normal", longest) for _ in range(n)], make_vectors(rng, v, d, "normal", 1.0), seed
    )


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


def fingerprint(encoder: Encoder) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Return the dtype, the shape and the bytes of each array of an encoder's state, for comparisons."""
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in sorted(encoder.state().items())}


def assert_rows_are_independent(encoder: Encoder, batch: Documents) -> None:
    """Check that a document's vector has the same bits in any batch, over any vocabulary, and after a restore."""
    whole = encoder.encode(batch)
    order = np.random.default_rng(0).permutation(len(batch))
    for same in (encoder, type(encoder).restore(encoder.state())):
        assert same.encode(batch.take(order)).tobytes() == whole[order].tobytes()
    blocks = [encoder.encode(batch.take(rows)) for rows in np.array_split(np.arange(len(batch)), 3)]
    assert b"".join(block.tobytes() for block in blocks) == whole.tobytes()
    for row in range(min(len(batch), 20)):
        assert encoder.encode(batch.take(np.array([row]))).tobytes() == whole[row].tobytes()
        assert encoder.encode(alone(batch, row)).tobytes() == whole[row].tobytes()


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
