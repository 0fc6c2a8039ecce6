"""Any answer for a terminal: a line for each value, a table for each list of objects."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from moverank.indexer.formatters.escaping import printable
from moverank.rerank.answer import Answer


def view_of_answer(answer: Answer) -> RenderableType:
    """Return the keys of an answer with their values."""
    return Group(*(_view(name, value) for name, value in answer.to_dict().items()))


def _view(name: str, value: Any) -> RenderableType:
    if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        return _table(name, value)
    if isinstance(value, list):
        return Text("\n".join([f"{name}:", *(f"  {_shown(one)}" for one in value)]))
    return Text(f"{name}: {_shown(value)}")


def _table(name: str, rows: Iterable[Mapping[str, Any]]) -> Table:
    table = Table(title=name, title_justify="left", box=None, pad_edge=False)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(Text(_shown(row.get(column, ""))) for column in columns))
    return table


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return printable(f"{value:g}" if isinstance(value, float) else str(value))
