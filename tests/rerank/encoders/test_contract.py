"""What every encoder keeps, whatever it learns."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.encoders.encoder import Documents, Encoder, fingerprint
from moverank.rerank.encoders.encoder_registry import ENCODERS, choose, named, restore
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Choice, Option, Switch
from tests.rerank.encoders.worlds import CASES, alone, documents, make_documents, random_documents, strangers
from tests.rerank.problems import make_vectors

Options = Mapping[str, str]
every_case = pytest.mark.parametrize(("name", "options"), CASES)
every_encoder = pytest.mark.parametrize("name", ENCODERS)


def fitted(name: str, options: Options, learned_from: Documents) -> Encoder:
    return choose(name, options).fit(learned_from, options)


def stored(encoder: Encoder) -> dict[str, NDArray[Any]]:
    """Return a state that went through a file."""
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
def test_vectors_are_finite_and_of_one_length(name: str, options: Options, learned_from: Documents) -> None:
    encoder = fitted(name, options, learned_from)
    for asked in (learned_from, random_documents(7, d=learned_from.vectors.shape[1]), strangers(learned_from)):
        vectors = encoder.encode(asked)
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(asked), encoder.dim)
        assert vectors.flags.c_contiguous
        assert np.all(np.isfinite(vectors))
        if encoder.metric == "ip":
            lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
            np.testing.assert_allclose(lengths[lengths > 0], 1, rtol=1e-6)


@every_case
@settings(max_examples=20)
@given(documents())
def test_a_document_has_the_same_bits_alone_and_among_others(
    name: str, options: Options, learned_from: Documents
) -> None:
    assert_same_bits_in_any_company(fitted(name, options, learned_from), learned_from)


@every_case
def test_many_documents_have_the_same_bits_as_one(name: str, options: Options) -> None:
    many = random_documents(1, n=300, v=500, d=30, longest=90)
    assert_same_bits_in_any_company(fitted(name, options, random_documents(2, v=400, d=30)), many)


def assert_same_bits_in_any_company(encoder: Encoder, asked: Documents) -> None:
    whole = encoder.encode(asked)
    order = np.random.default_rng(0).permutation(len(asked))
    shuffled = encoder.encode(asked.take(order))
    assert shuffled.tobytes() == whole[order].tobytes()
    blocks = [encoder.encode(asked.take(rows)) for rows in np.array_split(np.arange(len(asked)), 3)]
    assert b"".join(block.tobytes() for block in blocks) == whole.tobytes()
    for row in range(min(len(asked), 20)):
        single = asked.take(np.array([row]))
        assert encoder.encode(single).tobytes() == whole[row].tobytes()
        assert encoder.encode(alone(asked, row)).tobytes() == whole[row].tobytes()


@every_case
def test_the_same_documents_and_options_give_the_same_bits(name: str, options: Options) -> None:
    one, other = (fitted(name, options, random_documents(3)) for _ in range(2))
    assert fingerprint(one) == fingerprint(other)
    asked = random_documents(4)
    assert one.encode(asked).tobytes() == other.encode(asked).tobytes()


@every_case
def test_a_stored_encoder_is_the_same(name: str, options: Options) -> None:
    encoder = fitted(name, options, random_documents(5))
    state = stored(encoder)
    assert all(array.dtype.kind in "biuf" for array in state.values())
    again = restore(name, state)
    assert (again.dim, again.metric, fingerprint(again)) == (encoder.dim, encoder.metric, fingerprint(encoder))
    later = random_documents(6, n=25, v=90)
    assert again.encode(later).tobytes() == encoder.encode(later).tobytes()


@every_case
def test_what_is_encoded_later_leaves_the_encoder_alone(name: str, options: Options) -> None:
    encoder = fitted(name, options, random_documents(8))
    before, first = fingerprint(encoder), encoder.encode(random_documents(8))
    encoder.encode(random_documents(9, v=100))
    assert fingerprint(encoder) == before
    assert encoder.encode(random_documents(8)).tobytes() == first.tobytes()


@every_case
@pytest.mark.parametrize("vectors", [np.zeros((3, 4)), np.ones((3, 4)), np.full((3, 4), 1e15), np.full((3, 4), 1e-30)])
def test_a_fit_copes_with_little(name: str, options: Options, vectors: NDArray[np.float64]) -> None:
    only = make_documents([Bag.of([1], [1])], vectors.astype(np.float32))
    alike = make_documents([Bag.of([0, 2], [1, 3])] * 5, vectors.astype(np.float32))
    for learned_from in (only, alike):
        encoder = fitted(name, options, learned_from)
        for asked in (only, alike):
            assert np.all(np.isfinite(encoder.encode(asked)))


@every_case
def test_no_documents_have_no_vectors(name: str, options: Options) -> None:
    encoder = fitted(name, options, random_documents(0))
    none = random_documents(0).take(np.empty(0, np.int64))
    assert encoder.encode(none).shape == (0, encoder.dim)
    empty = Documents(Bags.of([]), np.empty(0), np.empty(0, np.int64), np.empty((0, 6), np.float32))
    assert encoder.encode(empty).shape == (0, encoder.dim)


@every_encoder
def test_defaults_fit_as_well(name: str) -> None:
    learned_from = random_documents(0, n=8, v=20, longest=6)
    assert np.all(np.isfinite(choose(name, {}).fit(learned_from, {}).encode(learned_from)))


@every_encoder
def test_a_state_that_does_not_fit_together_is_refused(name: str) -> None:
    good = stored(small(name))
    for key, array in good.items():
        with pytest.raises(EncoderError, match=f"'{key}'.*fit the encoder again"):
            restore(name, {other: kept for other, kept in good.items() if other != key})
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
def test_wrong_options_are_refused_with_those_that_there_are(name: str) -> None:
    encoder = named(name)
    for ask in (lambda given: choose(name, given), lambda given: encoder.fit(random_documents(0), given)):
        with pytest.raises(EncoderError, match=f"{name} has no option 'nope'") as refusal:
            ask({"nope": "1"})
        assert all(option.name in str(refusal.value) for option in encoder.options)
        for option in encoder.options:
            for text in wrong(option):
                with pytest.raises(EncoderError, match=rf"^{option.name} must be "):
                    ask({option.name: text})


def wrong(option: Option) -> list[str]:
    """Return what an option does not take."""
    if isinstance(option, Switch | Choice):
        return ["", "maybe", "YES"]
    return ["", "x", "nan", "1e", str(option.high + 1), str(option.low - 1), "1_0", "\u0661"]


def test_an_unknown_encoder_is_refused() -> None:
    for ask in (named, lambda name: choose(name, {}), lambda name: restore(name, {})):
        with pytest.raises(EncoderError, match="there is no encoder 'bm25': choose centroid, fisher, lsi, "):
            ask("bm25")


def test_a_fingerprint_tells_encoders_apart() -> None:
    found = [fingerprint(fitted(name, options, random_documents(0))) for name, options in CASES]
    found += [fingerprint(fitted("fisher", {"k": "5", "dim": "3", "seed": seed}, random_documents(0))) for seed in "12"]
    found.append(fingerprint(fitted("fisher", {"k": "5", "dim": "3"}, random_documents(1))))
    assert len(set(found)) == len(found)


def test_documents_have_to_fit_together() -> None:
    good = make_documents([Bag.of([0, 1], [1, 1])], make_vectors(np.random.default_rng(0), 2, 3, "normal", 1.0))
    bags, lengths, ids, vectors = good.bags, good.lengths, good.word_ids, good.vectors
    with pytest.raises(EncoderError, match="1 documents need one length each"):
        Documents(bags, np.ones(2), ids, vectors)
    with pytest.raises(EncoderError, match="one vector for each word id"):
        Documents(bags, lengths, ids[:1], vectors)
    with pytest.raises(EncoderError, match="must increase"):
        Documents(bags, lengths, ids[::-1], vectors)
    with pytest.raises(EncoderError, match="places from 0 to 0"):
        Documents(bags, lengths, ids[:1], vectors[:1])
