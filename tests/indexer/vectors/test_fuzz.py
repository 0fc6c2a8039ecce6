"""Whatever a file of word vectors holds: it is imported as a whole, or refused in one sentence without leftovers."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import VectorsError
from moverank.indexer.files import gzip_limit
from moverank.indexer.vectors.importing import import_vectors
from moverank.indexer.vectors.open_vectors import verify_vectors
from tests.benchmarks.mutation_fuzzing import vector_samples
from tests.samples import examples

_SAMPLES = vector_samples()


@pytest.mark.parametrize("what", _SAMPLES)
@examples(2)
@given(data=st.data())
def test_a_damaged_file(what: str, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(_SAMPLES[what])
    for _ in range(data.draw(st.integers(0, 3))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.just(len(content)) | st.integers(start, min(len(content), start + 30)))
        content[start:end] = data.draw(st.binary(max_size=30))
    (tmp_path / "v.bin").write_bytes(gzip.compress(content) if data.draw(st.booleans()) else content)
    try:
        embedding = import_vectors(str(tmp_path / "v.bin"), tmp_path / "out")
    except VectorsError as error:
        assert "\n" not in str(error)  # noqa: PT017 - most are refused
    else:
        assert np.isfinite(embedding.vectors).all()
        assert embedding.find(list(embedding.words)).tolist() == list(range(len(embedding.words)))
        verify_vectors(tmp_path / "out")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_limit, "ALWAYS_ALLOWED", 1 << 20)
    (tmp_path / "v.gz").write_bytes(gzip.compress(b"ant 0 0\n" + b"bee 0 0\n" * (1 << 20)))
    with pytest.raises(VectorsError, match="over 200 times as long when unzipped"):
        import_vectors(str(tmp_path / "v.gz"), tmp_path / "out")
