"""Commands that maintain a collection: `remove`, `refit`, `info`, `check`, `backup`, `copy` and `upgrade`."""

import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from moverank.indexer import formatters, operations
from moverank.indexer.commands.completion import complete_key, complete_source
from moverank.indexer.commands.failures import FAILED, NOTHING_CHANGED, committing, interruptible
from moverank.indexer.commands.option_records import with_records
from moverank.indexer.commands.shared_options import (
    DEFAULT_INDEX,
    Index,
    Json,
    Setting,
    TrustPickle,
    Wait,
    WhereOption,
    chosen_settings,
)
from moverank.indexer.errors import UsageError

app = typer.Typer()


@dataclass(frozen=True, slots=True)
class RemovedChoices:
    """The documents to remove that are not named by key."""

    where: WhereOption = None
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="All documents of a source, as `info --source` prints it.",
            autocompletion=complete_source,
        ),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Remove nothing; report how many documents would be removed.")
    ] = False
    yes: Annotated[bool, typer.Option("--yes", help="Remove also if all documents pass --where.")] = False


@app.command(epilog="Examples: `moverank remove thread-17 thread-18`  `moverank remove --where 'year<2010' --dry-run`")
@with_records
def remove(
    keys: Annotated[
        list[str] | None, typer.Argument(help="Keys of documents.", show_default=False, autocompletion=complete_key)
    ] = None,
    *,
    index: Index = DEFAULT_INDEX,
    removed: RemovedChoices,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Remove documents by key, or by --source and --where; if any key is unknown, nothing is removed."""
    from moverank.indexer.opening import open_index

    where, source, dry_run = removed.where, removed.source, removed.dry_run
    if bool(keys) == bool(where or source):
        raise UsageError("name the documents to remove either by their keys, or by --where, --source or both")
    began = perf_counter()
    opened = open_index(index, wait=wait)
    with opened as collection, interruptible(NOTHING_CHANGED), committing(collection), formatters.Bars() as bars:
        chosen: dict[str, Any] = {"where": where, "source": source, "everything": removed.yes, "dry_run": dry_run}
        changes = collection.remove(keys or (), **chosen, progress=bars)
        documents = len(collection)
    if not dry_run:
        formatters.print_changes(changes, perf_counter() - began, as_json=as_json)
    elif as_json:
        formatters.print_object({"removed": changes.removed, "documents": documents, "dry_run": True})
    else:
        typer.echo(f"{changes.removed:,} of {documents:,} documents would be removed")


@dataclass(frozen=True, slots=True)
class RefitChoices:
    """What is changed before the first stage is fitted."""

    vectors: Annotated[
        bool, typer.Option("--vectors", help="Train the word vectors again on all texts of the collection.")
    ] = False
    embedding: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|gensim:NAME|hf:NAME|train|lsi",
            help="Replace the word vectors: by a file or a model, as for `index`, or by training.",
        ),
    ] = None
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="Split all texts again, as texts of this language: its code, none, or auto (found from the texts).",
        ),
    ] = None
    setting: Setting = None
    trust_pickle: TrustPickle = False

    def chosen(self) -> dict[str, Any]:
        """Return the options of `Collection.refit`."""
        chosen = chosen_settings(self.setting, ("train_options", "normalize", "stop_words", "segmentation"))
        own = ("embedding", "vectors", "language", "trust_pickle")
        return chosen | {name: getattr(self, name) for name in own}


@app.command(epilog="Examples: `moverank refit -i forum --vectors`  `moverank refit -i forum --language de`")
@with_records
def refit(*, index: Index = DEFAULT_INDEX, changed: RefitChoices, wait: Wait = 0.0, as_json: Json = False) -> None:
    """Fit the first stage to all documents; with --vectors, --embedding or --language, change vectors or words first.

    New documents are encoded by the last fit.
    """
    from moverank.indexer.commands.vector_notes import refit_notes
    from moverank.indexer.opening import open_index

    began, settings = perf_counter(), changed.chosen()
    of_run = {"language": changed.language is not None, "vectors": changed.vectors or changed.embedding is not None}
    with (
        open_index(index, wait=wait) as collection,
        interruptible(NOTHING_CHANGED),
        committing(collection),
        formatters.Bars() as bars,
    ):
        collection.refit(progress=bars, **settings)
        info = collection.info()
        if "shards" not in info:
            for sentence in refit_notes(collection, info["coverage"], **of_run):
                formatters.note(sentence)
    if as_json:
        formatters.print_object(info)
        return
    for line in formatters.refit_lines(info, perf_counter() - began, **of_run):
        typer.echo(line)


@app.command(epilog="Examples: `moverank info -i forum --json`  `moverank info -i forum --source`")
def info(
    index: Index = DEFAULT_INDEX,
    source: Annotated[
        bool, typer.Option("--source", help="List the sources of the documents, with their numbers of documents.")
    ] = False,
    digest: Annotated[
        str | None,
        typer.Option(
            metavar="RANK",
            help="Compute the digest that proofs of searches by RANK have, such as wmd; it reads all documents.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show sizes, settings and revision."""
    if digest is not None:
        _print_digest(index, digest, source=source, as_json=as_json)
        return
    from moverank.indexer.opening import index_info, open_index

    if source:
        with open_index(index) as collection:
            info = formatters.sources_object(collection.sources())
    else:
        info = index_info(index)
    if as_json:
        formatters.print_object(info)
    else:
        formatters.print_view(formatters.sources_view(info["sources"]) if source else formatters.info_view(info))


def _print_digest(index: Path, rank: str, *, source: bool, as_json: bool) -> None:
    """Print the digest of a collection in one place by a ranking."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.opening import open_index

    with open_index(index) as collection:
        if source or not isinstance(collection, Collection):
            raise UsageError("--digest is of a collection in one place, not in shards, and goes without --source")
        found = collection.digest(rank)
    if as_json:
        formatters.print_object({"digest": found, "ranking": rank})
    else:
        typer.echo(found)


@app.command(epilog="Examples: `moverank check -i forum`  `moverank check -i forum --repair`")
def check(
    index: Index = DEFAULT_INDEX,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what can be repaired.")] = False,
    searches: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Also prove N searches for documents of the collection, and verify each proof."
        ),
    ] = 0,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Verify the database, the word vectors, and that all derived files agree with them."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.maintenance.check import check_collection
    from moverank.indexer.maintenance.repair import repair as repair_collection

    check_searches = operations.operation_named("check-searches")(searches=searches) if searches else None
    with interruptible("what was repaired is kept" if repair else NOTHING_CHANGED), formatters.Bars() as bars:
        report = repair_collection(index, wait=wait, progress=bars) if repair else check_collection(index)
        problems = report.sentences()
        if check_searches and problems:
            problems = (*problems, "no search was proven: searches are proven once nothing else is wrong")
        elif check_searches:
            with Collection.open(index) as collection:
                problems = collection.run(check_searches, progress=bars).problems
    formatters.print_check(problems, as_json=as_json)
    if problems:
        sys.exit(FAILED)


@app.command(epilog="Example: `moverank backup /backups/forum-monday -i forum`")
def backup(
    directory: Annotated[Path, typer.Argument(help="Directory of the copy; it must not exist yet.")],
    index: Index = DEFAULT_INDEX,
    as_json: Json = False,
) -> None:
    """Copy one consistent state of the collection, even while other processes write to it."""
    from moverank.indexer.maintenance.backup import back_up

    with interruptible("there is no backup"), formatters.Bars() as bars:
        revision = back_up(index, directory, progress=bars)
    if as_json:
        formatters.print_object({"directory": str(directory), "revision": revision})
    else:
        typer.echo(f"revision {revision} is in {directory}")


@app.command(epilog="Example: `moverank copy forum 'postgresql://user@host/db?schema=forum'`")
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A collection: a directory or the URL of a database.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The copy: a new directory, or an empty schema.")],
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Copy one consistent state of a collection to a directory or into a database: both kinds answer alike."""
    from moverank.indexer.files.location import collection_directory, display_name
    from moverank.indexer.maintenance.backup import copy_collection

    with interruptible("there is no copy"), formatters.Bars() as bars:
        revision = copy_collection(source, target, wait=wait, progress=bars)
    place = display_name(collection_directory(target))
    if as_json:
        formatters.print_object({"place": place, "revision": revision})
    else:
        typer.echo(f"revision {revision} is in {place}")


@app.command(epilog="Examples: `moverank upgrade -i forum --dry-run`  `moverank upgrade -i forum --wait 60`")
def upgrade(
    index: Index = DEFAULT_INDEX,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would be changed.")] = False,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Change the tables of a collection of an earlier version, for good: earlier versions cannot read it afterwards."""
    from moverank.indexer.files.location import collection_directory, display_name
    from moverank.indexer.maintenance.upgrade import upgrade as upgrade_collection
    from moverank.indexer.opening import places_of

    for named in places_of(index):
        place = index if named == str(index) else collection_directory(named)
        with interruptible("what was upgraded stays so, the rest was not changed"):
            before, steps = upgrade_collection(place, dry_run=dry_run, wait=wait)
        if as_json:
            formatters.print_object(
                {"place": display_name(place), "schema": before, "steps": steps, "dry_run": dry_run}
            )
        elif steps:
            done = "would be upgraded" if dry_run else "was upgraded"
            typer.echo(f"{display_name(place)} {done} from schema {before} to {', '.join(steps)}")
        else:
            typer.echo(f"{display_name(place)} has schema {before}, that of this version: nothing to do")
