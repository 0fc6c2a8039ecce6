import json

import pytest

from moverank.indexer.formatters.escaping import isolated, printable, printable_json, without_isolates
from tests.indexer.formatters.samples import MALICIOUS


@pytest.mark.parametrize(
    ("text", "on_screen"),
    [
        ("plain → ü", "plain → ü"),
        ("a\x1b[31mb\r\nc\td\u202ee\u2068f", "a [31mb  c d e f"),
        ("caf\udce9", "caf?"),
        ("می\u200cخواهم Schiff\u00adfahrt 👨\u200d👧", "می\u200cخواهم Schifffahrt 👨\u200d👧"),
        ("", ""),
    ],
)
def test_control_characters_are_replaced(text: str, on_screen: str) -> None:
    assert printable(text) == on_screen


@pytest.mark.parametrize("text", ["كتاب", "שלום 7", "a ٣", "(كتاب)"])
def test_texts_from_right_to_left_are_isolated(text: str) -> None:
    assert isolated(text) == f"\u2068{text}\u2069"
    assert without_isolates(f"{isolated(text)} 1") == f"{text} 1"
    assert isolated(f"\u2069{text}\u202e") == f"\u2068 {text} \u2069"


@pytest.mark.parametrize("text", ["", "title 7", "größer", "北京", "ภาษา"])
def test_other_texts_are_not_isolated(text: str) -> None:
    assert isolated(text) == text


def test_control_characters_in_json_are_escaped() -> None:
    text = printable_json(json.dumps({"title": MALICIOUS, "key": "ü\U0001f600"}, ensure_ascii=False))
    assert text.isprintable()
    assert "ü\U0001f600" in text
    assert json.loads(text) == {"title": MALICIOUS, "key": "ü\U0001f600"}
