"""Commands that search: `search`, `similar` and `explain`."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from moverank.indexer.commands.completion import complete_key
from moverank.indexer.commands.failures import FAILED
from moverank.indexer.commands.shared_options import (
    DEFAULT_INDEX,
    SEARCH_DEFAULTS,
    Budget,
    Depth,
    Distance,
    Exact,
    Flows,
    Full,
    Gamma,
    GroupBy,
    HtmlPage,
    Index,
    Json,
    K,
    MaxDistance,
    QueryFile,
    QueryThread,
    QueryVector,
    Rank,
    Server,
    TableFormat,
    Where,
)
from moverank.indexer.options import SearchOptions

if TYPE_CHECKING:
    from moverank.indexer.cluster.cluster import Cluster
    from moverank.indexer.collection import Collection
    from moverank.indexer.ranked_texts import QueryText
    from moverank.indexer.readers.queries import BatchQuery
    from moverank.indexer.server.client import RemoteCollection
    from moverank.rerank.ranking import Ranking

    _Searchable = Collection | Cluster | RemoteCollection

app = typer.Typer()

_NAME = 200  # characters of a file's text that name it


@app.command(
    epilog='Examples: `moverank search "mains plug gets hot"`  `moverank search --queries list.txt --json -k 3`  '
    '`moverank search "late train" --where label=travel --exact`  `moverank search --file notes.txt`'
)
def search(  # over 40 lines: most of them are its options
    query: Annotated[str | None, typer.Argument(help="The text to search for.")] = None,
    index: Index = DEFAULT_INDEX,
    k: K = SEARCH_DEFAULTS.k,
    depth: Depth = SEARCH_DEFAULTS.depth,
    exact: Exact = SEARCH_DEFAULTS.exact,
    rank: Rank = SEARCH_DEFAULTS.rank,
    distance: Distance = SEARCH_DEFAULTS.distance,
    gamma: Gamma = SEARCH_DEFAULTS.gamma,
    where: Where = None,
    max_distance: MaxDistance = SEARCH_DEFAULTS.max_distance,
    budget: Budget = SEARCH_DEFAULTS.budget,
    explain: Flows = False,
    full: Full = False,
    group_by: GroupBy = None,
    html: HtmlPage = None,
    queries: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Many queries: one a line, or JSONL records as `index` and `threads` read them; - is standard input.",
        ),
    ] = None,
    file: QueryFile = None,
    thread: QueryThread = None,
    query_vector: QueryVector = None,
    format: Annotated[  # noqa: A002 - the option's name
        Literal["text", "csv", "trec"],
        typer.Option("--format", help="csv: a table with a header; trec: the hits of --queries as a TREC run."),
    ] = "text",
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Find the documents nearest to a text, a file or a thread."""
    from moverank.indexer.errors import UsageError

    if sum(given is not None for given in (query, queries, file, thread)) != 1:
        raise UsageError("give one of these: a query, --file FILE, --thread FILE, or --queries FILE")
    if format == "trec" and queries is None:
        raise UsageError("--format trec needs --queries")
    output = _output(format, html, flows=explain, as_json=as_json)
    options = SearchOptions(
        k=k,
        depth=depth,
        exact=exact,
        rank=rank,
        distance=distance,
        gamma=gamma,
        where=where,
        max_distance=max_distance,
        budget=budget,
        explained=output.explained,
        full=full,
        group_by=group_by,
    )
    if query_vector == "-" and "-" in (file, thread, queries):
        raise UsageError("standard input is either the query or its vector: write one of them to a file")
    batch, single = _queries(query, queries, file, thread, query_vector)
    with _opened(index, server, options) as collection:
        if single is not None:
            ranking = collection.search(single, options, vector=_vector(query_vector))
            _print_ranking(_named(single), ranking, output, collection)
        else:
            rankings = collection.search_many([each.document for each in batch if not each.problem], options)
            named = [(each.id, each.text) for each in batch]
            answers = _with_bad_lines(batch, rankings)
            _print_rankings(named, answers, output, collection)


