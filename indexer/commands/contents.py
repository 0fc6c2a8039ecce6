"""Commands that show what a collection holds: `list`, `show` and `export`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from moverank.indexer.commands.completion import complete_key
from moverank.indexer.commands.shared_options import DEFAULT_INDEX, Index, Json, Where

app = typer.Typer()


@app.command(
    "list", epilog="Examples: `moverank list -n 20`  `moverank list --where 'year>=2019' --where label=travel`"
)
def list_documents(
    index: Index = DEFAULT_INDEX,
    where: Where = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=0, help="Show only the first so many documents. [default: all]")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the documents, one a line: key, title, label and metadata."""
    from moverank.indexer.cluster.opening import open_listing
    from moverank.indexer.formatters.document_views import entry_line
    from moverank.indexer.formatters.json_objects import entry_object
    from moverank.indexer.formatters.output import note, print_object

    aligned = sys.stdout.isatty()
    with open_listing(index, where) as contents:
        for entry in contents.entries(limit):
            if as_json:
                print_object(entry_object(entry))
            else:
                typer.echo(entry_line(entry, aligned=aligned))
        shown, total = len(contents), contents.total
    if as_json:
        return
    if limit is not None and limit < shown:
        note(f"{limit:,} of {shown:,} documents are shown")
    elif where:
        note(f"{shown:,} of {total:,} documents pass --where")


@app.command(epilog="Examples: `moverank show thread-17`  `moverank show thread-17 --json`")
def show(
    keys: Annotated[list[str], typer.Argument(help="Keys of documents.", autocompletion=complete_key)],
    index: Index = DEFAULT_INDEX,
    as_json: Json = False,
) -> None:
    """Show documents as they are stored: metadata, words without a vector, and the whole text with its ranks."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.formatters.document_views import document_lines
    from moverank.indexer.formatters.json_objects import description_object
    from moverank.indexer.formatters.output import print_object, print_text

    with Collection.open(index) as collection, collection.contents() as contents:
        descriptions = [contents.describe(key) for key in keys]
    for number, description in enumerate(descriptions):
        if as_json:
            print_object(description_object(description))
            continue
        if number:
            typer.echo()
        for line in document_lines(description):
            print_text(line)


@app.command(epilog="Examples: `moverank export -o forum.jsonl.gz`  `moverank export --where label=travel`")
def export(
    index: Index = DEFAULT_INDEX,
    where: Where = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="File to write; .gz is compressed. [default: print]"),
    ] = None,
) -> None:
    """Write documents as JSONL, from which `index` or `threads` makes the same documents again."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.formatters.exported_lines import write_lines
    from moverank.indexer.formatters.output import note, print_object
    from moverank.indexer.formatters.progress_bars import Bars
    from moverank.indexer.readers.stored_record import record_of

    with Collection.open(index) as collection, collection.contents(where) as contents:
        records, total = map(record_of, contents.documents()), len(contents)
        if output is None or str(output) == "-":
            for record in records:
                print_object(record)
            return
        with Bars() as bars:
            write_lines(output, records, total, bars)
    note(f"{total:,} documents are in {output}")
