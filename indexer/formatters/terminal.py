"""Results of the commands on standard output, notes on standard error."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.filesize import decimal
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moverank.indexer.formatters.csv_tables import hit_table
from moverank.indexer.formatters.document_lines import (
    explanation_words,
    metadata_line,
    replaced_words,
    uncompared_words,
)
from moverank.indexer.formatters.escaping import isolated, printable, printable_json, without_isolates
from moverank.indexer.formatters.marking import Segments, is_same, marked_text, marked_title
from moverank.indexer.formatters.sentences import (
    Planned,
    Share,
    changes_line,
    exclusion,
    legend,
    passage_note,
    percentage,
    ranking_value,
    shares,
    specified,
    top_share,
    verdict,
    work_done,
)
from moverank.indexer.values.scope import UNKNOWN_SOURCE
from moverank.indexer.values.search_options import Progress
from moverank.rerank.ranking import Flow, Hit, Ranking

if TYPE_CHECKING:
    from moverank.indexer.values.documents import Changes
    from moverank.rerank.distance.explain import Explanation, WhyNot


_INDENT = (0, 0, 0, 12)
_SHORT = 4  # flows of a hit that are shown unless all are requested
_BAR = 20  # characters
_SAME, _NEAR = "bold underline", "not bold dim underline"
"""The styles of words of the query, and of words that count as one or are near to one."""


def ranking_view(ranking: Ranking, seconds: float, *, flows: bool = False) -> RenderableType:
    """Return the hits of `ranking`, which took `seconds`, and its certificate.

    With `flows`, all flows of each hit are shown, else the flows of most mass at least cost.
    """
    lines: list[RenderableType] = [Text(line, style="yellow") for line in replaced_words(ranking.respelled_words)]
    for rank, hit in enumerate(ranking.hits, start=1):
        measured, value = ranking_value(hit)
        head = Text.assemble((f"{rank:>3} ", "bold"), (f"{measured} {value:.4f}  ", "cyan"), _title(hit))
        if hit.label:
            head.append(f"  [{isolated(hit.label)}]", "magenta")
        if hit.percentile:
            head.append(f"  {top_share(hit.percentile)}", "green")
        lines.append(head)
        if hit.title:
            lines.append(Padding(Text(printable(hit.key), style="dim"), _INDENT, expand=False))
        if hit.metadata:
            lines.append(Padding(Text(metadata_line(hit.metadata), style="dim"), _INDENT, expand=False))
        if hit.costs:
            lines.append(
                Padding(Text(_costs(shares(ranking.terms, hit.parts, hit.costs)), style="cyan"), _INDENT, expand=False)
            )
        if text := marked_text(hit):
            lines.append(Padding(_marked(text), _INDENT, expand=False))
        if hit.passage:
            lines.append(Padding(Text(passage_note(hit.passage), style="dim"), _INDENT, expand=False))
        if hit.flows:
            view = flow_table(hit.flows) if flows else _short_flows(hit.flows)
            lines.append(Padding(view, _INDENT, expand=False))
    words = (Text(line, style="yellow") for line in uncompared_words(ranking))
    return Group(*lines, Text(_verdict(ranking, seconds), style="dim"), *words)


def _title(hit: Hit) -> Text:
    """Return the title of a hit in bold, or its key; words of the query are underlined."""
    name, shown = isolated(hit.title or hit.key), _marked(marked_title(hit), printable)
    start = name.find(shown.plain)
    return Text.assemble(name[:start], shown, name[start + len(shown.plain) :], style="bold")


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def _marked(pieces: Segments, shown: Callable[[str], str] = _lines) -> Text:
    """Return a text whose words of the query are bold and underlined; words near to one are fainter.

    `shown` makes the pieces printable.
    """
    text = Text()
    for piece, mark in pieces:
        style = "" if mark is None else _SAME if is_same(mark) else _NEAR
        text.append(shown(piece), style)
    return text


def _costs(terms: Iterable[Share]) -> str:
    """Return the parts of a total, in words; they add up to it."""
    return "costs: " + " + ".join(f"{printable(scale.name)} {cost:.4f}" for scale, _, cost in terms)


def _short_flows(flows: Sequence[Flow]) -> Text:
    """Return the flows of most mass at least cost; a word that did not move is shown once."""
    heaviest = sorted(flows, key=lambda flow: (-flow.mass / (1 + flow.cost), flow.source))[:_SHORT]
    pairs = [[isolated(word) for word in dict.fromkeys((flow.source, flow.target))] for flow in heaviest]
    return Text(",  ".join(map(" → ".join, pairs)), style="green")


def _verdict(ranking: Ranking, seconds: float) -> str:
    """Return the certificate of a ranking, and the work it took."""
    proven = f"{verdict(ranking)}. {work_done(ranking, seconds)}."
    return (
        f"{proven}\n{legend(ranking)}: {printable(specified(ranking))}."
        if ranking.ranked_by and ranking.hits
        else proven
    )


def flow_table(flows: Sequence[Flow]) -> Table:
    """Return flows, one per line; the bar of the costliest has the full length."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, side in (("from", "left"), ("to", "left"), ("mass", "right"), ("cost", "right"), ("share", "right")):
        table.add_column(name, justify="right" if side == "right" else "left")
    table.add_column("")
    costliest = max((flow.share for flow in flows), default=0.0) or 1.0
    for flow in flows:
        bar = "█" * round(_BAR * flow.share / costliest) or "·"
        numbers = (f"{flow.mass:.4f}", f"{flow.cost:.4f}", f"{100 * flow.share:.1f} %")
        table.add_row(isolated(flow.source), isolated(flow.target), *numbers, Text(bar, style="cyan"))
    return table


