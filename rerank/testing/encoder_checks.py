"""The contract of every encoder, as functions that raise AssertionError with the requirement that is not met.

A check takes the class of an encoder and options that make it small; pytest is not needed.
"""

import io
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Option, check_options
from moverank.rerank.testing.assertions import Options, error_of, invalid_options, require
from moverank.rerank.testing.sample_documents import (
    alone,
    make_documents,
    random_documents,
    varied_documents,
    with_unseen_words,
)

EncoderCheck = Callable[[type[Encoder], Options], None]

_UNIT = 1e-5  # how far the length of a unit vector may be from 1 in float32


def check_encoder(encoder: type[Encoder], options: Options | None = None) -> None:
    """Check the whole contract of an encoder; AssertionError names the fault.

    `options` of its `fit` should make the encoder small: it is fitted some hundred times.
    """
    for check in ENCODER_CHECKS:
        check(encoder, options or {})


def check_encoder_declarations(encoder: type[Encoder], options: Options) -> None:
    """Check the name, the options and the properties."""
    require(bool(encoder.name) and encoder.name.isidentifier(), f"name must be an identifier, not {encoder.name!r}")
    declared = all(isinstance(option, Option) for option in encoder.options)
    require(declared, "options must be a tuple of Integer, Number, Choice and Switch of moverank.rerank.options")
    check_options(encoder.name, encoder.options, options, EncoderError)
    fitted = encoder.fit(random_documents(0), options)
    require(fitted.metric in ("l2", "ip"), f"metric must be 'l2' or 'ip', not {fitted.metric!r}")
    require(isinstance(fitted.dim, int) and fitted.dim > 0, f"dim must be an int above 0, not {fitted.dim!r}")


def check_vectors(encoder: type[Encoder], options: Options) -> None:
    """Check the vectors of documents of all kinds, also of words that were not in the fit."""
    for training in varied_documents():
        fitted = encoder.fit(training, options)
        for batch in (training, random_documents(7, d=training.vectors.shape[1]), with_unseen_words(training)):
            check_vectors_of(fitted, batch)


def check_vectors_of(fitted: Encoder, batch: Documents) -> None:
    """Check the vectors of a batch: float32, of shape (n, dim), C-contiguous, finite, and for "ip" of length 1 or 0."""
    vectors = fitted.encode(batch)
    require(vectors.dtype == np.float32, f"encode must return float32, not {vectors.dtype}")
    expected = (len(batch), fitted.dim)
    require(vectors.shape == expected, f"encode must return the shape (n, dim) {expected}, not {vectors.shape}")
    require(vectors.flags.c_contiguous, "encode must return a C-contiguous array")
    require(bool(np.all(np.isfinite(vectors))), "encode returned a number that is not finite")
    if fitted.metric == "ip":
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
        unit = bool(np.all(np.abs(lengths[lengths > 0] - 1) < _UNIT))
        require(unit, "vectors compared by inner product ('ip') must have length 1, or 0")


def check_independent_rows(encoder: type[Encoder], options: Options) -> None:
    """Check that a document's vector does not depend on the others of a call, in small and in large batches."""
    for training in islice(varied_documents(), 2, None, 3):
        check_independent_rows_of(encoder.fit(training, options), training)
    large = random_documents(1, n=300, v=500, d=30, longest=90)
    check_independent_rows_of(encoder.fit(random_documents(2, v=400, d=30), options), large)


def check_independent_rows_of(fitted: Encoder, batch: Documents) -> None:
    """Check that a document's vector has the same bits in any batch, over any vocabulary, and after a restore."""
    whole = fitted.encode(batch)
    order = np.random.default_rng(0).permutation(len(batch))
    for same in (fitted, type(fitted).restore(fitted.state())):
        _require_bits(same.encode(batch.take(order)), whole[order], "in another order")
    blocks = [fitted.encode(batch.take(rows)) for rows in np.array_split(np.arange(len(batch)), 3)]
    _require_bits(np.concatenate(blocks), whole, "in smaller batches")
    for row in range(min(len(batch), 20)):
        _require_bits(fitted.encode(batch.take(np.array([row]))), whole[row : row + 1], "alone")
        _require_bits(fitted.encode(alone(batch, row)), whole[row : row + 1], "over the vocabulary of its own words")


def check_reproducible_fits(encoder: type[Encoder], options: Options) -> None:
    """Check that two fits to the same documents are the same."""
    one, other = (encoder.fit(random_documents(3), options) for _ in range(2))
    require(state_bytes(one) == state_bytes(other), "two fits to the same documents must have the same state")
    batch = random_documents(4)
    _require_bits(other.encode(batch), one.encode(batch), "by a second fit to the same documents")


