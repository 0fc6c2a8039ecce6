"""Commands that add documents: `index` and `threads`."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from moverank.indexer import formatters
from moverank.indexer.commands.completion import complete_format, complete_source
from moverank.indexer.commands.failures import FAILED, NOTHING_CHANGED, interruptible
from moverank.indexer.commands.option_records import with_records
from moverank.indexer.commands.shared_options import DEFAULT_INDEX, Index, Json, MarkupIn, SettingChoices, Wait
from moverank.indexer.errors import UsageError
from moverank.indexer.values.search_options import CONVERSION_SECONDS

if TYPE_CHECKING:
    from moverank.indexer.commands.update import RunSources
    from moverank.indexer.reading.inputs.vectors_by_key import VectorsByKey
    from moverank.indexer.reading.reading import Read

app = typer.Typer()

Paths = Annotated[list[str], typer.Argument(help="Files, directories, glob patterns, or - for standard input.")]


@dataclass(frozen=True, slots=True)
class ReadingChoices:
    """Which files are read, and how."""

    PANEL: ClassVar = "What is read"

    format: Annotated[
        str | None, typer.Option(help="Format of the files. [default: detected]", autocompletion=complete_format)
    ] = None
    key_field: Annotated[str | None, typer.Option(metavar="NAME", help="Field of a record's key.")] = None
    title_field: Annotated[str | None, typer.Option(metavar="NAME", help="Field of its title.")] = None
    text_field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Field of its text; repeatable for `index`, where each is a part of the document."
        ),
    ] = None
    label_field: Annotated[str | None, typer.Option(metavar="NAME", help="Field of its label.")] = None
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="In directories, read only files which match, such as *.md; repeatable."),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Leave out files and directories which match, such as drafts/; repeatable."
        ),
    ] = None
    no_ignore: Annotated[bool, typer.Option("--no-ignore", help="Read also what a .gitignore leaves out.")] = False
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Encoding of the texts, such as latin-1. [default: utf-8]")
    ] = None
    markup: MarkupIn = None

    def options(self, *of_threads: str | None) -> dict[str, Any]:
        """Return options of `read_documents`, or of `read_threads` with its fields: comments, thread, parent."""
        from moverank.indexer.reading import Fields, Selection

        texts = self.text_field or []
        if of_threads and len(texts) > 1:
            raise UsageError("the posts of threads have one text each: give --text-field once")
        text = texts[0] if texts else None
        comments, thread, parent = of_threads or (None, None, None)
        named = (self.key_field, self.title_field, text, self.label_field)
        return {
            "fields": Fields(*named, comments, tuple(texts[1:]), thread, parent),
            "format": self.format,
            "selection": Selection(tuple(self.include or ()), tuple(self.exclude or ()), not self.no_ignore),
            "encoding": self.encoding,
            "markup": self.markup,
        }


@dataclass(frozen=True, slots=True)
class ConversionChoices:
    """The program that extracts the text of other files."""

    PANEL: ClassVar = ReadingChoices.PANEL

    pre: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Extract the text of other files: 'pdftotext {} -'; {} is the file."),
    ] = None
    pre_glob: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Files for --pre, such as *.pdf; repeatable. [default: all which are no text]"
        ),
    ] = None
    pre_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Stop --pre when it takes longer for one file.")
    ] = CONVERSION_SECONDS


@dataclass(frozen=True, slots=True)
class SourceChoices:
    """Vectors and fields that a run adds to records, and the treatment of documents that the sources held before."""

    PANEL: ClassVar = "Sources and changes"

    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.npy",
            help="Vectors of the documents for --first-stage given: a matrix, whose row i belongs to line i of --keys. "
            "[default: the field `vector` of records]",
        ),
    ] = None
    keys: Annotated[
        str | None, typer.Option(metavar="FILE", help="With --vectors: the keys of its rows, one on each line.")
    ] = None
    prefix: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Put NAME/ in front of the keys of these sources, also in later runs. All runs from standard input "
            "with one NAME are one source.",
        ),
    ] = None
    set_fields: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Metadata of every record of this run, such as site=bikes, instead of its own field; repeatable.",
        ),
    ] = None
    replaces: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="The path was moved: the documents of SOURCE, as `info --source` prints it, belong to it from now on.",
            autocompletion=complete_source,
        ),
    ] = None
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Remove the documents that came from these sources and are no longer there."),
    ] = False
    yes: Annotated[bool, typer.Option("--yes", help="With --prune, remove even more than half of these documents.")] = (
        False
    )
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be added, updated and removed; change nothing.")
    ] = False
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad record and write nothing.")] = False
    dedupe: Annotated[
        float | None,
        typer.Option(
            metavar="D",
            help="Leave out new and changed documents within the distance D of another document.",
            show_default=False,
        ),
    ] = None

    def run(self, paths: list[str]) -> "RunSources":
        """Return the sources of a run over `paths`."""
        from moverank.indexer.commands.update import RunSources
        from moverank.indexer.reading.finding.origins import chosen_metadata

        more = chosen_metadata(self.set_fields or ())
        how: dict[str, Any] = {"prune": self.prune, "confirmed": self.yes, "dry_run": self.dry_run}
        how |= {"dedupe": self.dedupe, "strict": self.strict, "vectors": self._given_vectors()}
        return RunSources(paths, self.prefix, self.replaces, metadata=more, **how)

    def _given_vectors(self) -> "VectorsByKey | None":
        """Return the vectors of --vectors and --keys, None without them; UsageError for one without the other."""
        from moverank.indexer.reading.inputs.vectors_by_key import VectorsByKey

        if self.vectors is not None and self.keys is not None:
            return VectorsByKey.read(self.vectors, self.keys)
        if self.vectors is not None:
            raise UsageError("--vectors needs --keys FILE, the key of each row")
        if self.keys is not None:
            raise UsageError("--keys needs --vectors FILE.npy, the rows of these keys")
        return None


@dataclass(frozen=True, slots=True)
class TargetChoices:
    """The collection that is changed, and how."""

    index: Index = DEFAULT_INDEX
    wait: Wait = 0.0
    as_json: Json = False


@app.command(
    epilog="Examples: `moverank index notes/`  `moverank index docs.jsonl.gz -i news --embedding glove.txt.gz`"
)
@with_records
def index(
    paths: Paths,
    *,
    target: TargetChoices,
    reading: ReadingChoices,
    conversion: ConversionChoices,
    settings: SettingChoices,
    sources: SourceChoices,
) -> None:
    """Add or update documents: text, Markdown, HTML, notebooks, JSON, CSV/TSV, Parquet, Arrow, mail; .gz too."""
    from moverank.indexer.reading import Conversion, read_documents

    pre, globs = conversion.pre, tuple(conversion.pre_glob or ())
    converted = Conversion(pre or "", globs, conversion.pre_timeout) if pre is not None or globs else None
    read = partial(read_documents, paths, conversion=converted, **reading.options())
    _run(read, sources.run(paths), settings, {}, target)


@app.command(epilog="Examples: `moverank threads Posts.xml -i forum`  `moverank threads threads.jsonl.gz --gamma 0.5`")
@with_records
def threads(
    paths: Paths,
    *,
    target: TargetChoices,
    reading: ReadingChoices,
    comments_field: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Field of the list of posts after the first.", rich_help_panel=ReadingChoices.PANEL
        ),
    ] = None,
    thread_field: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Each record is a post of the thread which this field names, such as topic_id.",
            rich_help_panel=ReadingChoices.PANEL,
        ),
    ] = None,
    parent_field: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --thread-field: field of the post which a post answers, such as parent_id.",
            rich_help_panel=ReadingChoices.PANEL,
        ),
    ] = None,
    settings: SettingChoices,
    sources: SourceChoices,
) -> None:
    """Add or update forum threads, weighted by rank: JSON, tables, Discourse, Stack Exchange, mbox, Maildir."""
    from moverank.indexer.reading import read_threads
    from moverank.indexer.values.ranking_spec import PAPER_GAMMA

    read = partial(read_threads, paths, **reading.options(comments_field, thread_field, parent_field))
    _run(read, sources.run(paths), settings, {"gamma": PAPER_GAMMA}, target)


def _run(
    read: "Read",
    sources: "RunSources",
    settings: SettingChoices,
    defaults: Mapping[str, Any],
    target: TargetChoices,
) -> None:
    """Update a collection with the records that `read` returns for some sources, and print the changes.

    `defaults`: settings of a new collection that the user need not choose.
    """
    from moverank.indexer.commands.update import RunCallbacks, RunSettings, update

    chosen = RunSettings(settings.chosen(), defaults, settings.trust_pickle, target.wait)
    planned = formatters.Planned() if sources.dry_run else None
    with interruptible(NOTHING_CHANGED), formatters.Bars() as bars, formatters.RejectionNotes() as rejected:
        callbacks = RunCallbacks(rejected, bars, planned.add if planned else lambda _, __: None)
        updated = update(target.index, read, sources, chosen, callbacks)
    for sentence in updated.sentences():
        formatters.note(sentence)
    if target.as_json or not updated.refused:
        formatters.print_changes(
            updated.changes, updated.seconds, planned, as_json=target.as_json, learned=updated.learned
        )
    if updated.failed:
        sys.exit(FAILED)
