"""Commands that search: `search`, `similar` and `explain`."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from moverank.indexer import formatters, reading
from moverank.indexer.commands.completion import complete_key
from moverank.indexer.commands.failures import FAILED, interruptible
from moverank.indexer.commands.option_records import option_of, with_records
from moverank.indexer.commands.shared_options import (
    DEFAULT_INDEX,
    QUERY_PANEL,
    Gamma,
    Index,
    Json,
    Rank,
    Server,
    TableFormat,
    WhereOption,
    opened,
)
from moverank.indexer.errors import UsageError
from moverank.indexer.values.search_options import SHOWN, SearchOptions, silent
from moverank.rerank.errors import NoKnownWords

if TYPE_CHECKING:
    from moverank.indexer.operations.operated import Operated
    from moverank.indexer.reading.inputs.queries import BatchQuery
    from moverank.indexer.values.queries import QueryText
    from moverank.rerank.ranking import Ranking

app = typer.Typer()

_NAME = 200  # characters of a file's text that name it


@dataclass(frozen=True, slots=True)
class QueryChoices:
    """A query that is no text on the command line."""

    PANEL: ClassVar = QUERY_PANEL

    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="The query is this whole file; - is standard input.")
    ] = None
    thread: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The query is the thread in this file, with its ranks; - is standard input."),
    ] = None
    query_vector: Annotated[
        str | None,
        typer.Option(
            metavar="LIST|FILE",
            help="The query's vector where the first stage is `given`: a JSON list, a file of one, a .npy file, or - "
            "for standard input; with --queries a matrix, a row for each query.",
        ),
    ] = None

    def vector(self) -> Iterable[float] | None:
        """Return the vector of a single query, if one is given."""
        if self.query_vector is None:
            return None

        return reading.read_query_vector(self.query_vector)


@dataclass(frozen=True, slots=True)
class OutputChoices:
    """How rankings are printed, and how much of each hit."""

    PANEL: ClassVar = "Output"

    explain: Annotated[bool, option_of(SearchOptions, "explained", "--explain")] = False
    highlight: Annotated[
        bool,
        typer.Option(
            "--highlight",
            help="With --json, add where words of the query stand in each hit, and words near to them; a terminal "
            "marks them in any case, but not with --server.",
        ),
    ] = False
    passage: Annotated[int | None, option_of(SearchOptions, "passage")] = None
    full: Annotated[bool, option_of(SearchOptions, "full")] = False
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the hits, with their flows, as an HTML page.")
    ] = None
    proof: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write a proof that these are the nearest, which `verify` verifies: with --rank wmd --exact.",
        ),
    ] = None
    format: Annotated[
        Literal["text", "csv", "trec"],
        typer.Option(help="csv: a table with a header; trec: the hits of --queries as a TREC run."),
    ] = "text"
    as_json: Json = False

    @property
    def explained(self) -> bool:
        """Return whether the flows of hits are needed: text and pages show them in any case."""
        return self.html is not None or (self.explain if self.as_json else self.format == "text")

    def highlighted(self, server: str | None) -> bool | Literal["shown"]:
        """Return which highlights are needed: terminals and pages always show a collection's."""
        as_text = self.format == "text" and not self.as_json
        marked = self.html is not None or (server is None and as_text and sys.stdout.isatty())
        if (self.highlight and self.as_json) or (marked and (self.full or self.passage is not None)):
            return True
        return SHOWN if marked else False

    def check(self) -> None:
        """Raise UsageError for choices that do not go together, and an error for a page that cannot be written."""
        if self.as_json and self.format != "text":
            raise UsageError(f"--format {self.format} goes without --json")
        if self.format != "text" and (self.highlight or self.passage is not None):
            raise UsageError(f"--format {self.format} has no places: leave --highlight and --passage out")
        if self.html is not None:
            from moverank.indexer.files.atomic_write import check_writable

            check_writable(self.html)


@dataclass(frozen=True, slots=True)
class SimilarOutputChoices(OutputChoices):
    """The output choices of `similar`, whose queries cannot form a TREC run."""

    format: TableFormat = "text"


