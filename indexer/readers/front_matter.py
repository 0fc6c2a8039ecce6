"""Front matter: metadata in YAML (between lines `---`) or TOML (between lines `+++`) at the beginning of a text."""

import re
import tomllib
from collections.abc import Mapping
from datetime import date
from typing import Any

from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.dates import iso_date

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
            # What is between two horizontal rules of Markdown is a text, too.
            if isinstance(values, Mapping) or values is None:
                return {str(name): _plain(value) for name, value in (values or {}).items()}, text[match.end() :]
    return {}, text


def _yaml(text: str) -> Any:
    import yaml  # here, because few texts have front matter

    class Loader(yaml.SafeLoader):
        """Refuses aliases: a few lines of them expand to more than the memory holds."""

        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                raise BadRecord("its front matter has a YAML alias (*name): write the value itself")
            return super().compose_node(parent, index)

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
