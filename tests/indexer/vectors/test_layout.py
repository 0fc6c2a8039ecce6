import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.checksums import checksummed_json
from moverank.indexer.vectors.importing import import_vectors
from moverank.indexer.vectors.open_vectors import open_vectors, verify_vectors
from moverank.indexer.vectors.vectors_writer import rewrite_forms

FORMS = ["form-hashes", "form-rows"]
FILES = ["vectors", "vectors-sums", "words", "ends", "order", *FORMS, "embedding.json"]


@pytest.fixture
def stored(tmp_path: Path, keyed: Any) -> Path:
    keyed.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    import_vectors(str(tmp_path / "v.bin"), tmp_path / "out", language="de")
    return tmp_path / "out"


def test_opened_vectors_are_mapped_and_read_only(stored: Path, matrix: NDArray[np.float32]) -> None:
    embedding = open_vectors(stored)
    np.testing.assert_array_equal(embedding.vectors, matrix)
    assert isinstance(embedding.vectors.base, np.memmap)
    assert type(embedding.vectors) is np.ndarray
    with pytest.raises(ValueError, match="read-only"):
        embedding.vectors[0] = 0
    verify_vectors(stored)


def test_numpy_reads_the_files(stored: Path, matrix: NDArray[np.float32]) -> None:
    np.testing.assert_array_equal(np.fromfile(stored / "vectors", "<f4").reshape(matrix.shape), matrix)
    assert (stored / "words").read_text() == "".join(open_vectors(stored).words)
    assert np.fromfile(stored / "ends", "<i8")[-1] == (stored / "words").stat().st_size
    assert sorted(np.fromfile(stored / "order", "<i4").tolist()) == list(range(5))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        *((name, None, "No such file|is missing") for name in FILES),
        ("embedding.json", b"[]", "damaged"),
        ("more", b"", "more does not belong there"),
    ],
)
def test_a_missing_or_unexpected_file_is_reported(stored: Path, name: str, content: bytes | None, message: str) -> None:
    (stored / name).write_bytes(content or b"")
    if content is None:
        (stored / name).unlink()
    with pytest.raises(VectorsError, match=message):
        open_vectors(stored)


def test_a_missing_directory_is_reported(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="none holds no word vectors"):
        open_vectors(tmp_path / "none")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("change", ["cut", "grown", "other"])
def test_a_file_of_another_size_or_content_is_reported(stored: Path, name: str, change: str) -> None:
    data = (stored / name).read_bytes()
    (stored / name).write_bytes({"cut": data[:-1], "grown": data + b"x", "other": b"?" + data[1:]}[change])
    with pytest.raises(VectorsError, match="damaged"):  # numbers are checked when they are read
        (open_vectors if change != "other" or name != "vectors" else verify_vectors)(stored)


@given(
    st.sampled_from(["version", "words", "dim", "word_bytes", "subwords", "fingerprint", "normalized", "forms"]),
    st.sampled_from([None, -1, 0, 7, 10**30, "x", [], {}, {"buckets": "x"}, 1.5]),
)
def test_wrong_values_in_the_manifest_are_reported(stored: Path, key: str, value: object) -> None:
    path = stored / "embedding.json"
    content = path.read_bytes()
    good = json.loads(content)
    del good["checksum"]
    path.write_bytes(checksummed_json({**good, key: value}))
    try:
        open_vectors(stored)
    except VectorsError as error:
        assert "damaged" in str(error)  # noqa: PT017 - some values are harmless
    path.write_bytes(checksummed_json({name: good[name] for name in good if name != key}))
    with pytest.raises(VectorsError, match="damaged"):
        open_vectors(stored)
    path.write_bytes(content)


def test_a_changed_number_is_detected_when_it_is_read(stored: Path) -> None:
    path = stored / "vectors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    embedding = open_vectors(stored)
    with pytest.raises(VectorsError, match=r"vectors is damaged at byte 0"):
        embedding.gather(["x"], embedding.find(["x"]))
    with pytest.raises(VectorsError, match=r"vectors is damaged at byte 0"):
        verify_vectors(stored)


@pytest.mark.parametrize("name", FILES)
def test_damage_to_any_byte_is_detected(stored: Path, name: str) -> None:
    intact = (stored / name).read_bytes()
    for position in random.Random(2).sample(range(len(intact)), min(len(intact), 60)):  # noqa: S311 - a sample, no secret
        data = bytearray(intact)
        data[position] ^= 1 << position % 8
        (stored / name).write_bytes(data)
        with pytest.raises(VectorsError, match=r"damaged|holds no word vectors"):
            verify_vectors(stored)
    (stored / name).write_bytes(intact)
    verify_vectors(stored)


def test_damaged_vectors_are_not_written_again(stored: Path, tmp_path: Path) -> None:
    assert rewrite_forms(stored, tmp_path / "same", "de").fingerprint == open_vectors(stored).fingerprint
    verify_vectors(tmp_path / "same")
    other = rewrite_forms(stored, tmp_path / "other", "en")
    assert other.forms is not None
    assert (other.forms.language, list(other.words)) == ("en", list(open_vectors(stored).words))
    data = bytearray((stored / "vectors").read_bytes())
    data[-1] ^= 1
    (stored / "vectors").write_bytes(data)
    with pytest.raises(VectorsError, match=r"vectors is damaged"):
        rewrite_forms(stored, tmp_path / "damaged", "en")
    assert not (tmp_path / "damaged").exists()
