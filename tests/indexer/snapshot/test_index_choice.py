"""The FAISS index that is chosen if the settings name none."""

from pathlib import Path
from typing import Any

import pytest

from moverank import Collection, Document, Settings
from moverank.indexer.commands.update import RunCallbacks, RunSettings, RunSources, update
from moverank.indexer.snapshot.faiss_index import IndexInUse, check_factory, choose_factory
from moverank.indexer.values.search_options import EXACT_UP_TO
from moverank.indexer.values.settings import AUTO_INDEX, FLAT_INDEX
from tests.indexer.world import CollectionFactory, document, random_documents

CODES = "HR,RaBitQ"


@pytest.mark.parametrize(
    ("n", "dim", "expected"),
    [
        (0, 4096, FLAT_INDEX),
        (4096, 4096, FLAT_INDEX),
        (4097, 4096, CODES),
        (10**8, 1024, CODES),
        (10**5, 1023, "SQ8"),
        (EXACT_UP_TO, 256, FLAT_INDEX),
        (EXACT_UP_TO, 257, "SQ8"),
        (EXACT_UP_TO + 1, 200, "SQ8"),
        (EXACT_UP_TO + 1, 8, FLAT_INDEX),
    ],
)
def test_the_index_depends_on_number_and_dimension(n: int, dim: int, expected: str) -> None:
    assert choose_factory(n, dim) == expected
    check_factory(expected, dim)


def test_an_index_is_described_with_the_memory_it_saves() -> None:
    assert IndexInUse(CODES, 120_000, 4096, 120_000 * 529).sentence() == (
        "first stage: HR,RaBitQ for 120,000 documents of 16,384 bytes each, in 1/31 of the memory "
        "(faiss=FACTORY names another index)"
    )
    assert "in all of the memory" in IndexInUse(FLAT_INDEX, 120_000, 4096, 120_000 * 16_392).sentence()
    assert "in all of the memory" in IndexInUse(FLAT_INDEX, 0, 4096, 90).sentence()


def _notes(path: Path, documents: list[Document], choices: dict[str, Any]) -> tuple[str, ...]:
    """Run `moverank index` on documents, and return its notes."""
    settings = RunSettings(choices, {"gamma": 0.75})
    sources = RunSources(["-"])
    return update(path, lambda **_: iter(documents), sources, settings, RunCallbacks(lambda _: None)).notes


@pytest.mark.usefixtures("always_compact")
def test_a_run_reports_a_changed_index(
    tmp_path: Path, factory: CollectionFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, settings = tmp_path / "c", factory.settings()
    choices = {"embedding": settings.embedding, "stop_words": settings.stop_words}
    assert _notes(path, random_documents(9), choices) == ()
    with monkeypatch.context() as patch:
        patch.setattr("moverank.indexer.snapshot.faiss_index.SMALL_BYTES", 0)
        patch.setattr("moverank.indexer.snapshot.faiss_index.SHORT_BYTES", 0)
        (note,) = _notes(path, [document("new", "ant")], {})
        assert note.startswith("first stage: SQ8 for 10 documents of 16 bytes each, in ")
        assert _notes(path, [document("newer", "ant")], {}) == ()
    (note,) = _notes(path, [document("newest", "ant")], {})
    assert note.startswith("first stage: IDMap2,Flat for 12 documents")
    with Collection.open(path) as opened:
        assert (opened.settings.faiss, opened.info()["faiss_in_use"]) == (AUTO_INDEX, FLAT_INDEX)
    # A named index is not reported.
    assert _notes(path, [document("a", "ant")], {"faiss": "SQ8"}) == ()
    with Collection.open(path) as opened:
        assert (opened.settings.faiss, opened.info()["faiss_in_use"]) == ("SQ8", "SQ8")


def test_the_setting_is_restored(collection: Collection) -> None:
    stored = collection.settings.stored()
    assert stored["faiss"] == AUTO_INDEX
    assert Settings.restored(stored | {"faiss": FLAT_INDEX}).faiss == FLAT_INDEX
