"""Plain text and Markdown: one document per file, or one per line of text, optionally after a label and a tab.

The front matter of Markdown is metadata in YAML (between lines `---`) or TOML (between lines `+++`).
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import partial
from typing import Any

from moverank.indexer.reading.formats.dates import iso_date
from moverank.indexer.reading.records import (
    LABEL_FIELDS,
    TITLE_FIELDS,
    BadRecord,
    ReadResult,
    attached_key,
    choose_field,
    first_line,
    label_of,
    metadata_of,
    one_line,
    parts_of,
)
from moverank.indexer.reading.streams import Stream, decode
from moverank.indexer.values.documents import Document, Metadata, begins_with_title

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LIMIT = 1 << 16
"""The maximum length in characters: YAML takes seconds for a MiB."""


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the front matter of `text` and the rest; empty if `text` has none.

    Dates become ISO 8601. Raises `BadRecord` if the front matter is malformed.
    """
    for pattern, parse in ((_YAML, _yaml), (_TOML, _toml)):
        match = pattern.match(text)
        if match and len(match[1]) <= _LIMIT:
            values = parse(match[1])
            # The text between two horizontal rules of Markdown is no front matter.
            if isinstance(values, Mapping) or values is None:
                return {str(name): _plain(value) for name, value in (values or {}).items()}, text[match.end() :]
    return {}, text


_YAML_SCALARS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
    (
        "timestamp",
        r"\d{4}-\d\d-\d\d(?:(?:[Tt]|[ \t]+)\d{1,2}:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)?",
        "0123456789",
    ),
)
"""The scalars of YAML 1.2 that are no texts, and dates: `no`, `1_000` and `12:30:45` are texts."""


def _number(kind: Callable[[str], int | float], _loader: object, node: Any) -> int | float | str:
    """Return a number, or a text if the number is written otherwise: `1.10` may be a version, `007` a name."""
    if node.value[-1].isalpha():  # infinite, or no number
        return float(node.value.replace(".", ""))
    value = kind(node.value)
    return value if str(value) == node.value.removeprefix("+") else str(node.value)


def _yaml(text: str) -> Any:
    import yaml  # here, because few texts have front matter

    class Loader(yaml.SafeLoader):
        """Refuses aliases: a few lines of them expand to more than the memory holds."""

        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                raise BadRecord("its front matter has a YAML alias (*name): write the value itself")
            return super().compose_node(parent, index)

    Loader.yaml_implicit_resolvers = {}
    for tag, pattern, first in _YAML_SCALARS:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"(?:{pattern})\Z"), list(first))
    for kind, number in (("int", int), ("float", float)):
        Loader.add_constructor(f"tag:yaml.org,2002:{kind}", partial(_number, number))
    try:
        return yaml.load(text, Loader)  # noqa: S506 - it is a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f" in line {mark.line + 2}" if mark else ""
        raise BadRecord(f"its front matter is broken YAML{line} ({error.problem}): quote the value") from error
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise BadRecord(f"its front matter is broken YAML ({_first_line(error)}): quote the value") from error


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"its front matter is broken TOML ({_first_line(error)})") from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; null for one that JSON cannot hold, such as binary data."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, date):
        return iso_date(value)
    return value if isinstance(value, str | int | float) else None


def whole_document(stream: Stream, make: Callable[[str], Document]) -> Iterator[ReadResult]:
    """Yield the document that `make` makes of the whole file for its key, which is the path."""
    try:
        with attached_key(stream.source.key):
            yield 0, make(stream.source.key)
    except BadRecord as bad:
        yield 0, bad


def read_text(stream: Stream) -> Iterator[ReadResult]:
    """Read the whole file as one document; its key is its path, its title its first line; see `first_line`."""
    return whole_document(stream, lambda key: text_document(key, _text(stream)))


def _text(stream: Stream) -> str:
    return decode(stream.whole()).replace("\r\n", "\n")


def read_lines(stream: Stream) -> Iterator[ReadResult]:
    """Read one document per line; blank lines are skipped."""
    for line, text in _lines(stream):
        yield line, text if isinstance(text, BadRecord) else text_document(f"{stream.source.key}:{line}", text)


def read_labelled_lines(stream: Stream) -> Iterator[ReadResult]:
    """Read one document `label<TAB>text` per line, the format of the data of Kusner et al. 2015."""
    for line, text in _lines(stream):
        if isinstance(text, BadRecord):
            yield line, text
            continue
        label, tab, rest = text.partition("\t")
        if tab and label.strip():
            yield line, text_document(f"{stream.source.key}:{line}", rest, label.strip())
        else:
            yield line, BadRecord("the line must be a label, a tab and the text: its label or its tab is missing")


def _lines(stream: Stream) -> Iterator[tuple[int, str | BadRecord]]:
    for text in stream.texts():
        if isinstance(text, BadRecord):
            yield stream.line, text
        elif not text.isspace():
            yield stream.line, text.rstrip("\r\n")


def text_document(
    key: str, text: str, label: str | None = None, *, title: str = "", metadata: Metadata | None = None
) -> Document:
    """Make a document of a text; without a `title`, it is the first line."""
    line = title or first_line(text)
    # A title that was cut within a word is only shown: its last word is not whole.
    title_counts = bool(title) or begins_with_title(text, line)
    return Document(key, line, parts_of(text), label, metadata or {}, title_counts)


_HEADING = re.compile(r"\s*#{1,6}[ \t]+([^\n]*?)[ \t]*#*[ \t]*(?=\n|\Z)")
_SCALAR = (str, int, float)


def read_markdown(stream: Stream) -> Iterator[ReadResult]:
    """Read the whole file as one document; its key is its path.

    The front matter gives its title, label and metadata; without a title there, the title is the first line.
    """
    return whole_document(stream, lambda key: _document(key, *split_front_matter(_text(stream))))


def without_heading_mark(text: str) -> str:
    """Return the text; without the `#` of a heading at its beginning, which would hide the title there."""
    heading = _HEADING.match(text)
    return heading[1] + text[heading.end() :] if heading else text


def _document(key: str, front: Mapping[str, Any], text: str) -> Document:
    scalars = {name: value for name, value in front.items() if isinstance(value, _SCALAR)}
    title_field = choose_field(scalars, None, TITLE_FIELDS)
    label_field = choose_field(scalars, None, LABEL_FIELDS)
    return text_document(
        key,
        without_heading_mark(text),
        label_of(scalars, label_field),
        title=one_line(str(scalars[title_field])) if title_field else "",
        metadata=metadata_of(front, {title_field, label_field}),
    )
