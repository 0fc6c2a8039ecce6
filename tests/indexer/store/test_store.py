import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import DatabaseError, InvalidRequestError, OperationalError

from moverank.indexer.errors import CollectionError, LockedError
from moverank.indexer.store import Shown, Store, StoredWord, Writer, sqlite_url


def _document(key: str, revision: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "key": key,
        "title": key.upper(),
        "label": None,
        "metadata": {},
        "digest": b"d",
        "wordless": False,
        "revision": revision,
    } | changes


def _part(document_id: int, position: int = 0, text: str = "t") -> dict[str, Any]:
    row = {"document_id": document_id, "position": position, "rank": position, "text": text, "digest": b"d"}
    return row | {"words": b"\1\0\0\0", "counts": b"\2\0\0\0"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "collection.db"


@pytest.fixture
def file(path: Path) -> Iterator[Store]:
    opened = Store(sqlite_url(path))
    yield opened
    opened.close()


def test_documents_are_found_by_key_and_id(store: Store) -> None:
    with store.writing() as writer:
        first, second = writer.add_documents([_document("b", label="red"), _document("a", wordless=True)])
        writer.add_parts([_part(first, 1, "later"), _part(first, 0, "first")])
        assert writer.document_count() == 2
        assert writer.wordless_count() == 1
        assert writer.part_count() == 2
    with store.reading() as reader:
        assert reader.known(["a", "b", "c"])["b"] == (first, b"d", False)
        assert set(reader.known(["a", "b", "c"])) == {"a", "b"}
        assert reader.shown([first]) == {first: Shown("b", "B", "red")}
        assert reader.texts([first, second]) == {first: ["first", "later"]}
        assert sorted(reader.ids()) == sorted([first, second])


def test_all_texts_go_document_by_document(store: Store) -> None:
    with store.writing() as writer:
        assert list(writer.all_texts()) == []
        ids = writer.add_documents([_document("a"), _document("empty"), _document("b")])
        writer.add_parts([_part(ids[2], 0, "c"), _part(ids[0], 1, "b"), _part(ids[0], 0, "a")])
        assert list(writer.all_texts()) == [["a", "b"], ["c"]]


def test_more_values_than_one_statement_takes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.store.reader.CHUNK", 7)
    monkeypatch.setattr("moverank.indexer.store.writer.CHUNK", 7)
    with store.writing() as writer:
        ids = writer.add_documents([_document(str(i)) for i in range(40)])
        assert len(writer.known([str(i) for i in range(40)])) == 40
        writer.remove_documents(ids[:30], 2)
        assert sorted(writer.ids()) == ids[30:]


def test_words_keep_their_ids_and_count_documents(store: Store) -> None:
    with store.writing() as writer:
        one, two, none = writer.add_words({"one": 5, "two": -2, "none": -1})
        writer.count_words({one: 3, two: 1, none: 2})
        writer.count_words({one: -1, two: 0})
        writer.count_words({})
    with store.reading() as reader:
        assert reader.words(["two", "what"]) == [StoredWord("two", two, -2)]
        assert reader.word_rows([one, none]) == {one: 5, none: -1}
        assert reader.word_texts([two]) == {two: "two"}
        assert reader.frequencies() == [(one, 2), (two, 1)]
        assert [tuple(row) for row in reader.vocabulary()] == [(one, "one", 5), (two, "two", -2)]
        assert (reader.word_count(), reader.word_count(known=True)) == (3, 2)
        assert list(reader.all_words()) == [("one", one, 5), ("two", two, -2), ("none", none, -1)]


def test_ids_are_never_used_again(store: Store) -> None:
    with store.writing() as writer:
        ids = writer.add_documents([_document("a"), _document("b")])
        writer.remove_documents(ids, 2)
        (again,) = writer.add_documents([_document("b")])
        assert again > max(ids)


def test_a_removed_document_takes_all_that_is_its_own_and_leaves_word(store: Store) -> None:
    with store.writing() as writer:
        gone, kept = writer.add_documents([_document("a"), _document("b")])
        writer.add_parts([_part(gone), _part(kept)])
        writer.replace_fields([gone, kept], [{"document_id": id_, "name": "n", "value": "v"} for id_ in (gone, kept)])
        writer.remove_documents([gone], 7)
        assert writer.parts([gone, kept]).keys() == {kept}
        assert writer.matching("n", ["v"]) == [kept]
        assert (writer.removed_ids(6), writer.removed_ids(7)) == ([gone], [])
        writer.forget_removals(6)
        assert writer.removed_ids(0) == [gone]
        writer.forget_removals(7)
        assert writer.removed_ids(0) == []


def test_what_changed_since_a_revision(store: Store) -> None:
    with store.writing() as writer:
        ids = writer.add_documents([_document("a", 1), _document("b", 2), _document("c", 3)])
        writer.add_parts([_part(id_) for id_ in reversed(ids)])
        assert writer.changed_ids(1) == ids[1:]
        assert [part.document_id for part in writer.counted_parts()] == ids
        assert [part.document_id for part in writer.counted_parts(2)] == ids[2:]
        assert next(writer.counted_parts(2)) == (ids[2], 0, b"\1\0\0\0", b"\2\0\0\0")


def test_the_revision_begins_at_nothing(store: Store) -> None:
    with store.writing() as writer:
        assert writer.revision() == 0
        assert [writer.next_revision(), writer.next_revision()] == [1, 2]
        assert writer.revision() == 2
        tokens = {writer.token(1), writer.token(2)}
        assert len(tokens) == 2
        assert writer.token(3) is None
        assert None not in tokens


def test_settings_are_any_json(store: Store) -> None:
    values = {"list": ["a", 1], "none": None, "number": 0.75, "text": "x"}
    with store.writing() as writer:
        writer.set_settings({"text": "before", "other": True})
        writer.set_settings(values)
    with store.reading() as reader:
        assert reader.settings() == values | {"other": True}


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    def fail(writer: Writer) -> None:
        writer.next_revision()
        writer.add_documents([_document("a"), _document("b")])
        raise RuntimeError

    with pytest.raises(RuntimeError), store.writing() as writer:
        fail(writer)
    with store.reading() as reader:
        assert (reader.document_count(), reader.revision()) == (0, 0)


def test_a_reader_sees_one_state_while_a_writer_commits(file: Store, path: Path) -> None:
    other = Store(sqlite_url(path))
    with file.reading() as reader:
        assert reader.revision() == 0
        with other.writing() as writer:
            writer.add_documents([_document("a")])
            writer.next_revision()
        assert (reader.revision(), reader.document_count()) == (0, 0)
    with file.reading() as reader:
        assert (reader.revision(), reader.document_count()) == (1, 1)
    other.close()


def test_sqlite_is_opened_safely(file: Store, path: Path) -> None:
    with file.writing() as writer:
        writer.next_revision()
        assert path.with_name("collection.db-wal").exists()
    # Foreign keys are checked: a part needs its document.
    with pytest.raises(CollectionError, match="FOREIGN KEY"), file.writing() as writer:
        writer.add_parts([_part(99)])


def test_two_documents_of_one_key_are_refused(store: Store) -> None:
    with pytest.raises(CollectionError, match="UNIQUE"), store.writing() as writer:
        writer.add_documents([_document("a"), _document("a")])


def test_a_database_that_is_locked(file: Store, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LockedError, match="another process is writing"), file.writing():
        pytest.fail("two writers")
    with file.reading() as reader:
        assert reader.revision() == 0
    other.close()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OperationalError("SELECT", {}, sqlite3.OperationalError("disk I/O error")), "cannot be used: disk I/O error"),
        (DatabaseError("SELECT", {}, sqlite3.DatabaseError("malformed")), "damaged or not one of ours: malformed"),
        (InvalidRequestError("closed"), "cannot be used: closed"),
    ],
)
def test_what_the_database_refuses_is_one_sentence(store: Store, error: Exception, told: str) -> None:
    with pytest.raises(CollectionError, match=told) as caught, store.reading():
        raise error
    assert not isinstance(caught.value, LockedError)


def test_what_is_no_database(path: Path) -> None:
    path.write_text("This is a text, and no database, however long it may be. " * 50)
    with pytest.raises(CollectionError, match="not a database"):
        Store(sqlite_url(path))


def test_a_place_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="unable to open"):
        Store(sqlite_url(tmp_path / "absent" / "collection.db"))


@pytest.mark.parametrize("name", ["with space", "what?mode=ro", "100%", "%20", "a#b", "ü@:"])
def test_any_path_can_be_a_database(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    store = Store(sqlite_url(path))
    with store.writing() as writer:
        writer.next_revision()
    store.close()
    assert path.is_file()