def check_state(encoder: type[Encoder], options: Options) -> None:
    """Check that an encoder that was stored in a file and restored is the same."""
    fitted = encoder.fit(random_documents(5), options)
    state = stored_state(fitted)
    numeric = all(array.dtype.kind in "biuf" for array in state.values())
    require(numeric, "state must hold arrays of numbers only: they are stored without pickle")
    restored = encoder.restore(state)
    same = (restored.dim, restored.metric) == (fitted.dim, fitted.metric)
    require(same, "a restored encoder must have the same dim and metric")
    require(state_bytes(restored) == state_bytes(fitted), "a restored encoder must have the same state")
    batch = random_documents(6, n=25, v=90)
    _require_bits(restored.encode(batch), fitted.encode(batch), "by the restored encoder")


def check_encoding_changes_nothing(encoder: type[Encoder], options: Options) -> None:
    """Check that encoding does not change the encoder."""
    fitted = encoder.fit(random_documents(8), options)
    before, first = state_bytes(fitted), fitted.encode(random_documents(8))
    fitted.encode(random_documents(9, v=100))
    require(state_bytes(fitted) == before, "encode must not change the state")
    _require_bits(fitted.encode(random_documents(8)), first, "after encoding others")


def check_degenerate_documents(encoder: type[Encoder], options: Options) -> None:
    """Check fits to a single document and to equal ones, with zero, equal, huge and tiny word vectors."""
    for value in (0.0, 1.0, 1e15, 1e-30):
        vectors = np.full((3, 4), value, np.float32)
        single = make_documents([Bag.of([1], [1])], vectors)
        equal = make_documents([Bag.of([0, 2], [1, 3])] * 5, vectors)
        for training in (single, equal):
            fitted = encoder.fit(training, options)
            for batch in (single, equal):
                require(bool(np.all(np.isfinite(fitted.encode(batch)))), f"not finite for word vectors of {value:g}")


def check_no_documents(encoder: type[Encoder], options: Options) -> None:
    """Check that an empty list of documents gives vectors (0, dim)."""
    fitted = encoder.fit(random_documents(0), options)
    empty = Documents(Bags.of([]), np.empty(0), np.empty(0, np.int64), np.empty((0, 6), np.float32))
    for none in (random_documents(0).take(np.empty(0, np.int64)), empty):
        shape, expected = fitted.encode(none).shape, (0, fitted.dim)
        require(shape == expected, f"encode must return the shape {expected} for no documents, not {shape}")


def check_default_options(encoder: type[Encoder], _options: Options) -> None:
    """Check that a fit needs no options, however few documents there are."""
    training = random_documents(0, n=8, v=20, longest=6)
    check_vectors_of(encoder.fit(training, {}), training)


def check_invalid_states(encoder: type[Encoder], options: Options) -> None:
    """Check that `restore` raises EncoderError for a state with a missing or an impossible array."""
    good = stored_state(encoder.fit(random_documents(0), options))
    for name, array in good.items():
        bad = {"is missing": None, "has one more axis": array[None], "is complex": array.astype(np.complex128)}
        if array.dtype.kind == "f" and array.size:
            bad["is not finite"] = np.full_like(array, np.nan)
        for fault, changed in bad.items():
            state = {other: value for other, value in good.items() if other != name}
            error = error_of(encoder.restore, state if changed is None else state | {name: changed})
            require(isinstance(error, EncoderError), f"restore must raise EncoderError: {name!r} {fault}: {error!r}")
            require(repr(name) in str(error), f"restore must name {name!r} if it {fault}: {error}")
        if array.ndim:
            error = error_of(encoder.restore, good | {name: array[:0]})
            require(isinstance(error, EncoderError), f"restore must raise EncoderError if {name!r} is empty: {error!r}")


def check_invalid_encoder_options(encoder: type[Encoder], _options: Options) -> None:
    """Check that `fit` raises EncoderError for an unknown option and for invalid values."""
    for name, text in invalid_options(encoder.options):
        error = error_of(lambda given: encoder.fit(random_documents(0), given), {name: text})
        what = f"fit must raise EncoderError for {name}={text}, as check_options does, not {error!r}"
        require(isinstance(error, EncoderError) and name in str(error), what)


ENCODER_CHECKS: tuple[EncoderCheck, ...] = (
    check_encoder_declarations,
    check_vectors,
    check_independent_rows,
    check_reproducible_fits,
    check_state,
    check_encoding_changes_nothing,
    check_degenerate_documents,
    check_no_documents,
    check_default_options,
    check_invalid_states,
    check_invalid_encoder_options,
)
"""Every part of the contract."""


def state_bytes(fitted: Encoder) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Return the dtype, the shape and the bytes of each array of an encoder's state, for comparisons."""
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in sorted(fitted.state().items())}


def stored_state(fitted: Encoder) -> dict[str, NDArray[Any]]:
    """Return the state after a round trip through a file."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **fitted.state())
    file.seek(0)
    with np.load(file, allow_pickle=False) as read:
        return {name: read[name] for name in read.files}


def _require_bits(vectors: NDArray[np.float32], expected: NDArray[np.float32], where: str) -> None:
    require(vectors.tobytes() == expected.tobytes(), f"a document's vector must have the same bits {where}")
