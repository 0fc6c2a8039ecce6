"""Cached normalisers of the translation model: any damage to the file is noticed, and they are computed again."""

from pathlib import Path

import numpy as np
import pytest

from moverank.indexer.search.caches import cached_sums
from moverank.rerank.plugins.methods.translation import Translation
from moverank.rerank.scorers import WordVectors
from tests.indexer.world import VECTORS, CollectionFactory, random_documents, snapshot_above


def test_normalisers_are_cached_and_computed_again_where_the_file_is_damaged(tmp_path: Path) -> None:
    words = WordVectors(np.eye(3, dtype=np.float32), np.ones(3, bool))
    other = WordVectors(VECTORS, np.ones(len(VECTORS), bool))
    expected = cached_sums(None, Translation, words)
    cached_sums(tmp_path, Translation, other)
    (path,) = tmp_path.iterdir()
    of_other_words = path.read_bytes()
    for content in (of_other_words, b"", of_other_words[:-30], b"nothing"):
        path.write_bytes(content)
        assert cached_sums(tmp_path, Translation, words).tolist() == expected.tolist()
        assert cached_sums(tmp_path, Translation, words).tolist() == expected.tolist()
    assert cached_sums(tmp_path / "nowhere", Translation, words).tolist() == expected.tolist()
    flipped = bytearray(path.read_bytes())
    for position in range(0, len(flipped), 7):
        flipped[position] ^= 16
        path.write_bytes(flipped)
        assert cached_sums(tmp_path, Translation, words).tolist() == expected.tolist()
        flipped[position] ^= 16


def test_normalisers_of_a_snapshot_are_cached_in_the_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with CollectionFactory(tmp_path).empty() as collection:
        path = collection.path / "normalisers"
        collection.index(random_documents(20))
        collection.search("ant", distance="translation")
        assert not path.exists()  # all documents are the tail
        snapshot_above(monkeypatch, 0)
        collection.index([])
        collection.search("ant", distance="translation")
        assert path.exists()
