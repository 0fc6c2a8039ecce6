"""What holds the first stage's vectors where nobody says it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from moverank import Collection, Settings
from moverank.indexer.search.query import EXACT_UP_TO
from moverank.indexer.snapshot.first_stage import FLAT, check_factory
from moverank.indexer.snapshot.index_choice import AUTO, InUse, choose
from tests.indexer.commands.test_update import _chosen, _run
from tests.indexer.world import Workshop, document, random_documents

CODES = "HR,RaBitQ"


@pytest.mark.parametrize(
    ("n", "dim", "expected"),
    [
        (0, 4096, FLAT),
        (4096, 4096, FLAT),
        (4097, 4096, CODES),
        (10**8, 1024, CODES),
        (10**5, 1023, "SQ8"),
        (EXACT_UP_TO, 256, FLAT),
        (EXACT_UP_TO, 257, "SQ8"),
        (EXACT_UP_TO + 1, 200, "SQ8"),
        (EXACT_UP_TO + 1, 8, FLAT),
    ],
)
def test_the_choice_by_size(n: int, dim: int, expected: str) -> None:
    assert choose(n, dim) == expected
    check_factory(expected, dim)


def test_what_is_told_of_it() -> None:
    assert InUse(CODES, 120_000, 4096, 120_000 * 529).told() == (
        "first stage: HR,RaBitQ for 120,000 documents of 16,384 bytes each, in 1/31 of the memory "
        "(--faiss names another index)"
    )
    assert "in all of the memory" in InUse(FLAT, 120_000, 4096, 120_000 * 16_392).told()
    assert "in all of the memory" in InUse(FLAT, 0, 4096, 90).told()


@pytest.mark.usefixtures("always_compact")
def test_a_run_tells_when_the_index_is_another_one(
    tmp_path: Path, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, chosen = tmp_path / "c", _chosen(workshop)
    assert _run(place, [*random_documents(9)], chosen).notes == ()
    with monkeypatch.context() as tight:
        tight.setattr("moverank.indexer.snapshot.index_choice.SMALL", 0)
        tight.setattr("moverank.indexer.snapshot.index_choice.SHORT", 0)
        (note,) = _run(place, [document("new", "ant")], {}).notes
        assert note.startswith("first stage: SQ8 for 10 documents of 16 bytes each, in ")
        assert _run(place, [document("newer", "ant")], {}).notes == ()
    (note,) = _run(place, [document("newest", "ant")], {}).notes
    assert note.startswith("first stage: IDMap2,Flat for 12 documents")
    with Collection.open(place) as kept:
        assert (kept.settings.faiss, kept.info()["faiss_in_use"]) == (AUTO, FLAT)
    # Who names an index is not told of it.
    assert _run(place, [document("a", "ant")], {"faiss": "SQ8"}).notes == ()
    with Collection.open(place) as kept:
        assert (kept.settings.faiss, kept.info()["faiss_in_use"]) == ("SQ8", "SQ8")


def test_a_collection_keeps_the_index_that_it_was_made_with(make: Callable[..., Collection]) -> None:
    stored = make().settings.stored()
    assert stored["faiss"] == AUTO
    assert Settings.restored(stored | {"faiss": FLAT}).faiss == FLAT
