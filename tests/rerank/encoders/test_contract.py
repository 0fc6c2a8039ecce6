"""The contract of every encoder."""

import io
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.encoders.encoder_registry import ENCODERS, choose, named, restore
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Choice, Option, Switch
from tests.rerank.encoders.worlds import (
    CASES,
    assert_rows_are_independent,
    documents,
    fingerprint,
    make_documents,
    random_documents,
    with_unseen_words,
)
from tests.rerank.problems import make_vectors

Options = Mapping[str, str]
every_case = pytest.mark.parametrize(("name", "options"), CASES)
every_encoder = pytest.mark.parametrize("name", ENCODERS)


def fitted(name: str, options: Options, training: Documents) -> Encoder:
    return choose(name, options).fit(training, options)


def stored(encoder: Encoder) -> dict[str, NDArray[Any]]:
    """Return the state after a round trip through a file."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **encoder.state())
    file.seek(0)
    with np.load(file, allow_pickle=False) as read:
        return {name: read[name] for name in read.files}


def small(name: str) -> Encoder:
    options = next(options for case, options in CASES if case == name)
    return fitted(name, options, random_documents(0))


def test_every_encoder_is_in_the_contract() -> None:
    assert {name for name, _ in CASES} == set(ENCODERS)
    assert all(named(name).name == name for name in ENCODERS)


@every_case
@settings(max_examples=20)
@given(documents())
def test_vectors_are_finite_and_have_dim_dimensions(name: str, options: Options, training: Documents) -> None:
    encoder = fitted(name, options, training)
    for batch in (training, random_documents(7, d=training.vectors.shape[1]), with_unseen_words(training)):
        vectors = encoder.encode(batch)
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(batch), encoder.dim)
        assert vectors.flags.c_contiguous
        assert np.all(np.isfinite(vectors))
        if encoder.metric == "ip":
            lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
            np.testing.assert_allclose(lengths[lengths > 0], 1, rtol=1e-6)


@every_case
@settings(max_examples=20)
@given(documents())
def test_rows_are_independent(name: str, options: Options, training: Documents) -> None:
    assert_rows_are_independent(fitted(name, options, training), training)


@every_case
def test_rows_of_a_large_batch_are_independent(name: str, options: Options) -> None:
    batch = random_documents(1, n=300, v=500, d=30, longest=90)
    assert_rows_are_independent(fitted(name, options, random_documents(2, v=400, d=30)), batch)


@every_case
def test_fits_are_reproducible(name: str, options: Options) -> None:
    one, other = (fitted(name, options, random_documents(3)) for _ in range(2))
    assert fingerprint(one) == fingerprint(other)
    batch = random_documents(4)
    assert one.encode(batch).tobytes() == other.encode(batch).tobytes()


@every_case
def test_a_restored_encoder_is_the_same(name: str, options: Options) -> None:
    encoder = fitted(name, options, random_documents(5))
    state = stored(encoder)
    assert all(array.dtype.kind in "biuf" for array in state.values())
    restored = restore(name, state)
    assert (restored.dim, restored.metric) == (encoder.dim, encoder.metric)
    assert fingerprint(restored) == fingerprint(encoder)
    batch = random_documents(6, n=25, v=90)
    assert restored.encode(batch).tobytes() == encoder.encode(batch).tobytes()


@every_case
def test_encoding_does_not_change_the_encoder(name: str, options: Options) -> None:
    encoder = fitted(name, options, random_documents(8))
    before, first = fingerprint(encoder), encoder.encode(random_documents(8))
    encoder.encode(random_documents(9, v=100))
    assert fingerprint(encoder) == before
    assert encoder.encode(random_documents(8)).tobytes() == first.tobytes()


@every_case
@pytest.mark.parametrize("vectors", [np.zeros((3, 4)), np.ones((3, 4)), np.full((3, 4), 1e15), np.full((3, 4), 1e-30)])
def test_degenerate_documents_can_be_fitted(name: str, options: Options, vectors: NDArray[np.float64]) -> None:
    single = make_documents([Bag.of([1], [1])], vectors.astype(np.float32))
    equal = make_documents([Bag.of([0, 2], [1, 3])] * 5, vectors.astype(np.float32))
    for training in (single, equal):
        encoder = fitted(name, options, training)
        for batch in (single, equal):
            assert np.all(np.isfinite(encoder.encode(batch)))


@every_case
def test_no_documents_have_no_vectors(name: str, options: Options) -> None:
    encoder = fitted(name, options, random_documents(0))
    none = random_documents(0).take(np.empty(0, np.int64))
    assert encoder.encode(none).shape == (0, encoder.dim)
    empty = Documents(Bags.of([]), np.empty(0), np.empty(0, np.int64), np.empty((0, 6), np.float32))
    assert encoder.encode(empty).shape == (0, encoder.dim)


@every_encoder
def test_the_default_options_can_be_fitted(name: str) -> None:
    training = random_documents(0, n=8, v=20, longest=6)
    assert np.all(np.isfinite(choose(name, {}).fit(training, {}).encode(training)))


@every_encoder
def test_invalid_states_are_rejected(name: str) -> None:
    good = stored(small(name))
    for key, array in good.items():
        with pytest.raises(EncoderError, match=f"'{key}'.*fit the encoder again"):
            restore(name, {other: value for other, value in good.items() if other != key})
        with pytest.raises(EncoderError, match=f"'{key}'.*fit the encoder again"):
            restore(name, good | {key: array[None]})
        with pytest.raises(EncoderError, match=f"'{key}'.*fit the encoder again"):
            restore(name, good | {key: array.astype(np.complex128)})
        if array.dtype.kind == "f" and array.size:
            with pytest.raises(EncoderError, match=f"'{key}'.*not finite"):
                restore(name, good | {key: np.full_like(array, np.nan)})
        if array.ndim:
            with pytest.raises(EncoderError):
                restore(name, good | {key: array[:0]})


@every_encoder
def test_invalid_options_are_rejected_with_a_list_of_the_valid_ones(name: str) -> None:
    encoder = named(name)
    for use in (lambda given: choose(name, given), lambda given: encoder.fit(random_documents(0), given)):
        with pytest.raises(EncoderError, match=f"{name} has no option 'nope'") as error:
            use({"nope": "1"})
        assert all(option.name in str(error.value) for option in encoder.options)
        for option in encoder.options:
            for text in invalid_values(option):
                with pytest.raises(EncoderError, match=rf"^{option.name} must be "):
                    use({option.name: text})


def invalid_values(option: Option) -> list[str]:
    """Return invalid values of an option."""
    if isinstance(option, Switch | Choice):
        return ["", "maybe", "YES"]
    return ["", "x", "nan", "1e", str(option.high + 1), str(option.low - 1), "1_0", "\u0661"]


def test_an_unknown_encoder_is_rejected() -> None:
    for use in (named, lambda name: choose(name, {}), lambda name: restore(name, {})):
        with pytest.raises(EncoderError, match="there is no encoder 'bm25': choose centroid, fisher, lsi, "):
            use("bm25")


def test_other_options_seeds_and_documents_give_other_encoders() -> None:
    states = [fingerprint(fitted(name, options, random_documents(0))) for name, options in CASES]
    small = {"k": "5", "dim": "3"}
    states += [fingerprint(fitted("fisher", small | {"seed": seed}, random_documents(0))) for seed in "12"]
    states.append(fingerprint(fitted("fisher", small, random_documents(1))))
    assert all(one != other for one, other in combinations(states, 2))


def test_inconsistent_documents_are_rejected() -> None:
    good = make_documents([Bag.of([0, 1], [1, 1])], make_vectors(np.random.default_rng(0), 2, 3, "normal", 1.0))
    bags, lengths, ids, vectors = good.bags, good.lengths, good.word_ids, good.vectors
    with pytest.raises(EncoderError, match="1 documents need one length each"):
        Documents(bags, np.ones(2), ids, vectors)
    with pytest.raises(EncoderError, match="one vector for each word id"):
        Documents(bags, lengths, ids[:1], vectors)
    with pytest.raises(EncoderError, match="must increase"):
        Documents(bags, lengths, ids[::-1], vectors)
    with pytest.raises(EncoderError, match="indices from 0 to 0"):
        Documents(bags, lengths, ids[:1], vectors[:1])
