"""What the encoders by topics have in common."""

from typing import Any

import numpy as np
import pytest

from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.plugins.methods.ccg import Ccg
from moverank.rerank.plugins.methods.lda import Lda
from moverank.rerank.plugins.methods.msda import Msda
from moverank.rerank.testing.encoder_checks import check_independent_rows_of
from tests.rerank.encoders.worlds import assert_invalid_option, assert_invalid_state, neighbours_agree, themed

OPTIONS: dict[Any, dict[str, str]] = {
    Lda: {"topics": "6", "passes": "10", "chunk": "20"},
    Ccg: {"extent": "6", "window": "2", "iterations": "40"},
    Msda: {"layers": "2", "features": "9"},
}


@pytest.mark.parametrize(
    ("kind", "options", "seed"),
    [
        (Lda, OPTIONS[Lda], 2),
        (Ccg, OPTIONS[Ccg], 2),
        *(
            (Msda, options, 7)
            for options in ({}, {"layers": "3"}, {"features": "8"}, {"centre": "no", "features": "8"})
        ),
    ],
)
def test_documents_of_one_theme_are_near(kind: Any, options: dict[str, str], seed: int) -> None:
    documents, labels = themed(seed)
    vectors = kind.fit(documents, options).encode(documents)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    assert neighbours_agree(vectors, labels) > 0.95


@pytest.mark.parametrize(("kind", "options"), [(Lda, {"topics": "50", "passes": "1"}), (Ccg, {"iterations": "2"})])
def test_rows_are_independent(kind: Any, options: dict[str, str]) -> None:
    documents, _ = themed(3, n=200, words=60)
    check_independent_rows_of(kind.fit(documents, options), documents)


@pytest.mark.parametrize(("kind", "learned"), [(Lda, "exp_elog_beta"), (Ccg, "windows")])
def test_fits_are_reproducible_by_seed(kind: Any, learned: str) -> None:
    documents, _ = themed(5)
    one, two, other = (getattr(kind.fit(documents, {**OPTIONS[kind], "seed": seed}), learned) for seed in "001")
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        *((Lda, each) for each in ("topics=0", "passes=x", "alpha=-1", "eta=nan", "iterations=0", "themes=3")),
        *((Ccg, each) for each in ("extent=0", "window=7", "iterations=x", "steps=0", "grid=3")),
        *((Msda, each) for each in ("noise=1", "layers=0", "features=x", "centre=maybe", "depth=3")),
    ],
)
def test_invalid_options_are_rejected(kind: Any, option: str) -> None:
    assert_invalid_option(kind.fit, option, **({"extent": "6"} if kind is Ccg else {}))


@pytest.mark.parametrize(
    ("kind", "name", "invalid"),
    [
        (Lda, "alpha", np.ones(5)),
        (Lda, "alpha", np.zeros(6)),
        (Lda, "exp_elog_beta", np.full((39, 6), -1, np.float32)),
        (Lda, "exp_elog_beta", np.full((39, 6), np.nan, np.float32)),
        (Lda, "iterations", np.array(0)),
        (Ccg, "windows", np.zeros((38, 36), np.float32)),
        (Ccg, "windows", np.zeros((39, 0), np.float32)),
        (Ccg, "windows", np.full((39, 36), -1, np.float32)),
        (Ccg, "steps", np.array(0)),
        (Msda, "first", np.zeros((39, 9), np.float32)),
        (Msda, "first", np.full((40, 9), np.inf, np.float32)),
        (Msda, "deeper", np.zeros((2, 10, 9), np.float32)),
        (Msda, "means", np.zeros((2, 8), np.float32)),
        (Msda, "means", np.zeros((1, 9), np.float32)),
        *((kind, "word_ids", np.zeros(39, np.int64)) for kind in OPTIONS),
    ],
)
def test_invalid_states_are_rejected(kind: Any, name: str, invalid: Any) -> None:
    encoder: Encoder = kind.fit(themed(9)[0], OPTIONS[kind])
    shapes = {Lda: ("exp_elog_beta", (39, 6)), Ccg: ("windows", (39, 36)), Msda: ("first", (40, 9))}
    learned, shape = shapes[kind]
    assert encoder.state()[learned].shape == shape
    assert_invalid_state(encoder, name, invalid)
