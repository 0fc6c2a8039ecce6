"""Escaping of text from documents and files, which could contain control sequences that a terminal executes."""

import json


def printable(text: str) -> str:
    """Return the text on one line, with a space for each unprintable character, and `?` for each lone surrogate."""
    if text.isprintable():  # a lone surrogate is not
        return text
    return "".join(char if char.isprintable() else " " for char in text.encode(errors="replace").decode())


def printable_json(text: str) -> str:
    """Return a line of JSON with its unprintable characters escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)
