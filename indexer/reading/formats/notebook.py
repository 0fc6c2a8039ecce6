"""Jupyter notebooks: one document per file, made of its Markdown and its code."""

import json
from collections.abc import Iterator
from typing import Any

from moverank.indexer.reading.formats.json_lines import CANNOT_BE_STORED, DECODER, storage_fault
from moverank.indexer.reading.formats.text import text_document, whole_document, without_heading_mark
from moverank.indexer.reading.records import BadRecord, ReadResult
from moverank.indexer.reading.streams import Stream, decode
from moverank.indexer.values.documents import Document, Metadata

_NO_TEXT = frozenset({"raw"})


def read_notebook(stream: Stream) -> Iterator[ReadResult]:
    """Read the whole file as one document: the sources of its cells, without their outputs; its key is its path.

    Its title is the title of its metadata, or else the first line. The language becomes the metadata `language`.
    """

    def document(key: str) -> Document:
        notebook = _parsed(decode(stream.whole()))
        text = without_heading_mark("\n\n".join(cell for cell in map(_text_of, _cells(notebook)) if cell.strip()))
        title = _string(notebook, "metadata", "title")
        return text_document(key, text, title=title, metadata=_metadata(notebook))

    return whole_document(stream, document)


def _parsed(text: str) -> Any:
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise BadRecord(f"broken JSON in line {error.lineno}: {error.msg}") from error
    except CANNOT_BE_STORED as error:
        raise storage_fault(error) from error


def _cells(notebook: Any) -> list[Any]:
    """Return the cells of a notebook of version 4, or of the worksheets of version 3."""
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    holders = sheets if isinstance(sheets, list) else [notebook]
    lists = [holder.get("cells") for holder in holders if isinstance(holder, dict)]
    if not any(isinstance(cells, list) for cells in lists):
        raise BadRecord("it has no list of 'cells', so it is no notebook")
    return [cell for cells in lists if isinstance(cells, list) for cell in cells]


def _text_of(cell: Any) -> str:
    """Return the source of a cell: a string, or a list of lines; code of version 3 is in `input`."""
    if not isinstance(cell, dict) or cell.get("cell_type") in _NO_TEXT:
        return ""
    source = cell.get("source", cell.get("input", ""))
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def _metadata(notebook: Any) -> Metadata:
    language = _string(notebook, "metadata", "language_info", "name") or _string(
        notebook, "metadata", "kernelspec", "language"
    )
    return {"language": language} if language else {}


def _string(value: Any, *names: str) -> str:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return " ".join(value.split()) if isinstance(value, str) else ""
