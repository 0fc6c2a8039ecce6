"""Changes within a transaction."""

import pytest

from moverank.indexer.errors import CollectionError
from moverank.indexer.store import Store, StoredWord
from moverank.indexer.store.reader import REMOVALS_FORGOTTEN
from moverank.indexer.values.documents import NamedSource
from tests.indexer.store.rows import document_row, part_row


def test_words_have_permanent_ids_and_document_frequencies(store: Store) -> None:
    with store.writing() as writer:
        one, two, none = range(writer.last_word_id() + 1, writer.last_word_id() + 4)
        writer.add_words([(one, "one", 0, 5), (two, "two", 1, -2), (none, "none", 0, -1)])
        assert writer.last_word_id() == none
        writer.add_words([])
        writer.count_words({one: 3, two: 0, none: 2})
        writer.count_words({one: -1, two: 0})
        writer.count_words({})
    with store.reading() as reader:
        assert reader.words(["two", "what"]) == [StoredWord(two, "two", 1, -2)]
        assert reader.words_of([none, one]) == [(one, "one", 2, 5), (none, "none", 2, -1)]
        assert reader.frequencies() == [(one, 2), (two, 1)]
        assert list(reader.all_words(known=True)) == [(one, "one", 2, 5), (two, "two", 1, -2)]
        assert (reader.word_count(), reader.word_count(known=True)) == (3, 2)
        assert [word.id for word in reader.all_words()] == [one, two, none]


@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 100, 123])
def test_any_number_of_rows_is_inserted_in_order(store: Store, count: int) -> None:
    rows = [document_row(f"k{count - i}") | {"metadata": {"n": i, "ü": ["x"]}} for i in range(count)]
    with store.writing() as writer:
        ids = writer.add_documents(rows)
        assert ids == sorted(ids)
        assert writer.keys(ids) == {id_: row["key"] for id_, row in zip(ids, rows, strict=True)}
        assert writer.metadata(ids) == {id_: row["metadata"] for id_, row in zip(ids, rows, strict=True)}
        assert set(writer.known([*(row["key"] for row in rows), "none"])) == {row["key"] for row in rows}


def test_a_row_that_is_refused_fails_the_transaction(store: Store) -> None:
    rows = [(i, f"w{i % 40}", 0, 0) for i in range(1, 60)]
    with pytest.raises(CollectionError), store.writing() as writer:
        writer.add_words(rows)
    with store.reading() as reader:
        assert not reader.word_count(unused=True)


def test_document_ids_are_never_reused(store: Store) -> None:
    with store.writing() as writer:
        ids = writer.add_documents([document_row("a"), document_row("b")])
        writer.remove_documents(ids, 2)
        (added,) = writer.add_documents([document_row("b")])
        assert added > max(ids)


def test_removing_a_document_removes_its_rows_and_records_its_id(store: Store) -> None:
    with store.writing() as writer:
        removed, other = writer.add_documents([document_row("a"), document_row("b")])
        writer.add_parts([part_row(removed), part_row(other)])
        fields = [{"document_id": id_, "name": "n", "value": "v"} for id_ in (removed, other)]
        writer.replace_fields([removed, other], fields)
        writer.remove_documents([removed], 7)
        assert writer.parts([removed, other]).keys() == {other}
        assert writer.ids_with_value("n", ["v"]) == [other]
        assert (writer.removed_ids(6), writer.removed_ids(7)) == ([removed], [])
        writer.forget_removals(6)
        assert writer.removed_ids(0) == [removed]
        writer.forget_removals(7)
        assert writer.removed_ids(0) == []


def test_the_revision_up_to_which_removals_are_forgotten_is_stored(store: Store) -> None:
    with store.writing() as writer:
        writer.set_settings({"gamma": 0.75, "removals": 3})
        assert writer.forgotten() == 0
        for revision in (6, 2_000_000_000_000):
            writer.forget_removals(revision)
            assert writer.forgotten() == revision == writer.settings()[REMOVALS_FORGOTTEN]
    with store.reading() as reader:
        assert reader.forgotten() == 2_000_000_000_000


def test_revisions_count_from_zero_and_have_tokens(store: Store) -> None:
    with store.writing() as writer:
        assert writer.revision() == 0
        assert [writer.next_revision(), writer.next_revision()] == [1, 2]
        assert writer.revision() == 2
        tokens = {writer.token(1), writer.token(2)}
        assert len(tokens) == 2
        assert writer.token(3) is None
        assert None not in tokens


def test_settings_are_json_values(store: Store) -> None:
    values = {"list": ["a", 1], "none": None, "number": 0.75, "text": "x"}
    with store.writing() as writer:
        writer.set_settings({"text": "before", "other": True})
        writer.set_settings(values)
    with store.reading() as reader:
        assert reader.settings() == values | {"other": True}


def test_two_documents_of_one_key_are_refused(store: Store) -> None:
    with pytest.raises(CollectionError, match="UNIQUE"), store.writing() as writer:
        writer.add_documents([document_row("a"), document_row("a")])


def test_sources_are_counted_and_overwritten_by_place(store: Store) -> None:
    with store.writing() as writer:
        first = writer.store_source(NamedSource("/b", "b"))
        second = writer.store_source(NamedSource("/a", "x/a", "p"))
        rows = [document_row("1", source=first, file="f"), document_row("2", source=first, file=""), document_row("3")]
        one, two, three = writer.add_documents([{"source": None, "file": None, **row} for row in rows])
        assert writer.store_source(NamedSource("/b", "other", "q")) == first
        assert writer.sources() == [
            (None, None, 1),
            (second, NamedSource("/a", "x/a", "p"), 0),
            (first, NamedSource("/b", "other", "q"), 2),
        ]
        writer.set_origins([{"id": three, "source": second, "file": "g"}])
        writer.set_keys([{"id": three, "key": "new"}])
    with store.reading() as reader:
        assert [source.documents for source in reader.sources()] == [1, 2]
        assert dict(reader.files_of_source(first)) == {one: "f", two: ""}
        assert (dict(reader.files_of_source(second)), dict(reader.files_of_source(None))) == ({three: "g"}, {})
        assert reader.known(["new"])["new"][3:] == (second, "g")


def test_a_trial_is_undone(store: Store) -> None:
    with store.trying() as writer:
        writer.add_documents([document_row("a")])
        assert writer.document_count() == 1
    with store.reading() as reader:
        assert reader.document_count() == 0
