"""Values that the shell completes: rankings, formats, fields, keys, topics; none of an unreadable collection."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from moverank.indexer.store import Reader

_MANY = 200  # keys; shells show a prompt before listing more


def complete_rank(incomplete: str) -> list[str]:
    """Return the rankings whose last term begins as typed: `wmd+0.5*b` becomes `wmd+0.5*bm25`."""
    from moverank.indexer.values.ranking_spec import ranking_names

    begun = max(incomplete.rfind("+"), incomplete.rfind("*")) + 1
    return [incomplete[:begun] + name for name in ranking_names() if name.startswith(incomplete[begun:])]


def complete_format(context: typer.Context, incomplete: str) -> list[str]:
    """Return the formats that the command `index` or `threads` reads."""
    from moverank.indexer.reading import DOCUMENT_FORMATS, THREAD_FORMATS

    formats = THREAD_FORMATS if context.command.name == "threads" else DOCUMENT_FORMATS
    return [name for name in formats if name.startswith(incomplete)]


def complete_field(context: typer.Context, incomplete: str) -> list[str]:
    """Return the fields of the collection that begin as typed, each followed by an equals sign; `!FIELD` without."""
    names: list[str] = []
    with suppress(Exception), _reader(context) as reader:
        names = sorted({*reader.field_names(), "key", "source"})
    if incomplete.startswith("!"):
        return [f"!{name}" for name in names if name.startswith(incomplete[1:])]
    return [f"{name}=" for name in names if name.startswith(incomplete)]


def complete_key(context: typer.Context, incomplete: str) -> list[str]:
    """Return the first keys of documents that begin as typed."""
    keys: list[str] = []
    with suppress(Exception), _reader(context) as reader:
        keys = reader.keys_beginning(incomplete, _MANY)
    return keys


def complete_source(context: typer.Context, incomplete: str) -> list[str]:
    """Return the sources of the collection that begin as typed, as `info --source` prints them."""
    from moverank.indexer.values.scope import UNKNOWN_SOURCE

    names: list[str] = []
    with suppress(Exception), _reader(context) as reader:
        stored = [each for each in reader.sources() if each.documents]
        names = [each.source.place if each.source else UNKNOWN_SOURCE for each in stored]
    return [name for name in names if name.startswith(incomplete)]


def complete_topic(context: typer.Context, incomplete: str) -> list[str]:
    """Return the topics of the manual, and the commands, that begin as typed."""
    from moverank.indexer.manual import TOPICS

    root = context.find_root()
    commands = getattr(root.command, "commands", {})
    return sorted(name for name in {*TOPICS, *commands} if name.startswith(incomplete))


@contextmanager
def _reader(context: typer.Context) -> "Iterator[Reader]":
    """Open the collection that `--index` names."""
    from moverank.indexer.collection import Collection

    with Collection.open(context.params["index"]) as collection, collection.reading() as reader:
        yield reader
