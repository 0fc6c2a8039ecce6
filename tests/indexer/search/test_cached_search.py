"""What searches cache of a snapshot changes no result, whatever happens to the documents or to the files."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from moverank import Bags, Collection, Document, Part
from moverank.indexer.files.directory import CACHED, remove_cached
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.maintenance.repair import repair
from moverank.indexer.search import encoded_documents
from moverank.rerank.distance.bounds import centroid_lengths
from tests.indexer.stored_state import change_last_byte
from tests.indexer.world import NO_VECTOR, WORDS, MakeCollection
from tests.installed import installed

RANKINGS = installed(
    [
        "wmd:weights=tfidf,mu=5+0.5*cover+1.5*bm25:stem=english+cosine",
        "bm25",
        "bm25:stem=english,gamma=0.5",
        "pwmd+pl2:stem=english",
        "wmd+2*bm25:ngrams=2",
    ]
)
QUERIES = ("ants bee zorps", "elk fox foxes", "quux")
SUFFIXED = [*WORDS, "ants", "foxes", *NO_VECTOR, "zorps"]

Results = list[list[tuple[str, float]]]


def _documents(first: int, last: int, seed: int) -> list[Document]:
    rng = np.random.default_rng(seed)
    return [
        Document(
            f"d{i}",
            " ".join(rng.choice(SUFFIXED, 2)),
            tuple(Part(" ".join(rng.choice(SUFFIXED, 4)), r) for r in (0, 2)),
        )
        for i in range(first, last)
    ]


def _results(path: Path) -> Results:
    """Return the hits of all queries by all rankings in a newly opened collection."""
    with Collection.open(path) as collection:
        rankings = [collection.search(query, k=8, rank=rank) for rank in RANKINGS for query in QUERIES]
        rankings += [collection.similar("d5", k=8, rank=rank) for rank in RANKINGS]
    return [[(hit.key, hit.score) for hit in ranking.hits] for ranking in rankings]


def _check(path: Path) -> None:
    """Check that results with cached files are those without, which are computed first."""
    remove_cached(path)
    expected = _results(path)
    assert _results(path) == expected


@pytest.fixture
def path(make_collection: MakeCollection) -> Path:
    """Return the path of a collection that is compacted after each change."""
    with make_collection(title_weight=2) as collection:
        collection.index(_documents(0, 30, 1))
        return collection.path


@pytest.mark.slow
@pytest.mark.usefixtures("always_compact")
def test_results_are_the_same_from_cached_files(path: Path) -> None:
    _check(path)
    names = {file.name.removeprefix(CACHED) for file in path.glob(f"{CACHED}*")}
    assert names >= {"stems-english", "postings-english-0", "postings-english-0.5", "postings-words-0", "frequencies"}
    with Collection.open(path) as collection:
        collection.index(_documents(20, 33, 2))
    # Those of the old snapshot are gone; the coverage is that of the new state.
    assert {file.name for file in path.glob(f"{CACHED}*")} == {f"{CACHED}coverage.json", f"{CACHED}steps"}
    _check(path)


@pytest.mark.usefixtures("always_compact")
def test_a_snapshot_s_sums_are_kept_after_a_change(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths of the snapshot's centroids are computed by the first search after a change only."""
    computed = []

    def lengths(bags: Bags, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        computed.append(len(bags))
        return centroid_lengths(bags, vectors)

    monkeypatch.setattr(encoded_documents, "centroid_lengths", lengths)
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 99)
    with Collection.open(path) as collection:
        collection.index(_documents(28, 33, 3))
        collection.remove(["d3"])
    expected = _results(path)
    assert sorted(computed) == [5, 30]
    assert _results(path) == expected
    assert sorted(computed) == [5, 5, 30]


@pytest.mark.slow
def test_results_follow_later_changes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are cached for a snapshot are not used for what has changed since."""
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0)
    with Collection.open(path) as collection:
        collection.index(_documents(30, 60, 3))
    monkeypatch.undo()
    _results(path)
    for change in ("add", "update", "remove"):
        with Collection.open(path) as collection:
            if change == "remove":
                collection.remove(["d7", "d31"])
            else:
                collection.index(_documents(60, 63, 4) if change == "add" else _documents(3, 6, 5))
        found = _results(path)
        for file in path.glob(f"{CACHED}*"):
            file.unlink()
        assert found == _results(path)


@pytest.mark.slow
@pytest.mark.usefixtures("always_compact")
@pytest.mark.parametrize("name", ["stems-english", "postings-english-0", "frequencies", "lengths-tfidf-0"])
def test_damage_is_found_by_check_and_harms_no_search(path: Path, name: str) -> None:
    expected = _results(path)
    file = path / f"{CACHED}{name}"
    change_last_byte(file)
    assert check_collection(path).sentences() == (f"{file} does not match its checksum",)
    assert repair(path).sentences() == ()
    assert _results(path) == expected
    intact = file.read_bytes()
    change_last_byte(file)
    assert _results(path) == expected
    assert file.read_bytes() == intact
