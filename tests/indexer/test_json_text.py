"""JSON of many values is what `json.dumps` writes."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.json_text import json_encoder

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_VALUES, st.booleans())
def test_values_are_written_as_json_does(value: object, sort_keys: bool) -> None:
    assert json_encoder(sort_keys=sort_keys)(value) == json.dumps(value, sort_keys=sort_keys)


@pytest.mark.parametrize("make", [None, lambda: None], ids=["none", "of another signature"])
def test_without_the_encoder_in_c_the_usual_one_is_used(make: object, monkeypatch: pytest.MonkeyPatch) -> None:
    other = SimpleNamespace(c_make_encoder=make, encode_basestring_ascii=json.encoder.encode_basestring_ascii)
    monkeypatch.setattr("moverank.indexer.json_text.encoder", other)
    assert json_encoder(sort_keys=True)({"b": [1.5], "a": "ä"}) == '{"a": "\\u00e4", "b": [1.5]}'


def test_a_value_that_is_no_json_is_an_error() -> None:
    with pytest.raises(TypeError):
        json_encoder()({"a": object()})