@app.command(
    epilog='Examples: `moverank search "mains plug gets hot"`  `moverank search --queries list.txt --json -k 3`  '
    '`moverank search "late train" --where label=travel --exact`  `moverank search --file notes.txt`'
)
@with_records
def search(
    query: Annotated[str | None, typer.Argument(help="The text to search for.")] = None,
    *,
    index: Index = DEFAULT_INDEX,
    where: WhereOption = None,
    queries: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Many queries: one a line, or JSONL records as `index` and `threads` read them; - is standard input.",
            rich_help_panel=QUERY_PANEL,
        ),
    ] = None,
    given: QueryChoices,
    server: Server = None,
    ranked: SearchOptions,
    output: OutputChoices,
) -> None:
    """Find the documents nearest to a text, a file or a thread."""
    if sum(one is not None for one in (query, queries, given.file, given.thread)) != 1:
        raise UsageError("give one of these: a query, --file FILE, --thread FILE, or --queries FILE")
    if output.format == "trec" and queries is None:
        raise UsageError("--format trec needs --queries")
    options = _options(ranked, where, output, server)
    if given.query_vector == "-" and "-" in (given.file, given.thread, queries):
        raise UsageError("standard input is either the query or its vector: write one of them to a file")
    batch, single = _queries(query, queries, given)
    _check_proven(output.proof, several=single is None, server=server)
    with _opened(index, server, options) as collection:
        if single is not None:
            search = _proving(collection, output.proof) if output.proof else collection.search
            ranking = search(single, options, vector=given.vector())
            _print_ranking(_named(single), _noting_cuts([ranking], options), output)
            if query is not None and ranking.unknown_words and server is None:
                _note_language(collection, query, ranking.unknown_words)
        else:
            rankings = collection.search_many([each.document for each in batch if not each.problem], options)
            named = [(each.id, each.text) for each in batch]
            _print_rankings(named, _noting_cuts(_with_bad_lines(batch, rankings), options), output)


@app.command(epilog="Examples: `moverank similar thread-17`  `moverank similar thread-17 thread-18 --gamma 0.5 --json`")
@with_records
def similar(
    keys: Annotated[
        list[str], typer.Argument(help="Keys of documents in the collection.", autocompletion=complete_key)
    ],
    *,
    index: Index = DEFAULT_INDEX,
    where: WhereOption = None,
    server: Server = None,
    ranked: SearchOptions,
    output: SimilarOutputChoices,
) -> None:
    """Find the documents nearest to one in the collection, which is excluded."""
    options = _options(ranked, where, output, server)
    _check_proven(output.proof, several=len(keys) > 1, server=server)
    with _opened(index, server, options) as collection:
        proven = [_proving(collection, output.proof)(None, options, similar=keys[0])] if output.proof else []
        if len(keys) == 1 and not output.as_json:
            ranking = proven[0] if proven else collection.similar(keys[0], options)
            _print_ranking(keys[0], _noting_cuts([ranking], options), output)
        else:
            rankings = iter(proven) if proven else collection.similar_many(keys, options)
            _print_rankings([(key, key) for key in keys], _noting_cuts(rankings, options), output)


@dataclass(frozen=True, slots=True)
class ExplainChoices:
    """What is explained, and how it is printed."""

    text: Annotated[
        bool, typer.Option("--text", help="The first argument is a text, even if it is also the key of a document.")
    ] = False
    rank: Rank = None
    gamma: Gamma = None
    why_not: Annotated[
        bool, typer.Option("--why-not", help="Show which bound excludes the document from the hits of a search.")
    ] = False
    k: Annotated[int, typer.Option("-k", min=1, help="With --why-not: number of hits of that search.")] = 10
    depth: Annotated[
        int | None,
        typer.Option(min=1, help="With --why-not: number of candidates of that search. [default: all]"),
    ] = None
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the flows as an HTML page.")] = None
    as_json: Json = False


