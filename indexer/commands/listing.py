"""Commands that show what a collection holds: `list`, `show` and `export`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from moverank.indexer import formatters, operations
from moverank.indexer.commands.completion import complete_key
from moverank.indexer.commands.output_files import format_of, write_lines, write_table
from moverank.indexer.commands.shared_options import (
    DEFAULT_INDEX,
    Index,
    Json,
    Server,
    TableFormat,
    WhereOption,
    opened,
)
from moverank.indexer.errors import UsageError

if TYPE_CHECKING:
    from moverank.indexer.operations.documents import Documents, ListDocuments
    from moverank.indexer.state.contents import Contents
    from moverank.indexer.store import Entry

app = typer.Typer()

_Run: TypeAlias = "Callable[[ListDocuments], Documents]"


@app.command(
    "list", epilog="Examples: `moverank list -n 20`  `moverank list --where 'year>=2019' --where label=travel`"
)
def list_documents(
    index: Index = DEFAULT_INDEX,
    where: WhereOption = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=0, help="Show only the first so many documents. [default: all]")
    ] = None,
    format: TableFormat = "text",  # noqa: A002 - the option's name
    server: Server = None,
    as_json: Json = False,
) -> None:
    """List the documents, one a line: key, title, label and metadata; cut to the width of a terminal, else whole."""
    from moverank.indexer.opening import open_listing

    if format == "csv" and as_json:
        raise UsageError("--format csv goes without --json")
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    documents: AbstractContextManager[Any] = opened(index, server) if server else open_listing(index, where)
    with documents as found:
        run: _Run = found.run if server else lambda page: page.of(found)  # in this process, all pages are of one state
        last = run(operations.ListDocuments(where=where, limit=0))
        entries = partial(_entries, run, where, last.found if limit is None else limit)
        if format == "csv":
            fields = formatters.metadata_fields(entry.metadata for entry in entries())
            formatters.print_lines(formatters.entry_table(entries(), fields))
        else:
            for entry in entries():
                if as_json:
                    formatters.print_object(entry.to_dict())
                else:
                    typer.echo(formatters.entry_line(entry, width))
    if last.why_empty:
        formatters.note(last.why_empty)
        return
    if as_json:
        return
    if limit is not None and limit < last.found:
        formatters.note(f"{limit:,} of {last.found:,} documents are shown")
    elif where:
        formatters.note(f"{last.found:,} of {last.total:,} documents pass --where")


def _entries(run: _Run, where: list[str] | None, limit: int) -> "Iterator[Entry]":
    """Yield the first `limit` documents, page by page."""
    for first in range(0, limit, operations.PAGE):
        size = min(operations.PAGE, limit - first)
        yield from run(operations.ListDocuments(where=where, first=first, limit=size)).documents


@app.command(epilog="Examples: `moverank show thread-17`  `moverank show thread-17 --json`")
def show(
    keys: Annotated[list[str], typer.Argument(help="Keys of documents.", autocompletion=complete_key)],
    index: Index = DEFAULT_INDEX,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Show documents as they are stored: metadata, words without a vector, and the whole text with its ranks."""
    with opened(index, server) as collection:
        descriptions = [collection.run(operations.ShowDocument(key=key)) for key in keys]
    for number, description in enumerate(descriptions):
        if as_json:
            formatters.print_object(description.to_dict())
            continue
        if number:
            typer.echo()
        for line in formatters.description_lines(description):
            formatters.print_text(line)


@app.command(epilog="Examples: `moverank export -o forum.jsonl.gz`  `moverank export --where label=travel`")
def export(
    index: Index = DEFAULT_INDEX,
    where: WhereOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="File to write, such as x.jsonl.gz or x.parquet. [default: print]"
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        Literal["jsonl", "csv"] | None,
        typer.Option("--format", help="jsonl, or csv for a spreadsheet. [default: by the name of the file, or jsonl]"),
    ] = None,
) -> None:
    """Write documents as JSONL, Parquet or Arrow, of which `index` and `threads` make the same again, or as CSV."""
    from moverank.indexer.collection import Collection

    chosen = format or format_of(output) or "jsonl"
    with Collection.open(index) as collection, collection.contents(where) as contents, formatters.Bars() as bars:
        if why_empty := contents.why_empty():
            formatters.note(why_empty)
        total = len(contents)

        def progress(done: int) -> None:
            bars("Exporting", min(done, total), total, "documents")

        if output is not None and chosen == "arrow":
            schema = formatters.document_schema(entry.metadata for entry in contents.entries())
            write_table(output, schema, formatters.document_rows(contents.documents(), schema), progress)
        elif output is None or str(output) == "-":
            formatters.print_lines(_lines(contents, chosen))
        else:
            write_lines(output, _lines(contents, chosen), progress)
    if output is not None and str(output) != "-":
        formatters.note(f"{total:,} documents are in {output}")


def _lines(contents: "Contents", chosen: str) -> "Iterator[str]":
    """Return the lines of the documents in CSV or JSONL."""
    if chosen == "csv":
        fields = formatters.metadata_fields(entry.metadata for entry in contents.entries())
        return formatters.document_table(contents.documents(), fields)
    return (formatters.json_line(document.to_dict()) for document in contents.documents())
