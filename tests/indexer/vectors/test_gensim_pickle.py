import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.importing import import_vectors
from moverank.indexer.vectors.open_vectors import verify_vectors


def test_a_pickle_is_detected_by_its_content_and_refused(keyed: Any, tmp_path: Path) -> None:
    keyed.save(str(tmp_path / "v.txt"))
    with pytest.raises(VectorsError, match="--trust-pickle"):
        import_vectors(str(tmp_path / "v.txt"), tmp_path / "out")


def test_a_refused_pickle_is_not_run(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "ran",)

    (tmp_path / "v.kv").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(VectorsError, match="is a pickle"):
        import_vectors(str(tmp_path / "v.kv"), tmp_path / "out")
    assert not (tmp_path / "ran").exists()


def test_trusted_vectors_are_those_of_gensim(keyed: Any, tmp_path: Path) -> None:
    keyed.save(str(tmp_path / "v.kv"))
    embedding = import_vectors(str(tmp_path / "v.kv"), tmp_path / "out", trust_pickle=True)
    assert list(embedding.words) == keyed.index_to_key
    np.testing.assert_array_equal(embedding.vectors, keyed.vectors)


def test_the_vectors_of_trusted_models_are_imported(tmp_path: Path) -> None:
    model = Word2Vec([["a", "b", "c"]] * 5, vector_size=4, min_count=1, workers=1)
    model.save(str(tmp_path / "m.model"))
    embedding = import_vectors(str(tmp_path / "m.model"), tmp_path / "out", trust_pickle=True)
    np.testing.assert_array_equal(embedding.gather(["b"], embedding.find(["b"]))[0], model.wv["b"])


@pytest.mark.parametrize("complete", [False, True])
def test_trusted_fasttext_keeps_its_subwords(fasttext: Any, tmp_path: Path, complete: bool) -> None:
    (fasttext if complete else fasttext.wv).save(str(tmp_path / "m"))
    embedding = import_vectors(str(tmp_path / "m"), tmp_path / "out", trust_pickle=True)
    words = ["cat", "catlike", "日日"]
    vectors = embedding.gather(words, embedding.find(words))
    np.testing.assert_allclose(vectors, [fasttext.wv[word] for word in words], atol=1e-6)
    verify_vectors(tmp_path / "out")


def test_other_pickles_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "v.kv"
    for value, sentence in (
        ({"a": 1}, "gensim cannot load|holds a dict"),
        (KeyedVectors(3), "holds a KeyedVectors, not word vectors"),
    ):
        path.write_bytes(pickle.dumps(value))
        with pytest.raises(VectorsError, match=sentence):
            import_vectors(str(path), tmp_path / "out", trust_pickle=True)
    path.write_bytes(b"\x80\x04junk")
    with pytest.raises(VectorsError, match=r"gensim cannot load .*v\.kv"):
        import_vectors(str(path), tmp_path / "out", trust_pickle=True)
    numbered = KeyedVectors(2)
    numbered.add_vectors([1, 2], np.ones((2, 2), np.float32))
    numbered.save(str(path))
    with pytest.raises(VectorsError, match="words that are not text"):
        import_vectors(str(path), tmp_path / "out", trust_pickle=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["v.kv"]


def test_numbers_of_trusted_vectors_are_checked(keyed: Any, tmp_path: Path) -> None:
    keyed.vectors[2, 1] = np.nan
    keyed.save(str(tmp_path / "v.kv"))
    with pytest.raises(VectorsError, match=r"word 3 \('日本'\): a number is not finite"):
        import_vectors(str(tmp_path / "v.kv"), tmp_path / "out", trust_pickle=True)
