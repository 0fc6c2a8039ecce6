"""Filters against a naive one in Python."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moverank import Document, UsageError
from moverank.indexer.filters import document_test, filtered_documents, matching_ids, why_none_passes
from moverank.indexer.indexing.stored_form import field_values
from moverank.indexer.store import Store
from moverank.indexer.values.documents import NamedSource
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
        where = [one.text for one in stated]
        assert matching_ids(reader, where).tolist() == expected
        test = document_test(where)
        assert [id_ for id_, one in filtered_documents(reader, ids[1:]).items() if test(one)] == [
            id_ for id_ in expected if id_ in ids[1:]
        ]


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
            with pytest.raises(
                UsageError,
                match=r"a field 'yaer': the fields are author\.born, author\.name, year; also key and source$",
            ):
                matching_ids(reader, text)
        with pytest.raises(
            UsageError, match=r"no document has a field 'author': the fields are author\.born, author\.name$"
        ):
            matching_ids(reader, "author=Ann")


_NAMES = ["a", "b/a", "b/ab", "3", "3.0", "ü", "\U0010ffff", "\U0010ffff\U0010ffff", "\ud7ff", "\ue000x"]
_OWN = st.fixed_dictionaries({}, optional={"key": st.sampled_from(["a", "3"]), "source": st.sampled_from(_NAMES)})


@given(
    st.lists(
        st.tuples(st.sampled_from(_NAMES), st.sampled_from(["", *_NAMES]), _OWN), max_size=8, unique_by=lambda d: d[0]
    ),
    st.sampled_from(["key", "source"]),
    st.sampled_from(["=", "!=", "^=", "<", ">=", "", "!"]),
    st.sampled_from([*_NAMES, "", "b", "b/", "/folder/b", " a", "\0", "\ud800"]),
)
@example([("a", "b/a", {})], "source", "=", "/folder")
def test_every_document_has_a_key_and_a_source(
    shared: Store, documents: list[tuple[str, str, Any]], field: str, operator: str, value: str
) -> None:
    """A document without a file in its source is one without a source here."""
    fill(shared, [own for _, _, own in documents])
    with shared.writing() as writer:
        id_, ids = writer.store_source(NamedSource("/folder", "folder")), list(writer.ids())
        writer.set_keys([{"id": of, "key": f"key {of}"} for of in ids])  # those of `fill` are numbers
        writer.set_keys([{"id": of, "key": key} for of, (key, _, _) in zip(ids, documents, strict=True)])
        placed = [(of, file) for of, (_, file, _) in zip(ids, documents, strict=True) if file]
        writer.set_origins([{"id": of, "source": id_, "file": file} for of, file in placed])

    def passes_alone(key: str, file: str, own: Any) -> bool:
        names = ["/folder", "folder", f"/folder/{file}", f"folder/{file}"] if file else []
        own = {field: [*(names if field == "source" else [key]), *([own[field]] if field in own else [])]}
        return passes(own, [Stated(field, operator, value.strip() if operator in ("=", "^=", "!=") else value, "")])

    condition = f"{operator}{field}" if operator in ("", "!") else f"{field}{operator}{value}"
    with shared.reading() as reader:
        if operator in ("<", ">=") and value not in ("3", "3.0"):
            with pytest.raises(UsageError):
                matching_ids(reader, condition)
            return
        found = matching_ids(reader, condition).tolist()
        test = document_test(condition)
        some = {of for of, one in filtered_documents(reader, ids[::2]).items() if test(one)}
        assert some == {of for of in found if of in ids[::2]}
    same_number = value in ("3", "3.0") and operator in ("=", "!=") and field == "key"
    expected = [of for of, each in zip(ids, documents, strict=True) if passes_alone(*each)]
    if same_number:  # as a key, 3.0 is another than 3
        own = [value == key or str(more.get("key")) == "3" for key, _, more in documents]
        expected = [of for of, equal in zip(ids, own, strict=True) if equal == (operator == "=")]
    assert found == expected


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("label=manul", ": none meets label=manul (the nearest: manual)"),
        ("label^=x", ": none meets label^=x (there are: guide, manual)"),
        ("price>100", ": none meets price>100 (the largest: 12.5)"),
        (["price<2", "label=guide"], ": none meets price<2 (the smallest: 9)"),
        ("date>=2030", ": none meets date>=2030 (the largest: 2021-05-03)"),
        ("key=bikes/12", ": none meets key=bikes/12 (the nearest: bikes/1)"),
        ("!label", ": none meets !label"),
        (["label=x", "label=y", "price=10"], ": none meets label=x or label=y (there are: guide, manual), and none"),
        (["label=guide", "price=12.5"], ": each of these holds for some, but not together: label=guide, price=12.5"),
        ({"label": []}, ": a field without any accepted value accepts nothing"),
        (f"label={'x' * 200}", f": none meets label={'x' * 80}... (there are: guide, manual)"),
    ],
)
def test_the_reason_why_no_document_passes(store: Store, where: Any, reason: str) -> None:
    fill(
        store,
        [
            {"label": "manual", "price": 12.5, "date": "2021-05-03"},
            {"label": "guide", "price": 9, "date": "2020"},
        ],
    )
    with store.writing() as writer:
        writer.set_keys([{"id": id_, "key": f"bikes/{number}"} for number, id_ in enumerate(writer.ids())])
    with store.reading() as reader:
        assert matching_ids(reader, where).tolist() == []
        assert why_none_passes(reader, where).startswith(f"no document passes the filter{reason}")


def test_the_names_of_fields_are_read_from_the_index(store: Store) -> None:
    with store.reading() as reader:
        assert reader.field_names() == []
    fill(store, [{f"f{number % 7}": number} for number in range(30)])
    with store.reading() as reader:
        assert reader.field_names() == [f"f{number}" for number in range(7)]


def test_a_document_of_another_type_is_no_filter(store: Store) -> None:
    with store.reading() as reader, pytest.raises(UsageError, match="where must be a list of conditions"):
        matching_ids(reader, Document("a"))  # type: ignore[arg-type]
