"""Filters against a naive one in Python."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moverank import Document, UsageError
from moverank.indexer.filters import matching_ids
from moverank.indexer.indexing.stored_form import field_values
from moverank.indexer.store import Store
from tests.indexer.filters.naive_filter import Stated, conditions, metadata, passes
from tests.indexer.store.rows import document_row

ALL_FIELDS: dict[str, Any] = {"a": ["x", {"b": "x"}], "c": "x"}
"""Metadata with every field that is filtered by, since an unknown field is an error."""


def fill(store: Store, documents: list[dict[str, Any]]) -> list[int]:
    """Write documents with such metadata; return their ids."""
    with store.writing() as writer:
        old = list(writer.ids())
        writer.remove_documents(old, 1)
        writer.forget_removals(1)
        ids = writer.add_documents([document_row(str(i), metadata=each) for i, each in enumerate(documents)])
        fields = [
            {"document_id": id_, "name": name, "value": value}
            for id_, each in zip(ids, documents, strict=True)
            for name, value in sorted(field_values(None, each))
        ]
        writer.replace_fields(ids, fields)
    return ids


@pytest.fixture(scope="module")
def shared() -> Any:
    """Open a database in memory that the examples fill one after the other."""
    opened = Store("sqlite://")
    yield opened
    opened.close()


@given(st.lists(metadata, max_size=8), st.lists(conditions, max_size=4))
@example([{"a": 3.0}, {"a": "3"}, {"a": "03"}], [Stated("a", "=", 3, "a=3")])
@example([{"a": True}, {"a": "true"}, {"a": "yes"}], [Stated("a", "=", "True", "a=True")])
def test_a_filter_passes_what_a_naive_one_passes(
    shared: Store, documents: list[dict[str, Any]], stated: list[Stated]
) -> None:
    documents = [*documents, ALL_FIELDS]
    ids = fill(shared, documents)
    expected = [id_ for id_, each in zip(ids, documents, strict=True) if passes(each, stated)]
    with shared.reading() as reader:
        assert matching_ids(reader, [one.text for one in stated]).tolist() == expected


@given(st.lists(metadata, max_size=8), st.sampled_from("ac"), st.data())
def test_a_condition_and_its_negation_divide_the_documents(
    shared: Store, documents: list[dict[str, Any]], field: str, data: st.DataObject
) -> None:
    ids = fill(shared, [*documents, ALL_FIELDS])
    value = data.draw(st.sampled_from(["3", "2020", "red", "true"]))
    with shared.reading() as reader:
        for condition, negation in ((f"{field}={value}", f"{field}!={value}"), (field, f"!{field}")):
            one, other = matching_ids(reader, condition).tolist(), matching_ids(reader, negation).tolist()
            assert sorted([*one, *other]) == ids
        if value != "red":
            compared = [matching_ids(reader, f"{field}{operator}2020").tolist() for operator in ("<", ">=")]
            assert set(compared[0]) | set(compared[1]) <= set(matching_ids(reader, field).tolist())


@pytest.mark.parametrize("most", [0, 3, 2000])
def test_many_accepted_values_are_found_like_few(store: Store, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr("moverank.indexer.filters.matching._MANY", most)
    ids = fill(store, [{"n": number, "tags": [number, -number]} for number in range(20)])
    with store.reading() as reader:
        assert matching_ids(reader, "n>=13").tolist() == ids[13:]
        assert matching_ids(reader, ["n<3", "tags<=-2"]).tolist() == [ids[2]]
        assert matching_ids(reader, "tags>=-99").tolist() == ids


def test_a_misspelt_field_is_an_error_in_every_condition(store: Store) -> None:
    fill(store, [{"year": 1, "author": {"name": "Ann", "born": 1}}])
    with store.reading() as reader:
        for text in ("yaer=1", "yaer!=1", "yaer>1", "yaer^=1", "yaer", "!yaer"):
            with pytest.raises(UsageError, match=r"a field 'yaer': the fields are author\.born, author\.name, year$"):
                matching_ids(reader, text)
        with pytest.raises(
            UsageError, match=r"no document has a field 'author': the fields are author\.born, author\.name$"
        ):
            matching_ids(reader, "author=Ann")


def test_the_names_of_fields_are_read_from_the_index(store: Store) -> None:
    with store.reading() as reader:
        assert reader.field_names() == []
    fill(store, [{f"f{number % 7}": number} for number in range(30)])
    with store.reading() as reader:
        assert reader.field_names() == [f"f{number}" for number in range(7)]


def test_a_document_of_another_type_is_no_filter(store: Store) -> None:
    with store.reading() as reader, pytest.raises(UsageError, match="where must be a list of conditions"):
        matching_ids(reader, Document("a"))  # type: ignore[arg-type]
