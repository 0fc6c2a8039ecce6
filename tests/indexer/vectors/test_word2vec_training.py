import json
import logging
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from gensim.models import Word2Vec

from moverank.indexer.errors import ReadError, UsageError, VectorsError
from moverank.indexer.vectors.open_vectors import verify_vectors
from moverank.indexer.vectors.word2vec_training import train_vectors

ANIMALS, METALS = ["cat", "dog", "cow", "hen"], ["iron", "gold", "zinc", "lead"]


def _corpus() -> list[list[str]]:
    """Sentences about either animals or metals."""
    chance = random.Random(0)  # noqa: S311 - no secret
    return [chance.choices(chance.choice([ANIMALS, METALS]), k=8) for _ in range(400)]


@pytest.mark.parametrize("method", ["skip-gram", "cbow"])
def test_words_of_the_same_topic_are_near_each_other(tmp_path: Path, method: Literal["skip-gram", "cbow"]) -> None:
    reports: list[tuple[object, ...]] = []
    embedding = train_vectors(
        _corpus, tmp_path / "out", method=method, dim=10, subsample=0, progress=lambda *report: reports.append(report)
    )
    a, m = (embedding.gather(words, embedding.find(words)) for words in (ANIMALS, METALS))
    assert (a @ a.T).mean() > (a @ m.T).mean() + 0.1
    assert np.linalg.norm(embedding.vectors, axis=1) == pytest.approx(np.ones(8), rel=1e-6)
    assert reports[-1] == ("Training vectors", 20, 20, "epochs")
    training = json.loads((tmp_path / "out/embedding.json").read_text())["training"]
    assert training == {
        "method": method, "dim": 10, "window": 5, "negative": 5,
        "subsample": 0, "min_count": 2, "seed": 1, "epochs": 20,
    }  # fmt: skip
    verify_vectors(tmp_path / "out")


def test_the_vectors_are_always_those_of_gensim(tmp_path: Path) -> None:
    options = {"window": 3, "negative": 4, "min_count": 1, "epochs": 2, "seed": 5}
    expected = Word2Vec(_corpus(), vector_size=6, sample=1e-2, sg=1, hs=0, workers=1, **options).wv
    for name in ("one", "two"):
        embedding = train_vectors(
            _corpus, tmp_path / name, dim=6, window=3, negative=4, min_count=1, epochs=2, seed=5, subsample=1e-2,
            normalize=False,
        )  # fmt: skip
        assert list(embedding.words) == expected.index_to_key
        np.testing.assert_array_equal(embedding.vectors, expected.vectors)
    other = train_vectors(_corpus, tmp_path / "three", dim=6, epochs=2, seed=6)
    assert other.fingerprint != embedding.fingerprint


def test_long_sentences_are_not_truncated(tmp_path: Path) -> None:
    def sentences() -> list[list[str]]:
        return [["a"] * 10_000 + ["b", "b"]]

    embedding = train_vectors(sentences, tmp_path / "out", dim=2, epochs=1)
    assert list(embedding.words) == ["a", "b"]
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("corpus", [[], [[]], [["a", "b"], ["c"]]])
def test_too_small_a_corpus_is_refused_in_one_sentence(tmp_path: Path, corpus: list[list[str]]) -> None:
    with pytest.raises(VectorsError, match="no word occurs 2 times in the corpus"):
        train_vectors(lambda: corpus, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_one_word_is_enough(tmp_path: Path) -> None:
    assert len(train_vectors(lambda: [["a", "a"]], tmp_path / "out", dim=3).words) == 1


def test_gensim_logs_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logging.disable(logging.NOTSET)
    train_vectors(lambda: [["a", "a"]], tmp_path / "out", dim=3)
    assert capfd.readouterr() == ("", "")


def test_an_error_of_the_corpus_reaches_the_caller(tmp_path: Path) -> None:
    def broken() -> Iterable[list[str]]:
        yield ["a", "a"]
        raise ReadError("the disk is gone")

    with pytest.raises(ReadError, match="the disk is gone"):
        train_vectors(broken, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_options_out_of_range_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="dim=0: dim must be"):
        train_vectors(_corpus, tmp_path / "out", dim=0)
    with pytest.raises(UsageError, match="epochs=0"):
        train_vectors(_corpus, tmp_path / "out", epochs=0)
