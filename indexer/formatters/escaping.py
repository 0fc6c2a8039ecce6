"""Escaping of text from documents and files, which could contain control sequences that a terminal executes."""

import json
import unicodedata

_WITHIN_WORDS = {"\u00ad": "", "\u200c": "\u200c", "\u200d": "\u200d"}
"""What is shown of invisible characters within words: no soft hyphen, but the joiners of Persian and of emoji."""

_ISOLATE, _END = "\u2068", "\u2069"
_RIGHT_TO_LEFT = ("R", "AL", "AN")


def printable(text: str) -> str:
    """Return the text on one line, with a space for each unprintable character, and `?` for each lone surrogate.

    Joiners stay within words, and soft hyphens are dropped.
    """
    if text.isprintable():  # a lone surrogate is not
        return text
    shown = text.encode(errors="replace").decode()
    return "".join(char if char.isprintable() else _WITHIN_WORDS.get(char, " ") for char in shown)


def isolated(text: str) -> str:
    """Return printable text for a column of a terminal, isolated if it has letters that are written right to left.

    Without that, a terminal puts numbers and other columns of the line between the words of such a text.
    """
    shown = printable(text)
    if shown.isascii() or not any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in shown):
        return shown
    return f"{_ISOLATE}{shown}{_END}"


def without_isolates(text: str) -> str:
    """Return text without the characters of `isolated`, which only terminals need."""
    return text.replace(_ISOLATE, "").replace(_END, "")


def printable_json(text: str) -> str:
    """Return a line of JSON with its unprintable characters escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)