def explanation_view(explanation: "Explanation", keys: tuple[str, str] | None = None) -> RenderableType:
    """Return a distance and its flows; `keys` are the keys of two compared documents."""
    lines: list[RenderableType] = [Text(printable(f"document {keys[0]} to document {keys[1]}"))] if keys else []
    lines.append(Text(f"distance {explanation.distance:.6f}", style="bold"))
    if explanation.total is not None:
        lines.append(Text(f"total {explanation.total:.6f}, the sum of the costs:", style="bold"))
        lines.append(Padding(_terms_table(explanation), (0, 0, 1, 2), expand=False))
    words = (Text(line, style="yellow") for line in explanation_words(explanation))
    return Group(*lines, flow_table(explanation.flows), *words)


def _terms_table(explanation: "Explanation") -> Table:
    """Return the terms of a total, one per line: how their values become costs."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("term")
    for name in ("value", "best", "unit", "weight", "cost"):
        table.add_column(name, justify="right")
    table.add_column("specification", overflow="fold")
    for scale, value, cost in shares(explanation.terms, explanation.parts, explanation.costs):
        numbers = ["-" if number is None else f"{number:.4f}" for number in (value, scale.best, scale.unit)]
        table.add_row(printable(scale.name), *numbers, f"{scale.weight:g}", f"{cost:.4f}", printable(scale.term))
    return table


def why_not_view(why: "WhyNot", measured: str) -> RenderableType:
    """Return the bounds of a document beside the value of the last hit; `measured`: what it is, a distance or total."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in [*why.bounds.items(), (measured, why.distance)]:
        above = Text("above", style="red") if value > why.kth else Text("")
        table.add_row(Text(name.replace("_", ", "), style="dim"), f"{value:.6f}", above)
    limit = f"that of hit {why.k} is {why.kth:.6f}" if why.kth < float("inf") else "there are fewer hits"
    own = f"why not: its {measured} is {why.distance:.6f}; {limit}. {exclusion(why)}."
    return Group(Text(own, style="bold"), table, Text(""))


def info_view(info: Mapping[str, Any]) -> Table:
    """Return the facts about a collection, one per line."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in info.items():
        table.add_row(Text(name.replace("_", " "), style="dim"), Text(printable(_fact(name, value)) or "-"))
    return table


def sources_view(sources: Sequence[Mapping[str, Any]]) -> Table:
    """Return the sources of a collection, one per line: number of documents, place, and prefix of the keys."""
    table = Table(box=None, pad_edge=False)
    table.add_column("documents", justify="right")
    table.add_column("source", overflow="fold")
    table.add_column("prefix", overflow="fold")
    for source in sources:
        place = UNKNOWN_SOURCE if source["source"] is None else source["source"]
        table.add_row(f"{source['documents']:,}", Text(printable(place)), Text(printable(source["prefix"])))
    return table


def shards_view(shards: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return the shards of a collection, one per line: name, documents, size, revision, process, place."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("shard", "documents", "bytes", "revision", "process"):
        table.add_column(name, justify="left" if name == "shard" else "right")
    table.add_column("place", overflow="fold")
    for name, shard in shards.items():
        numbers = (f"{shard['documents']:,}", decimal(shard["bytes"]), str(shard["revision"]), str(shard["process"]))
        table.add_row(name, *numbers, Text(printable(shard["place"])))
    return table


def _fact(name: str, value: object) -> str:
    """Return the text of one value of `info`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return decimal(value) if name == "bytes" else f"{value:,}"
    if isinstance(value, float) and name == "coverage":
        return f"{percentage(value)} of the running words have a vector"
    if isinstance(value, dict) and name == "coverage_by":
        return ", ".join(f"{step} {percentage(share)}" for step, share in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def has_colours() -> bool:
    """Return whether standard output shows colours."""
    console = Console()
    return console.is_terminal and not console.no_color and console.color_system is not None


def print_view(view: RenderableType) -> None:
    """Print to standard output; if that is not a terminal, lines are folded at 200 characters."""
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=200)
        with console.capture() as shown:
            console.print(view)
        sys.stdout.write(without_isolates(shown.get()))
        return
    console.print(view)