@app.command(epilog="Examples: `moverank similar thread-17`  `moverank similar thread-17 thread-18 --gamma 0.5 --json`")
def similar(
    keys: Annotated[
        list[str], typer.Argument(help="Keys of documents in the collection.", autocompletion=complete_key)
    ],
    index: Index = DEFAULT_INDEX,
    k: K = SEARCH_DEFAULTS.k,
    depth: Depth = SEARCH_DEFAULTS.depth,
    exact: Exact = SEARCH_DEFAULTS.exact,
    rank: Rank = SEARCH_DEFAULTS.rank,
    distance: Distance = SEARCH_DEFAULTS.distance,
    gamma: Gamma = SEARCH_DEFAULTS.gamma,
    where: Where = None,
    max_distance: MaxDistance = SEARCH_DEFAULTS.max_distance,
    budget: Budget = SEARCH_DEFAULTS.budget,
    explain: Flows = False,
    full: Full = False,
    group_by: GroupBy = None,
    html: HtmlPage = None,
    format: TableFormat = "text",  # noqa: A002 - the option's name
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Find the documents nearest to one in the collection, which is excluded."""
    output = _output(format, html, flows=explain, as_json=as_json)
    options = SearchOptions(
        k=k,
        depth=depth,
        exact=exact,
        rank=rank,
        distance=distance,
        gamma=gamma,
        where=where,
        max_distance=max_distance,
        budget=budget,
        explained=output.explained,
        full=full,
        group_by=group_by,
    )
    with _opened(index, server, options) as collection:
        if len(keys) == 1 and not as_json:
            _print_ranking(keys[0], collection.similar(keys[0], options), output, collection)
        else:
            rankings = collection.similar_many(keys, options)
            _print_rankings([(key, key) for key in keys], rankings, output, collection)


@app.command(
    epilog='Examples: `moverank explain "mains plug gets hot" thread-17`  `moverank explain thread-17 thread-18`  '
    "`moverank explain --thread new.jsonl thread-17 --html why.html`"
)
def explain(  # over 40 lines: most of them are its options
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
    index: Index = DEFAULT_INDEX,
    text: Annotated[
        bool, typer.Option("--text", help="The first argument is a text, even if it is also the key of a document.")
    ] = False,
    file: QueryFile = None,
    thread: QueryThread = None,
    rank: Rank = None,
    gamma: Gamma = None,
    why_not: Annotated[
        bool, typer.Option("--why-not", help="Show which bound excludes the document from the hits of a search.")
    ] = False,
    k: Annotated[
        int, typer.Option("-k", min=1, help="With --why-not: number of hits of that search.")
    ] = SEARCH_DEFAULTS.k,
    depth: Annotated[
        int | None,
        typer.Option(min=1, help="With --why-not: number of candidates of that search. [default: all]"),
    ] = None,
    query_vector: QueryVector = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the flows as an HTML page.")] = None,
    as_json: Json = False,
) -> None:
    """Show the flows behind one distance, of a text, a file or a document: which word moved where, at what cost."""
    from moverank.indexer.cluster.opening import open_index
    from moverank.indexer.files.atomic_write import write_text
    from moverank.indexer.formatters.html_page import explanation_page
    from moverank.indexer.formatters.json_objects import why_not_object
    from moverank.indexer.formatters.output import print_object
    from moverank.indexer.formatters.terminal import explanation_view, print_view, why_not_view

    first, key = _compared(query, key, file, thread, text=text)
    options = SearchOptions(k=k, depth=depth, exact=depth is None, rank=rank, gamma=gamma)
    with open_index(index) as collection:
        _prepare(collection, options)
        similar = first if isinstance(first, str) and not text and first in collection else None
        asked: dict[str, Any] = {"query": first} if similar is None else {"similar": similar}
        if query_vector is not None:
            asked["vector"] = _vector(query_vector)
        with _key_or_text(first, similar):
            explanation = collection.explain(**asked, key=key, gamma=gamma, rank=rank)
        why = collection.why_not(**asked, key=key, options=options) if why_not else None
    if html is not None:
        write_text(html, explanation_page(explanation, _named(first), key))
    if as_json:
        document = {} if similar is None else {"query_key": similar}
        print_object(document | explanation.to_dict() | (why_not_object(why) if why else {}))
        return
    print_view(explanation_view(explanation, None if similar is None else (similar, key)))
    if why:
        print_view(why_not_view(why))


def _compared(
    query: str, key: str | None, file: str | None, thread: str | None, *, text: bool
) -> "tuple[QueryText, str]":
    """Return the two sides of `explain`: a text, a key or a document of a file, and a key. Raises UsageError."""
    from moverank.indexer.errors import UsageError
    from moverank.indexer.readers.queries import single_query

    if file is None and thread is None:
        if key is None:
            raise UsageError("give two: a text or the key of a document, then the key of the document to compare with")
        return query, key
    if key is not None or text or (file is not None and thread is not None):
        raise UsageError("give one of these: a text or key, --file FILE or --thread FILE; then the key of a document")
    return single_query(file, thread) or "", query


@contextmanager
def _key_or_text(query: "QueryText", similar: str | None) -> Iterator[None]:
    """Add to the error of a text without known words that it is no key either: it may be a mistyped one."""
    from moverank.rerank.errors import NoKnownWords

    try:
        yield
    except NoKnownWords as error:
        if similar is None and isinstance(query, str):
            raise NoKnownWords(f"{error}, and no document has this key") from error
        raise


def _named(query: "QueryText") -> str:
    """Return what a page calls a query: a text or key, a title, or the beginning of its first text."""
    if isinstance(query, str):
        return query
    texts = [query.title, *(part.text for part in query.parts)]
    return next((" ".join(text.split())[:_NAME] for text in texts if text.strip()), "")


def _queries(
    text: str | None, queries: str | None, file: str | None, thread: str | None, query_vector: str | None
) -> "tuple[list[BatchQuery], QueryText | None]":
    """Return the queries of a file of many, and the single one, None if there are many."""
    if text is not None:
        return [], text
    from moverank.indexer.readers.queries import read_batch, single_query
    from moverank.indexer.readers.query_vectors import with_vectors

    batch = read_batch(queries) if queries is not None else []
    if query_vector is not None and queries is not None:
        batch = with_vectors(batch, query_vector)
    return batch, single_query(file, thread)


def _vector(query_vector: str | None) -> Iterable[float] | None:
    """Return the vector of a single query in a file, if one is given."""
    if query_vector is None:
        return None
    from moverank.indexer.readers.query_vectors import read_query_vector

    return read_query_vector(query_vector)


@contextmanager
def _opened(index: Path, server: str | None, options: SearchOptions) -> "Iterator[_Searchable]":
    """Open a collection, or that of the same name which a server has."""
    if server:
        from moverank.indexer.files.location import collection_name
        from moverank.indexer.server.client import RemoteCollection

        name = None if index == DEFAULT_INDEX else collection_name(index)
        yield RemoteCollection(server, name, os.environ.get("MOVERANK_TOKEN"))
        return
    from moverank.indexer.cluster.opening import open_index

    with open_index(index) as collection:
        _prepare(collection, options)
        yield collection


def _prepare(collection: "Collection | Cluster", options: SearchOptions) -> None:
    """Compute with a progress bar what the first search by some rankings needs."""
    from moverank.indexer.formatters.progress_bars import Bars

    with Bars() as bars:
        collection.prepare(options, progress=bars)


def _with_bad_lines(batch: "Sequence[BatchQuery]", rankings: "Iterator[Ranking]") -> "Iterator[Ranking]":
    """Yield a ranking for each line of a batch: for a good one the next of `rankings`, for a bad one its problem."""
    from moverank.rerank.ranking import Ranking

    for query in batch:
        if query.problem:
            yield Ranking((), certified=False, scope="collection", problem=query.problem)
        else:
            yield next(rankings)


@dataclass(frozen=True, slots=True)
class _Output:
    """How rankings are printed: text, json, csv or trec, perhaps with all `flows`; `html`: the file of a page."""

    format: str
    html: Path | None
    flows: bool

    @property
    def explained(self) -> bool:
        """Return whether the flows of hits are needed: text and pages show them in any case."""
        return self.format == "text" or self.html is not None or (self.flows and self.format == "json")


def _output(chosen: str, html: Path | None, *, flows: bool, as_json: bool) -> _Output:
    """Return the output that --format, --html, --explain and --json request; UsageError if they do not go together."""
    from moverank.indexer.errors import UsageError

    if as_json and chosen != "text":
        raise UsageError(f"--format {chosen} goes without --json")
    if html is not None:
        from moverank.indexer.files.atomic_write import check_writable

        check_writable(html)
    return _Output("json" if as_json else chosen, html, flows)


def _with_page(
    queries: Sequence[tuple[str, str]], rankings: "Iterable[Ranking]", output: _Output, collection: "_Searchable"
) -> "Iterator[Ranking]":
    """Yield the rankings of queries (id, text or key) as they are printed, and write them as a page after the last."""
    if output.html is None:
        yield from rankings
        return
    from moverank.indexer.files.atomic_write import write_text
    from moverank.indexer.formatters.html_page import ranking_page

    answers = []
    for (id_, text), ranking in zip(queries, rankings, strict=True):
        answers.append((text or id_, ranking))
        plain = output.format == "json" and not output.flows
        yield replace(ranking, hits=tuple(replace(hit, flows=()) for hit in ranking.hits)) if plain else ranking
    settings = getattr(collection, "settings", None)  # those of a server are not known here
    write_text(output.html, ranking_page(answers, settings.stop_words if settings else ()))


def _print_ranking(name: str, ranking: "Ranking", output: _Output, collection: "_Searchable") -> None:
    """Print the ranking of a single query, which a page calls `name`."""
    from moverank.indexer.formatters.output import print_hit_table, print_ranking
    from moverank.indexer.progress import silent

    for shown in _with_page([("", name)], [ranking], output, collection):
        if output.format == "csv":
            print_hit_table([("", "")], [shown], several=False, progress=silent)
        else:
            print_ranking(shown, shown.seconds, flows=output.flows, as_json=output.format == "json")


def _print_rankings(
    queries: Sequence[tuple[str, str]], rankings: "Iterable[Ranking]", output: _Output, collection: "_Searchable"
) -> None:
    """Print the rankings of queries (id, text or key) as they are found; exit code 1 if one of them has a problem."""
    from moverank.indexer.formatters.output import print_hit_table, print_rankings, print_run
    from moverank.indexer.formatters.progress_bars import Bars
    from moverank.indexer.progress import silent

    rankings = _with_page(queries, rankings, output, collection)
    # Rankings on the same terminal would be interleaved with the bar.
    with Bars() if not sys.stdout.isatty() else nullcontext(silent) as bars:
        if output.format == "trec":
            complete = print_run(queries, rankings, progress=bars)
        elif output.format == "csv":
            complete = print_hit_table(queries, rankings, several=True, progress=bars)
        else:
            as_json = output.format == "json"
            complete = print_rankings(queries, rankings, flows=output.flows, as_json=as_json, progress=bars)
    if not complete:
        sys.exit(FAILED)
