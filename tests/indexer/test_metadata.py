"""Metadata as JSON values: what can be stored, and the fields that are filtered by."""

import enum
import json
import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document, Part, UsageError
from moverank.indexer.values.documents import MAX_DEPTH, flattened, metadata_fault, texts_within
from tests.indexer.stored_state import stored_keys
from tests.indexer.world import document

pytestmark = pytest.mark.store

_leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_values = st.recursive(_leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


class Colour(enum.IntEnum):
    RED = 1


@given(st.dictionaries(st.text(), _values))
def test_json_can_be_stored_and_every_text_is_seen(metadata: Any) -> None:
    assert metadata_fault(metadata) is None
    written = json.dumps(metadata)
    assert json.loads(written) == metadata
    assert all(json.dumps(text)[1:-1] in written for text in texts_within(metadata))
    assert {value for _, value in flattened(metadata) if json.dumps(value)[1:-1] not in written} <= {"true", "false"}


def test_fields_have_dotted_names_and_lists_several_values() -> None:
    metadata: Any = {"a": {"b": 1, "c": [True, None, {"d": "x"}]}, "e": ["y", [1.0]], "f": None, "g": [], "h": {}}
    assert list(flattened(metadata)) == [("a.b", "1"), ("a.c", "true"), ("a.c.d", "x"), ("e", "y"), ("e", "1.0")]


def _nested(depth: int) -> Any:
    return [_nested(depth - 1)] if depth else 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (datetime(2020, 1, 1, tzinfo=UTC), "'x' is of type datetime: use text, numbers, Booleans, None"),
        ({1, 2}, "'x' is of type set"),
        ([np.int64(3)], "'x' is of type int64"),
        (b"x", "'x' is of type bytes"),
        (math.nan, "'x' is no finite number"),
        ([1, {"y": -math.inf}], "'x' is no finite number"),
        ({1: "one"}, "'x' has the name 1, which must be a text"),
        (10**5000, "'x' has too many digits"),
        (_nested(MAX_DEPTH + 1), f"'x' is nested more than {MAX_DEPTH} deep"),
        ("nul\0", "document 'a' holds a NUL character: take it out"),
        ({"na\0me": 1}, "holds a NUL character"),
        (["\ud800"], r"holds \ud800, half of a surrogate pair"),
    ],
    ids=lambda value: value if isinstance(value, str) and "\0" not in value else type(value).__name__,
)
def test_other_values_are_one_error_and_nothing_is_lost(collection: Collection, value: Any, reason: str) -> None:
    collection.index([document("before", "ant")])
    with pytest.raises(UsageError, match=r"^document 'a' h") as raised:
        collection.index([document("b", "bee"), document("a", "ant", metadata={"x": value})])
    assert reason in str(raised.value)
    assert stored_keys(collection) == {"before"}


def test_names_must_be_texts(collection: Collection) -> None:
    metadata: Any = {1: "x"}
    with pytest.raises(UsageError, match="metadata that cannot be stored: the name 1 must be a text"):
        collection.index([document("a", "ant", metadata=metadata)])


@pytest.mark.parametrize("field", ["key", "title", "label", "text"])
def test_nul_is_refused_everywhere(collection: Collection, field: str) -> None:
    values: Any = {"key": "a", "title": "t", "label": "l", "text": "ant"} | {field: "x\0"}
    text = values.pop("text")
    with pytest.raises(UsageError, match="holds a NUL character: take it out"):
        collection.index([Document(parts=(Part(text),), **values)])


def test_tuples_and_subclasses_of_numbers_are_stored_as_lists_and_numbers(collection: Collection) -> None:
    metadata: Any = {"tuple": (1, "x"), "enum": Colour.RED, "float": np.float64(1.5), "deep": _nested(MAX_DEPTH)}
    collection.index([document("a", "ant", metadata=metadata)])
    found = collection.get("a")
    assert found is not None
    assert found.metadata == {"tuple": [1, "x"], "enum": 1, "float": 1.5, "deep": _nested(MAX_DEPTH)}
    assert list(collection.keys(["tuple=x", "enum=1", "float>1", "deep=1"])) == ["a"]