@app.command(
    epilog='Examples: `moverank explain "mains plug gets hot" thread-17`  `moverank explain thread-17 thread-18`  '
    "`moverank explain --thread new.jsonl thread-17 --html why.html`"
)
@with_records
def explain(
    query: Annotated[
        str,
        typer.Argument(
            metavar="[TEXT|KEY]",
            help="A text, or the key of a document; left out with --file and --thread.",
            autocompletion=complete_key,
        ),
    ],
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="KEY",
            help="The key of the document that it is compared with.",
            show_default=False,
            autocompletion=complete_key,
        ),
    ] = None,
    *,
    index: Index = DEFAULT_INDEX,
    given: QueryChoices,
    chosen: ExplainChoices,
) -> None:
    """Show the flows behind one distance, of a text, a file or a document: which word moved where, at what cost."""
    from moverank.indexer.files.atomic_write import write_text
    from moverank.indexer.opening import open_index
    from moverank.indexer.values.queries import query_document

    first, key = _compared(query, key, given, text=chosen.text)
    ranked: dict[str, Any] = {"rank": chosen.rank, "gamma": chosen.gamma}
    options = SearchOptions(k=chosen.k, depth=chosen.depth, exact=chosen.depth is None, **ranked)
    with open_index(index) as collection:
        _prepare(collection, options)
        similar = first if isinstance(first, str) and not chosen.text and first in collection else None
        compared: dict[str, Any] = {"query": first} if similar is None else {"similar": similar}
        if (vector := given.vector()) is not None:
            compared["vector"] = vector
        with _key_or_text(first, similar):
            explanation = collection.explain(**compared, key=key, **ranked)
        why = collection.why_not(**compared, key=key, options=options) if chosen.why_not else None
        with collection.contents() as contents:
            source = contents.describe(similar).document if similar else query_document(first)
            target = contents.describe(key).document
        shown = formatters.as_written(explanation, source, target)
    if chosen.html is not None:
        write_text(chosen.html, formatters.explanation_page(shown, _named(first), key))
    if chosen.as_json:
        formatters.print_object(explanation.to_dict() | ({"why_not": why.to_dict()} if why else {}))
        return
    if why:
        formatters.print_view(formatters.why_not_view(why, "distance" if shown.total is None else "total"))
    formatters.print_view(formatters.explanation_view(shown, None if similar is None else (similar, key)))


def _compared(query: str, key: str | None, given: QueryChoices, *, text: bool) -> "tuple[QueryText, str]":
    """Return the two sides of `explain`: a text, a key or a document of a file, and a key. Raises UsageError."""
    if given.file is None and given.thread is None:
        if key is None:
            raise UsageError("give two: a text or the key of a document, then the key of the document to compare with")
        return query, key
    if key is not None or text or (given.file is not None and given.thread is not None):
        raise UsageError("give one of these: a text or key, --file FILE or --thread FILE; then the key of a document")
    return reading.single_query(given.file, given.thread) or "", query


@contextmanager
def _key_or_text(query: "QueryText", similar: str | None) -> Iterator[None]:
    """Extend the error for a text without known words: the text is no key either, but may be a mistyped one."""
    try:
        yield
    except NoKnownWords as error:
        if similar is None and isinstance(query, str):
            raise NoKnownWords(f"{error}, and no document has this key") from error
        raise


def _named(query: "QueryText") -> str:
    """Return the name of a query on a page: a text or key, a title, or the beginning of its first text."""
    if isinstance(query, str):
        return query
    from moverank.indexer.values.documents import title_and_texts

    return next((" ".join(text.split())[:_NAME] for text in title_and_texts(query) if text.strip()), "")


def _options(
    ranked: SearchOptions, where: list[str] | None, output: OutputChoices, server: str | None
) -> SearchOptions:
    """Return the options of a search, whose output is checked first."""
    output.check()
    shown: dict[str, Any] = {"explained": output.explained, "full": output.full, "passage": output.passage}
    return replace(ranked, **shown, where=where, highlight=output.highlighted(server))


def _queries(text: str | None, queries: str | None, given: QueryChoices) -> "tuple[list[BatchQuery], QueryText | None]":
    """Return the queries of a file of many, and the single one, None if there are many."""
    if text is not None:
        return [], text

    batch = reading.read_batch(queries) if queries is not None else []
    if given.query_vector is not None and queries is not None:
        batch = reading.with_vectors(batch, given.query_vector)
    return batch, reading.single_query(given.file, given.thread)


def _note_language(collection: "Any", query: str, unknown: Sequence[str]) -> None:
    """Print a note if a query with words without a vector is of another language than the collection."""
    from moverank.indexer.commands.text_notes import query_note

    if sentence := query_note(query, len(unknown), collection.settings):
        formatters.note(sentence)


def _noting_cuts(rankings: "Iterable[Ranking]", options: SearchOptions) -> "Iterator[Ranking]":
    """Yield rankings, and print a note after the last if `k` has ended lists of documents within a limit."""
    cut = 0
    for ranking in rankings:
        cut += options.max_distance is not None and len(ranking.hits) == options.k
        yield ranking
    if cut:
        ended = "the list" if cut == 1 else f"{cut:,} lists"
        formatters.note(f"-k {options.k} ended {ended}: more documents may be within the limit, a larger -k shows them")


