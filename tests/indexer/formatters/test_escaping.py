import json

import pytest

from moverank.indexer.formatters.escaping import printable, printable_json
from tests.indexer.formatters.samples import MALICIOUS


@pytest.mark.parametrize(
    ("text", "on_screen"),
    [("plain → ü", "plain → ü"), ("a\x1b[31mb\r\nc\td\u202ee", "a [31mb  c d e"), ("caf\udce9", "caf?"), ("", "")],
)
def test_control_characters_are_replaced(text: str, on_screen: str) -> None:
    assert printable(text) == on_screen


def test_control_characters_in_json_are_escaped() -> None:
    text = printable_json(json.dumps({"title": MALICIOUS, "key": "ü\U0001f600"}, ensure_ascii=False))
    assert text.isprintable()
    assert "ü\U0001f600" in text
    assert json.loads(text) == {"title": MALICIOUS, "key": "ü\U0001f600"}
