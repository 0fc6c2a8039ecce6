"""Sentences of a text, as spans: for results by sentence, not for linguistics."""

import re
from collections.abc import Iterator

_MARKS = ".!?\u2026\u061f\u06d4\u0964\u0965"
_CLOSING = "[\"'\u2019\u201d\u00bb)\\]\u300d\u300f\uff09]*+"
_ENDS = re.compile(
    rf"(?<![{_MARKS}])(?P<stop>[{_MARKS}]++){_CLOSING}(?=\s|$)"  # before a space
    rf"|[\u3002\uff01\uff1f\uff61]++{_CLOSING}"  # full width: no space follows
    r"|\n[^\S\n]*+(?=\n)|\n(?=[^\S\n]*+(?:[-*#|>\u2022]|\d++[.)])\s)"  # an empty line, an item of a list, a heading
)
_ABBREVIATED = re.compile(
    r"(?:^|[^\w.])(?:[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]|"
    r"abs|al|approx|art|bzw|ca|cf|co|corp|dr|ed|eds|eq|eqs|etc|fig|figs|inc|jr|ltd|mr|mrs|ms|nr|no|nos|pp|prof|ref|refs|resp|"
    r"sec|sr|st|tab|usw|vgl|vol|vs|ziff)$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\s*(?:\d{1,3}|[a-zA-Z])\.")  # of an item, as in `3. The rent is due.`
_LONGEST = 12  # characters before a full stop in which an abbreviation is sought
_GOES_ON = re.compile(r"\s+\w")


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence, without the white space around it; every other character is in one.

    A sentence ends at `.`, `!` or `?` before a space, unless an abbreviation or a small letter says otherwise, at an
    empty line, and before an item of a list or a heading.
    """
    start = 0
    for found in _ENDS.finditer(text):
        if not _goes_on(text, found) and not _NUMBERED.fullmatch(text, start, found.end()):
            yield from _trimmed(text, start, found.end())
            start = found.end()
    yield from _trimmed(text, start, len(text))


def _goes_on(text: str, found: re.Match[str]) -> bool:
    """Return whether a full stop ends no sentence."""
    if found["stop"] != ".":
        return False
    following = _GOES_ON.match(text, found.end())
    if following and following[0][-1].islower():
        return True
    before = text[max(0, found.start() - _LONGEST) : found.start()]
    return following is not None and _ABBREVIATED.search(before) is not None


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    if piece.strip():
        yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