def _check_proven(proof: Path | None, *, several: bool, server: str | None) -> None:
    """Raise UsageError for a search that has no `proof`: of several queries, or by a server."""
    if proof and several:
        raise UsageError("--proof is of one query: search for each of several by itself")
    if proof and server:
        raise UsageError("--proof is not written by a server: search in the collection's directory, or in its database")


def _proving(collection: "Operated", proof: Path) -> "Callable[..., Ranking]":
    """Return the search of a collection that writes a `proof`."""

    def search(*arguments: Any, **named: Any) -> "Ranking":
        with interruptible("there is no proof"), formatters.Bars() as bars:
            ranking = collection.prove(proof, *arguments, progress=bars, **named)
        formatters.note(f"the proof is in {proof}: `moverank verify {proof}`")
        return ranking

    return search


@contextmanager
def _opened(index: Path, server: str | None, options: SearchOptions) -> "Iterator[Operated]":
    """Open a collection, or a server's collection of the same name, and prepare it for searches with `options`."""
    with opened(index, server) as collection:
        _prepare(collection, options)
        yield collection


def _prepare(collection: "Operated", options: SearchOptions) -> None:
    """Compute the data that the first search by some rankings needs, with a progress bar."""
    with formatters.Bars() as bars:
        collection.prepare(options, progress=bars)


def _with_bad_lines(batch: "Sequence[BatchQuery]", rankings: "Iterator[Ranking]") -> "Iterator[Ranking]":
    """Yield a ranking for each line of a batch: for a good one the next of `rankings`, for a bad one its problem."""
    from moverank.rerank.ranking import Ranking

    for query in batch:
        if query.problem:
            yield Ranking((), certified=False, scope="collection", problem=query.problem)
        else:
            yield next(rankings)


def _with_page(
    queries: Sequence[tuple[str, str]], rankings: "Iterable[Ranking]", output: OutputChoices
) -> "Iterator[Ranking]":
    """Yield the rankings of queries (id, text or key) as they are printed, and write them as a page after the last."""
    if output.html is None:
        yield from rankings
        return
    from moverank.indexer.files.atomic_write import write_text

    answers = []
    for (id_, text), ranking in zip(queries, rankings, strict=True):
        answers.append((text or id_, ranking))
        yield _only_requested(ranking, output) if output.as_json else ranking
    write_text(output.html, formatters.ranking_page(answers))


def _only_requested(ranking: "Ranking", output: OutputChoices) -> "Ranking":
    """Return a ranking without what only a page shows of it."""
    unwanted: dict[str, Any] = {} if output.explain else {"flows": ()}
    if not output.highlight:
        unwanted |= {"highlights": (), "snippet_highlights": (), "highlighted": False}
        unwanted |= {} if output.passage else {"part_starts": ()}
    return replace(ranking, hits=tuple(replace(hit, **unwanted) for hit in ranking.hits))


def _print_ranking(name: str, rankings: "Iterable[Ranking]", output: OutputChoices) -> None:
    """Print the one of `rankings`, that of a single query, which a page calls `name`."""
    for shown in _with_page([("", name)], rankings, output):
        if output.format == "csv":
            formatters.print_hit_table([("", "")], [shown], several=False, progress=silent)
        else:
            formatters.print_ranking(shown, shown.seconds, flows=output.explain, as_json=output.as_json)


def _print_rankings(queries: Sequence[tuple[str, str]], rankings: "Iterable[Ranking]", output: OutputChoices) -> None:
    """Print the rankings of queries (id, text or key) as they are found; exit code 1 if one of them has a problem."""
    rankings = _with_page(queries, rankings, output)
    # Rankings on the same terminal would be interleaved with the bar.
    with formatters.Bars() if not sys.stdout.isatty() else nullcontext(silent) as bars:
        if output.format == "trec":
            complete = formatters.print_run(queries, rankings, progress=bars)
        elif output.format == "csv":
            complete = formatters.print_hit_table(queries, rankings, several=True, progress=bars)
        else:
            complete = formatters.print_rankings(
                queries, rankings, flows=output.explain, as_json=output.as_json, progress=bars
            )
    if not complete:
        sys.exit(FAILED)
