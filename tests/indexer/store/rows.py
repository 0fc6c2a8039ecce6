"""Rows of the database, as the writer takes them."""

from typing import Any


def document_row(key: str, revision: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a row of `documents`, changed by column name."""
    row: dict[str, Any] = {
        "key": key,
        "title": key.upper(),
        "label": None,
        "metadata": {},
        "digest": b"d",
        "wordless": False,
    }
    return row | {"revision": revision} | changes


def part_row(document_id: int, position: int = 0, text: str = "t") -> dict[str, Any]:
    """Return a row of `parts` with two occurrences of word 1."""
    row = {"document_id": document_id, "position": position, "rank": position, "text": text, "digest": b"d"}
    return row | {"words": b"\1\0\0\0", "counts": b"\2\0\0\0"}
