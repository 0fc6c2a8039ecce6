import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models.fasttext import load_facebook_vectors, save_facebook_model

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.importing import import_vectors
from moverank.indexer.vectors.open_vectors import verify_vectors
from moverank.rerank.words.embedding import COMPOSED, Embedding
from moverank.rerank.words.vocabulary import UNKNOWN

NO_ROW = ["catlike", "日", "naïveté", "zzz"]


@pytest.fixture(scope="session")
def model(fasttext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fasttext") / "model.bin"
    save_facebook_model(fasttext, str(path))
    return path


@pytest.mark.parametrize("zipped", [False, True])
def test_vectors_are_those_of_gensim(model: Path, tmp_path: Path, zipped: bool) -> None:
    expected = load_facebook_vectors(str(model))
    source = model
    if zipped:
        source = tmp_path / "model.bin.gz"
        source.write_bytes(gzip.compress(model.read_bytes()))
    tasks: list[str] = []
    embedding = import_vectors(str(source), tmp_path / "out", progress=lambda task, *_: tasks.append(task))
    assert list(embedding.words) == expected.index_to_key
    np.testing.assert_allclose(embedding.vectors, expected.vectors, atol=1e-6)
    rows = embedding.find(NO_ROW)
    assert set(rows.tolist()) == {COMPOSED}
    np.testing.assert_allclose(embedding.gather(NO_ROW, rows), [expected[word] for word in NO_ROW], atol=1e-6)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "embedding.json", "ends", "order", "subwords", "subwords-sums", "vectors",
        "vectors-sums", "words",
    ]  # fmt: skip
    assert set(tasks) == {"Reading subwords", "Importing vectors"}
    verify_vectors(tmp_path / "out")


def test_composed_vectors_have_unit_length_if_the_others_have(model: Path, tmp_path: Path) -> None:
    embedding = import_vectors(str(model), tmp_path / "out", normalize=True)
    words = [*NO_ROW, "cat"]
    vectors = embedding.gather(words, embedding.find(words))
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(words)), rel=1e-6)


def _model(
    words: list[bytes], labels: int = 0, version: int = 12, kind: int = 2, bucket: int = 3, max_n: int = 3,
    pruned: int = -1, quantised: bool = False, rows: int | None = None, dim: int = 2, fill: float = 1.0,
) -> bytes:  # fmt: skip
    count = len(words) - labels
    data = struct.pack("<2i", 793712314, version)
    data += struct.pack("<12id", dim, 5, 5, 1, 5, 1, 2, kind, bucket, 2, max_n, 100, 1e-4)
    data += struct.pack("<3i2q", len(words), count, labels, 9, pruned)
    for i, word in enumerate(words):
        data += word + b"\0" + struct.pack("<qb", 3, int(i >= count))
    rows = count + bucket if rows is None else rows
    numbers = np.arange(1, rows * 2 + 1, dtype="<f4") * np.float32(fill)
    return data + struct.pack("<?2q", quantised, rows, 2) + numbers.tobytes()


def _imported(folder: Path, data: bytes) -> Embedding:
    (folder / "m.bin").write_bytes(data)
    return import_vectors(str(folder / "m.bin"), folder / "out")


def test_a_supervised_model_keeps_its_words_and_not_its_labels(tmp_path: Path) -> None:
    embedding = _imported(tmp_path, _model([b"a", b"b", b"__label__x"], labels=1, kind=3, bucket=0, max_n=0))
    assert list(embedding.words) == ["a", "b"]
    assert embedding.vectors.tolist() == [[1, 2], [3, 4]]
    assert embedding.find(["c"]).tolist() == [UNKNOWN]


def test_old_supervised_models_have_no_subwords(tmp_path: Path) -> None:
    embedding = _imported(tmp_path, _model([b"a"], version=11, kind=3))
    assert embedding.subwords is None
    assert embedding.vectors.tolist() == [[1, 2]]


def test_the_end_of_line_token_has_no_subwords(tmp_path: Path) -> None:
    embedding = _imported(tmp_path, _model([b"</s>", b"ab"]))
    assert embedding.vectors[0].tolist() == [1, 2]
    assert embedding.vectors[1].tolist() != [3, 4]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (_model([b"a"], version=9), "version 9: only 11 and 12 are known"),
        (_model([b"a"], quantised=True), "quantised fastText model, whose vectors are not stored: give the .bin"),
        (_model([b"a"], pruned=1), "quantised fastText model"),
        (_model([], labels=0), "damaged header"),
        (_model([b"a"], dim=0), "damaged header"),
        (_model([b"a"], dim=3), "input matrix of 4 x 2, but its header promises 4 x 3"),
        (_model([b"a"], rows=9), "input matrix of 9 x 2, but its header promises 4 x 2"),
        (_model([b"a", b"a"]), "the word 'a' twice, in word 1 and word 2"),
        (_model([b"a"], fill=np.inf), "word 1 has a number that is not finite"),
        (_model([b"a"])[:-28] + np.full(7, np.nan, "<f4").tobytes(), "bucket 0 has a number that is not finite|word 1"),
        (_model([b"a"])[:30], "ends in its settings: it is cut short"),
        (_model([b"a"])[:-3], "cut short|promises"),
        (_model([b"a" * 30])[:105], "ends after 0 of 1 words: it is cut short"),
        (_model([b"a"])[: 8 + 56 + 28] + b"a" * 3_000_000, "word 1 has no end"),
        (gzip.compress(_model([b"a"])[:-8], mtime=0), "ends in n-gram bucket 0: it is cut short"),
        (_model([b"a" * 70_000]) , "word 1 has a word of 70000 bytes|word 1 has no end"),
    ],
)  # fmt: skip
def test_bad_models_are_refused_in_one_sentence(tmp_path: Path, data: bytes, sentence: str) -> None:
    with pytest.raises(VectorsError, match=sentence):
        _imported(tmp_path, data)
    assert [path.name for path in tmp_path.iterdir()] == ["m.bin"]
