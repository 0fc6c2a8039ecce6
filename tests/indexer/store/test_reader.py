"""Queries of one consistent state."""

import pytest

from moverank.indexer.store import DisplayFields, Store, StoredWord
from tests.indexer.store.rows import document_row, part_row


def test_documents_are_found_by_key_and_id(store: Store) -> None:
    with store.writing() as writer:
        first, second = writer.add_documents([document_row("b", label="red"), document_row("a", wordless=True)])
        writer.add_parts([part_row(first, 1, "later"), part_row(first, 0, "first")])
        assert writer.document_count() == 2
        assert writer.wordless_count() == 1
        assert writer.part_count() == 2
    with store.reading() as reader:
        assert reader.known(["a", "b", "c"])["b"] == (first, b"d", False, None, None)
        assert set(reader.known(["a", "b", "c"])) == {"a", "b"}
        assert reader.shown([first]) == {first: DisplayFields("b", "B", "red")}
        assert reader.texts([first, second]) == {first: ["first", "later"]}
        assert sorted(reader.ids()) == sorted([first, second])


def test_all_texts_are_grouped_by_document(store: Store) -> None:
    with store.writing() as writer:
        assert list(writer.all_texts()) == []
        ids = writer.add_documents([document_row("a"), document_row("empty"), document_row("b")])
        writer.add_parts([part_row(ids[2], 0, "c"), part_row(ids[0], 1, "b"), part_row(ids[0], 0, "a")])
        assert list(writer.all_texts()) == [["a", "b"], ["c"]]


def test_more_values_than_a_statement_takes_are_split(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.store.rows.CHUNK", 7)
    with store.writing() as writer:
        ids = writer.add_documents([document_row(str(i)) for i in range(40)])
        assert len(writer.known([str(i) for i in range(40)])) == 40
        writer.remove_documents(ids[:30], 2)
        assert sorted(writer.ids()) == ids[30:]


def test_changes_since_a_revision(store: Store) -> None:
    with store.writing() as writer:
        ids = writer.add_documents([document_row("a", 1), document_row("b", 2), document_row("c", 3)])
        writer.add_parts([part_row(id_) for id_ in reversed(ids)])
        assert writer.changed_ids(1) == ids[1:]
        assert [part.document_id for part in writer.counted_parts()] == ids
        assert [part.document_id for part in writer.counted_parts(2)] == ids[2:]
        assert next(writer.counted_parts(2)) == (ids[2], 0, b"\1\0\0\0", b"\2\0\0\0")


def test_keys_are_found_by_their_beginning(store: Store) -> None:
    with store.writing() as writer:
        writer.add_documents([document_row(key) for key in ("b2", "a_b", "a%b", "B3", "b1", "aé", "b1\U0001f600")])
    with store.reading() as reader:
        assert reader.keys_beginning("b", 9) == ["b1", "b1\U0001f600", "b2"]
        assert reader.keys_beginning("a_", 9) == ["a_b"]
        assert reader.keys_beginning("", 2) == ["B3", "a%b"]


def test_words_occur_while_a_document_has_them(store: Store) -> None:
    with store.writing() as writer:
        cat, dog, none = 1, 2, 3
        writer.add_words([(cat, "cat", 1, 5), (dog, "dog", 2, -1), (none, "none", 0, 3)])
        writer.count_words({cat: -1})
    with store.reading() as reader:
        assert [word.word for word in reader.words(["cat", "dog", "none", "nowhere"]) if word.frequency] == ["dog"]


def test_all_rows_are_read_however_many(store: Store) -> None:
    with store.writing() as writer:
        first, numbers = writer.last_word_id() + 1, range(2500)
        writer.add_words([(first + i, f"w{i}", 1, i) for i in numbers])
    with store.reading() as reader:
        assert reader.word_ids() == [first + i for i in numbers]
        every = [StoredWord(first + i, f"w{i}", 1, i) for i in numbers]
        assert list(reader.all_words()) == list(reader.all_words(known=True)) == every
        assert reader.frequencies() == [(first + i, 1) for i in numbers]


def test_word_ids_may_have_gaps(store: Store) -> None:
    with store.writing() as writer:
        assert writer.word_ids() == []
        writer.add_words([(7, "a", 1, 0), (9, "b", 1, 0)])
        assert writer.word_ids() == [7, 9]
        writer.add_words([(8, "c", 1, 0)])
        assert writer.word_ids() == [7, 8, 9]
