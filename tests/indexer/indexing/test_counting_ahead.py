"""Documents that were counted in the process that reads them are stored as if the writer had counted them."""

import pickle
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moverank import Collection, Document, Part, Rejection
from moverank.indexer.errors import UsageError
from moverank.indexer.indexing import counting_ahead
from moverank.indexer.indexing.counted_document import CountedDocument
from moverank.indexer.indexing.counting_ahead import CountAhead
from moverank.indexer.progress import silent
from moverank.indexer.readers import read_documents, reading_process
from moverank.indexer.readers.origins import Origins
from moverank.indexer.readers.reading_process import read_ahead
from moverank.indexer.snapshot.loaded_ahead import STEPS
from tests.indexer.world import STOP_WORDS, WORDS, MakeCollection

_TEXTS = st.lists(st.sampled_from([*WORDS, *STOP_WORDS, "zorp", "Äpfel", "हिन्दी", "ANT", "-"]), max_size=8).map(
    " ".join
)
_PARTS = st.lists(st.builds(Part, _TEXTS, st.integers(0, 2)), max_size=3).map(tuple)
_DOCUMENTS = st.lists(
    st.builds(
        Document,
        st.sampled_from([f"d{i}" for i in range(6)]),
        _TEXTS,
        _PARTS,
        st.sampled_from([None, "x"]),
        st.sampled_from([{}, {"year": 1999, "tags": ["a", "ü"]}]),
        st.booleans(),
    ),
    max_size=6,
)


def _sent(batches: Sequence[Sequence[Document | Rejection]]) -> Iterator[Document | Rejection]:
    """Yield batches of records as they arrive from another process."""
    there, here = CountAhead(), CountAhead()
    for batch in batches:
        yield from here.received(pickle.loads(pickle.dumps(there.prepared(list(batch)))))  # noqa: S301 - our own


def _rows(collection: Collection) -> list[tuple[Any, ...]]:
    """Return all rows of a collection's database, but for the random tokens of revisions."""
    with closing(sqlite3.connect(collection.path / "collection.db")) as database:
        tables = ("documents", "parts", "words", "fields", "vectors", "removals")
        return [(table, *row) for table in tables for row in database.execute(f"SELECT * FROM {table} ORDER BY rowid")]  # noqa: S608


@pytest.mark.sqlite("reads the file")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(runs=st.lists(st.lists(_DOCUMENTS, max_size=3), min_size=1, max_size=3), cached=st.sampled_from([0, 3, 1000]))
def test_rows_are_those_of_documents_that_the_writer_counts(
    runs: Sequence[Sequence[Sequence[Document]]], cached: int, make_collection: MakeCollection
) -> None:
    whole, ahead = make_collection(), make_collection()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting_ahead, "_CACHED_WORDS", cached)
        patch.setattr("moverank.indexer.indexing.sync.BATCH", 4)
        for run in runs:
            documents = [document for batch in run for document in batch]
            expected = whole.index(documents)
            assert ahead.index(_sent(run)) == expected
            assert _rows(ahead) == _rows(whole)
            # Counted or not, they are recognised, also in one run.
            mixed = [one for pair in zip(documents, _sent([documents]), strict=True) for one in pair]
            assert ahead.index(mixed) == whole.index([one for one in documents for _ in range(2)])
            assert _rows(ahead) == _rows(whole)


def test_records_arrive_as_they_were() -> None:
    rejection = Rejection("file", 3, "broken")
    documents = [Document("a", "title", (Part("ant"),), "x", {"year": 1}, vector=[1.0, 0.1]), Document("b", "only")]
    received = list(_sent([[documents[0], rejection], [documents[1]]]))
    assert received[1] == rejection
    found = [record for record in received if isinstance(record, CountedDocument)]
    assert [Document(*(getattr(one, name) for name in _FIELDS)) for one in found] == documents


_FIELDS = ("key", "title", "parts", "label", "metadata", "title_counts", "vector")


def test_a_document_that_cannot_be_stored_is_reported_by_the_writer(make_collection: MakeCollection) -> None:
    received = list(_sent([[Document("a", "ant"), Document("bad", "\0")]]))
    with pytest.raises(UsageError, match="'bad' holds a NUL character"):
        make_collection().index(received)


def test_a_vector_that_is_attached_later_belongs_to_the_content(make_collection: MakeCollection) -> None:
    collection = make_collection(first_stage="given")
    (plain,) = _sent([[Document("a", "ant")]])
    assert isinstance(plain, Document)
    changed = replace(plain, vector=[0.5, 1.0])
    assert [collection.index([one]).updated for one in (plain, changed, changed)] == [0, 1, 0]
    assert collection.index([Document("a", "ant", vector=[0.5, 1.0])]).unchanged == 1


@pytest.mark.sqlite("reads the file")
def test_the_same_is_counted_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_collection: MakeCollection
) -> None:
    monkeypatch.setattr(reading_process, "LARGE", 1)
    monkeypatch.setattr(reading_process, "core_count", lambda: 2)
    path = tmp_path / "docs.jsonl"
    lines = [f'{{"id": "{i}", "title": "Ant {i}", "text": "the cat {i} {WORDS[i % 12]}"}}' for i in range(3000)]
    lines[7], lines[2500] = "broken", lines[3]
    path.write_text("\n".join(lines), encoding="utf-8")
    read, found = partial(read_documents, [str(path)]), []
    rejected: list[list[str]] = [[], []]
    for at_once, place in ((True, 0), (False, 1)):
        collection, origins = make_collection(), Origins([str(path)])
        counting = CountAhead(STEPS)
        records = read_ahead(read, origins, silent, counting, at_once=True) if at_once else read(origins=origins)
        note = rejected[place].append
        collection.index(records, scope=origins.scope, rejected=lambda one, note=note: note(str(one)))  # type: ignore[misc]
        found.append(_rows(collection))
    assert found[0] == found[1]
    assert (
        rejected[0]
        == rejected[1]
        == [
            f"{path}:8: broken JSON at column 1: Expecting value",
            f"{path}:2501: the key '3' is already taken by {path}:4: keys must be unique",
        ]
    )
