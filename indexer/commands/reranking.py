"""The command `rerank`: the second stage of any engine that writes a run."""

import sys
from dataclasses import dataclass, fields
from typing import Annotated

import typer

from moverank.indexer import formatters, reading
from moverank.indexer.commands.failures import FAILED
from moverank.indexer.commands.option_records import with_records
from moverank.indexer.commands.shared_options import DEFAULT_INDEX, Gamma, Index, Json, MarkupIn, Rank
from moverank.indexer.errors import UsageError
from moverank.indexer.values.search_options import LONGEST_PASSAGE

app = typer.Typer()


@dataclass(frozen=True, slots=True)
class CandidateChoices:
    """The candidates and their queries."""

    run: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="The candidates: a TREC run, or JSONL with a query and its candidates on each line."
        ),
    ] = "-"
    queries: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The queries, as for `search --queries`; JSONL may hold them itself."),
    ] = None


@dataclass(frozen=True, slots=True)
class RerankChoices:
    """How the candidates are ranked, and the result printed."""

    embedding: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|gensim:NAME|hf:NAME",
            help="Word vectors for candidates with texts, instead of a collection. Without either, BM25 ranks them.",
        ),
    ] = None
    language: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Without a collection: the language of the texts, such as de. [default: en]"),
    ] = None
    k: Annotated[
        int | None,
        typer.Option("-k", min=1, help="How many of the first are exact; others may have bounds. [default: all]"),
    ] = None
    rank: Rank = None
    gamma: Gamma = None
    tag: Annotated[str, typer.Option(metavar="NAME", help="Name of the run that is written.")] = "moverank"
    full: Annotated[
        bool,
        typer.Option("--full", help="With --json or JSONL: add the whole text of each candidate of the collection."),
    ] = False
    highlight: Annotated[
        bool,
        typer.Option(
            "--highlight",
            help="With --json or JSONL: add where words of the query stand in the first K candidates, and words near "
            "to them.",
        ),
    ] = False
    passage: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=LONGEST_PASSAGE,
            metavar="WORDS",
            help="With --json or JSONL: add the passage of up to WORDS words that is nearest to the query, to the "
            "first K candidates.",
        ),
    ] = None
    markup: MarkupIn = None
    as_json: Json = False


@app.command(
    epilog="Examples: `moverank rerank --run bm25.trec --queries queries.jsonl -i docs.index > reranked.trec`  "
    "`engine | moverank rerank -k 10`"
)
@with_records
def rerank(*, given: CandidateChoices, index: Index = DEFAULT_INDEX, chosen: RerankChoices) -> None:
    """Rank the candidates of another engine, each query's as it is read; the result has the same form."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.reranking.lists import ListReranker, RerankOptions

    if given.run == given.queries == "-":
        raise UsageError("only one of --run and --queries can be standard input")
    batch = reading.read_batch(given.queries) if given.queries else []
    faults = [f"{query.id}: {query.problem}" for query in batch if query.problem]
    for fault in faults:
        formatters.note(fault)
    complete = not faults
    texts = {query.id: query.document for query in batch if not query.problem}
    options = RerankOptions(**{one.name: getattr(chosen, one.name) for one in fields(RerankOptions)})
    place = None if index == DEFAULT_INDEX and not Collection.exists(index) else index
    if chosen.language is not None and chosen.embedding is None and place is not None:
        raise UsageError("--language goes without -i, or with --embedding: a collection has its language")
    with ListReranker(place, chosen.embedding, texts, options) as reranker:
        for candidates, ranking in reranker.rank(reading.read_candidate_lists(given.run, chosen.markup)):
            if candidates.record is None and not chosen.as_json and (chosen.highlight or chosen.passage is not None):
                raise UsageError("a TREC run has no places: leave --highlight and --passage out, or add --json")
            faults = [f"{candidates.id}: {ranking.problem}"] if ranking.problem else candidates.notes
            for fault in faults:
                complete = False
                formatters.note(fault)
            if chosen.as_json:
                problems = {"problems": faults} if faults and not ranking.problem else {}
                formatters.print_object({"query": candidates.id} | ranking.to_dict() | problems)
                continue
            for line in formatters.reranked_lines(candidates, ranking, chosen.tag):
                typer.echo(formatters.printable(line) if candidates.record is None else formatters.printable_json(line))
    if not complete:
        sys.exit(FAILED)
