"""Runs of `update`: the notes of a run, and the collection that it leaves behind."""

from pathlib import Path
from typing import Any

import pytest

from moverank import Collection, Document, Rejection
from moverank.indexer.commands.update import RunCallbacks, RunSettings, RunSources, Updated, update
from tests.indexer.world import CollectionFactory, document

pytestmark = pytest.mark.store

_BAD = Rejection("a.jsonl", 1, "no text")


def _run(path: Path, records: list[Document | Rejection], choices: dict[str, Any]) -> Updated:
    settings = RunSettings(choices, {"gamma": 0.75})
    return update(path, lambda **_: iter(records), RunSources(["-"]), settings, RunCallbacks(lambda _: None))


def _chosen(factory: CollectionFactory) -> dict[str, Any]:
    settings = factory.settings()
    return {"embedding": settings.embedding, "stop_words": settings.stop_words}


def test_a_collection_is_created_and_then_updated(tmp_path: Path, factory: CollectionFactory) -> None:
    path, chosen = tmp_path / "c", _chosen(factory)
    assert _run(path, [document("a", "ant")], chosen).changes.added == 1
    with Collection.open(path) as created:
        assert created.settings.gamma == 0.75
    again = _run(path, [document("a", "ant")], {"gamma": 0.0})
    assert (again.changes.unchanged, again.notes, again.failed) == (1, (), False)
    with Collection.open(path) as updated:
        assert updated.settings.gamma == 0


@pytest.mark.sqlite("the directory of one in a database is a cache, which stays")
def test_a_new_collection_that_stays_empty_is_removed(tmp_path: Path, factory: CollectionFactory) -> None:
    updated = _run(tmp_path / "c", [_BAD], _chosen(factory))
    assert (updated.failed, updated.changes.rejected) == (True, 1)
    assert not (tmp_path / "c").exists()


def test_vectors_that_do_not_fit_the_texts_are_reported(tmp_path: Path, factory: CollectionFactory) -> None:
    updated = _run(tmp_path / "c", [document(str(i), "zorp quux") for i in range(4)], _chosen(factory))
    assert (updated.changes.wordless, updated.failed) == (4, False)
    assert "4 of these 4 documents have no word with a vector" in updated.notes[0]


def test_trained_vectors_are_reported(tmp_path: Path) -> None:
    first = _run(tmp_path / "c", [document("a", "the")], {})
    assert "too few words yet" in first.notes[0]
    texts = [document(str(i), "the cat sat on the mat with another cat") for i in range(50)]
    assert "trained on these texts by lsi" in _run(tmp_path / "c", [*texts], {}).notes[0]
