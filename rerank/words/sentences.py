"""Where sentences end, by punctuation and empty lines."""

import re
from collections.abc import Sequence

_MARKS = ".!?\u2026\u061f\u06d4\u0964\u0965"
_CLOSING = "[\"'\u2019\u201d\u00bb)\\]\u300d\u300f\uff09]*+"
_END = re.compile(
    rf"(?<![{_MARKS}])[{_MARKS}]++{_CLOSING}(?=\s|$)"  # a space follows: 3.5 is a number
    rf"|[\u3002\uff01\uff1f\uff61]+{_CLOSING}|\n\s*(?=\n)"
)


def sentence_ends(text: str) -> Sequence[int]:
    """Return the positions after the punctuation that ends a sentence, or after its last line, increasing."""
    return [found.end() for found in _END.finditer(text)]