def print_ranking(ranking: Ranking, seconds: float, *, flows: bool, as_json: bool) -> None:
    """Print the `ranking` of a single query, which took `seconds`; `flows`: with all flows of each hit.

    `as_json`: as a JSON object.
    """
    if as_json:
        print_object(ranking.to_dict())
    else:
        print_view(ranking_view(ranking, seconds, flows=flows))


def print_rankings(
    queries: Sequence[tuple[str, str]], rankings: Iterable[Ranking], *, flows: bool, as_json: bool, progress: Progress
) -> bool:
    """Print the `rankings` of `queries` (id, text), in order; return whether all queries could be answered.

    `flows`: with all flows of each hit; `as_json`: as JSON lines. `progress` is called after each.
    """
    complete = True
    for id_, text, ranking in _noted(queries, rankings, progress):
        complete = complete and not ranking.problem
        if as_json:
            print_object({"query": id_} | ({"error": ranking.problem} if ranking.problem else ranking.to_dict()))
        elif not ranking.problem:
            typer.secho(printable(f"{id_}: {text}" if id_ != text else id_), bold=True)
            print_view(ranking_view(ranking, ranking.seconds, flows=flows))
    return complete


def print_run(queries: Sequence[tuple[str, str]], rankings: Iterable[Ranking], *, progress: Progress) -> bool:
    """Print the `rankings` of `queries` (id, text) as a TREC run; return whether all queries could be answered.

    The score only gives the order: trec_eval sorts by it, and breaks ties by the names of documents. `progress` is
    called after each.
    """
    from moverank.rerank.evaluation.measures import run_lines

    complete = True
    for id_, _, ranking in _noted(queries, rankings, progress):
        complete = complete and not ranking.problem
        for line in run_lines(id_, [hit.key for hit in ranking.hits], "moverank"):
            typer.echo(printable(line))
    return complete


def print_hit_table(
    queries: Sequence[tuple[str, str]], rankings: Iterable[Ranking], *, several: bool, progress: Progress
) -> bool:
    """Print the `rankings` of `queries` (id, text) as one table; return whether all queries could be answered.

    The header has the fields of all hits, so nothing is printed before the last query is answered. `several`: with a
    column of ids. `progress` is called after each query.
    """
    answers = [(id_, ranking) for id_, _, ranking in _noted(queries, rankings, progress)]
    print_lines(hit_table(answers, several=several))
    return not any(ranking.problem for _, ranking in answers)


def _noted(
    queries: Sequence[tuple[str, str]], rankings: Iterable[Ranking], progress: Progress
) -> Iterator[tuple[str, str, Ranking]]:
    """Iterate over the ids, texts and rankings of queries; a note says why a query could not be answered."""
    for done, ((id_, text), ranking) in enumerate(zip(queries, rankings, strict=True), start=1):
        progress("Searching", done, len(queries), "queries")
        if ranking.problem:
            note(f"{id_}: {ranking.problem}")
        yield id_, text, ranking


def print_changes(
    changes: "Changes", seconds: float, planned: Planned | None = None, *, as_json: bool, learned: bool = False
) -> None:
    """Print the `changes` made by a run, which took `seconds`; `as_json`: as a JSON object.

    `planned`: it was a dry run, so print also the planned change of each document. `learned` as of `changes_line`.
    """
    if as_json:
        print_object(planned.object(changes) if planned else changes.to_dict())
        return
    for line in planned.lines() if planned else ():
        typer.echo(printable(line))
    typer.echo(
        ("nothing was changed by this dry run: " if planned else "") + changes_line(changes, seconds, learned=learned)
    )


def print_check(problems: Sequence[str], *, as_json: bool) -> None:
    """Print the problems that a check found, or that there are none."""
    if as_json:
        print_object({"ok": not problems, "problems": list(problems)})
        return
    for problem in problems:
        typer.echo(printable(problem))
    if not problems:
        typer.echo("nothing is wrong")


def json_line(values: dict[str, Any]) -> str:
    """Return an object as a line of JSON, without control characters."""
    return printable_json(json.dumps(values, ensure_ascii=False))


def print_object(values: dict[str, Any]) -> None:
    """Print a line of JSON in UTF-8, whatever the locale; one with half of a surrogate pair is escaped as ASCII."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    text = json_line(values)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(values)
    typer.echo(text)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of a file that other programs read, in UTF-8 whatever the encoding of the terminal."""
    for line in lines:
        typer.echo(line.encode(errors="replace"))


def print_text(line: str) -> None:
    """Print a line of a document's text, without control sequences that a terminal would execute."""
    typer.echo(printable(line).rstrip())


def note(text: str) -> None:
    """Print a line on standard error; if that is closed or full, the work goes on without the note."""
    with suppress(OSError):
        typer.echo(f"moverank: {printable(text)}", err=True)
