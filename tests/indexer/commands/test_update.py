"""What a run tells of itself, and what it leaves behind."""

from pathlib import Path
from typing import Any

from moverank import Collection, Document, Rejection
from moverank.indexer.commands.update import Updated, update
from moverank.indexer.progress import silent
from tests.indexer.world import Workshop, document

_BAD = Rejection("a.jsonl", 1, "no text")


def _run(path: Path, records: list[Document | Rejection], choices: dict[str, Any], *, prune: bool = False) -> Updated:
    rest: dict[str, Any] = {"defaults": {"gamma": 0.75}, "trust_pickle": False, "strict": False, "progress": silent}
    return update(path, iter(records), choices, prune=prune, rejected=lambda _: None, **rest)


def _chosen(workshop: Workshop) -> dict[str, Any]:
    settings = workshop.settings()
    return {"embedding": settings.embedding, "stop_words": settings.stop_words}


def test_a_collection_is_made_and_then_kept(tmp_path: Path, workshop: Workshop) -> None:
    place, chosen = tmp_path / "c", _chosen(workshop)
    assert _run(place, [document("a", "ant")], chosen).changes.added == 1
    with Collection.open(place) as made:
        assert made.settings.gamma == 0.75
    again = _run(place, [document("a", "ant")], {"gamma": 0.0})
    assert (again.changes.unchanged, again.notes, again.failed) == (1, (), False)
    with Collection.open(place) as kept:
        assert kept.settings.gamma == 0


def test_a_new_collection_that_stays_empty_is_gone(tmp_path: Path, workshop: Workshop) -> None:
    done = _run(tmp_path / "c", [_BAD], _chosen(workshop))
    assert (done.failed, done.changes.rejected) == (True, 1)
    assert not (tmp_path / "c").exists()


def test_pruning_that_is_refused_is_told_with_what_was_done(tmp_path: Path, workshop: Workshop) -> None:
    _run(tmp_path / "c", [document("a", "ant")], _chosen(workshop))
    done = _run(tmp_path / "c", [document("b", "bee"), _BAD], {}, prune=True)
    assert (done.failed, done.changes.added, done.changes.removed) == (True, 1, 0)
    assert "nothing was pruned" in done.notes[0]


def test_vectors_that_do_not_fit_the_texts_are_told(tmp_path: Path, workshop: Workshop) -> None:
    done = _run(tmp_path / "c", [document(str(i), "zorp quux") for i in range(4)], _chosen(workshop))
    assert (done.changes.wordless, done.failed) == (4, False)
    assert "4 of these 4 documents have no word with a vector" in done.notes[0]


def test_trained_vectors_are_told(tmp_path: Path) -> None:
    few = _run(tmp_path / "c", [document("a", "the")], {})
    assert "too few words yet" in few.notes[0]
    texts = [document(str(i), "the cat sat on the mat with another cat") for i in range(4)]
    assert "trained on these texts by lsi" in _run(tmp_path / "c", [*texts], {}).notes[0]
