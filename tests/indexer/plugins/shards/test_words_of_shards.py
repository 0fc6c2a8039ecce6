"""Shards of texts without spaces: all have the same words, by which these are split."""

from pathlib import Path

import pytest

from moverank import Collection, Settings, UsageError
from moverank.indexer.plugins.shards.cluster import Cluster
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, new_shards
from tests.indexer.plugins.shards.conftest import keep_local
from tests.indexer.test_vocabulary import WORDS, many, thai, vectors_of, without_icu

__all__ = ["without_icu"]


def test_shards_have_equal_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_local(monkeypatch)
    path, words = tmp_path / "thai.toml", many(1000)
    file = ClusterFile(path, new_shards(path, 2, []))
    few = Settings(vectors_of(["the"], tmp_path / "few.txt"), language="th")
    with pytest.raises(UsageError, match=r"shards need the words by .*few\.txt has too few: install ICU .*FILE, or "):
        Cluster.create(file, few)
    assert not path.exists()
    assert not any(Collection.exists(shard.place) for shard in file.shards)
    settings = Settings(vectors_of(words, tmp_path / "vectors.txt"), language="th")
    with Cluster.create(file, settings) as cluster:
        cluster.index(thai(20))
        assert cluster.settings.vocabulary == " ".join(words)
        found = cluster.search("แมว", k=20, exact=True, rank="bm25").hits
    assert {hit.key for hit in found} == {one.key for one in thai(20) if "แมว" in one.title + one.parts[0].text}


def test_shards_keep_equal_words_in_another_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_local(monkeypatch)
    file = ClusterFile(tmp_path / "thai.toml", new_shards(tmp_path / "thai.toml", 2, []))
    vectors = vectors_of(["the", *WORDS], tmp_path / "vectors.txt")
    with Cluster.create(file, Settings(vectors, segmentation="none")) as cluster:
        cluster.index(thai(20))
        with pytest.raises(UsageError, match="shards need the words by which texts without spaces are split: install"):
            cluster.refit(language="th")
        cluster.refit(language="th", segmentation="characters")
        assert cluster.settings.segmentation == "characters"
        assert cluster.search(WORDS[0], k=3, rank="bm25").hits
