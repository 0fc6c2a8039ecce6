"""Results as text for a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.filesize import decimal
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moverank.indexer.formatters.document_views import metadata_line
from moverank.indexer.formatters.escaping import printable
from moverank.indexer.formatters.percentage import percentage
from moverank.indexer.formatters.query_words import explanation_words, ranking_words
from moverank.indexer.formatters.sentences import (
    Share,
    exclusion,
    legend,
    measure,
    shares,
    specified,
    verdict,
    work_done,
)
from moverank.indexer.scope import UNKNOWN_SOURCE
from moverank.rerank.ranking import Flow, Ranking

if TYPE_CHECKING:  # they would import numpy
    from moverank.rerank.distance.explain import Explanation
    from moverank.rerank.distance.why_not import WhyNot

_INDENT = (0, 0, 0, 12)
_SHORT = 4  # flows of a hit that are shown unless all are requested
_BAR = 20  # characters


def ranking_view(ranking: Ranking, seconds: float, *, flows: bool = False) -> RenderableType:
    """Return the hits of `ranking`, which took `seconds`, and its certificate.

    With `flows`, all flows of each hit are shown, else those of most mass at least cost.
    """
    lines: list[RenderableType] = []
    for rank, hit in enumerate(ranking.hits, start=1):
        measured, value = measure(hit)
        name = printable(hit.title or hit.key)
        head = Text.assemble((f"{rank:>3} ", "bold"), (f"{measured} {value:.4f}  ", "cyan"), (name, "bold"))
        if hit.label:
            head.append(f"  [{printable(hit.label)}]", "magenta")
        lines.append(head)
        if hit.title:
            lines.append(Padding(Text(printable(hit.key), style="dim"), _INDENT, expand=False))
        if hit.metadata:
            lines.append(Padding(Text(metadata_line(hit.metadata), style="dim"), _INDENT, expand=False))
        if hit.costs:
            lines.append(
                Padding(Text(_costs(shares(ranking.terms, hit.parts, hit.costs)), style="cyan"), _INDENT, expand=False)
            )
        text = hit.snippet if hit.text is None else hit.text.strip()
        if text:
            shown = "\n".join(map(printable, text.split("\n")))
            lines.append(Padding(Text(shown), _INDENT, expand=False))
        if hit.flows:
            view = flow_table(hit.flows) if flows else _short_flows(hit.flows)
            lines.append(Padding(view, _INDENT, expand=False))
    words = (Text(line, style="yellow") for line in ranking_words(ranking))
    return Group(*lines, Text(_verdict(ranking, seconds), style="dim"), *words)


def _costs(terms: Iterable[Share]) -> str:
    """Return the parts of a total, in words; they add up to it."""
    return " + ".join(f"{printable(scale.name)} {cost:.4f}" for scale, _, cost in terms)


def _short_flows(flows: Sequence[Flow]) -> Text:
    """Return the flows of most mass at least cost; a word that did not move is shown once."""
    heaviest = sorted(flows, key=lambda flow: (-flow.mass / (1 + flow.cost), flow.source))[:_SHORT]
    words = [flow.source if flow.source == flow.target else f"{flow.source} → {flow.target}" for flow in heaviest]
    return Text(printable(",  ".join(words)), style="green")


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
        table.add_row(printable(flow.source), printable(flow.target), *numbers, Text(bar, style="cyan"))
    return table


def explanation_view(explanation: "Explanation", keys: tuple[str, str] | None = None) -> RenderableType:
    """Return a distance and its flows; `keys` are those of two documents that are compared."""
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


def why_not_view(why: "WhyNot") -> RenderableType:
    """Return the bounds of a document beside the distance of the last hit."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in [*why.bounds.items(), ("distance", why.distance)]:
        above = Text("above", style="red") if value > why.kth else Text("")
        table.add_row(Text(name.replace("_", ", "), style="dim"), f"{value:.6f}", above)
    limit = f"the distance of hit {why.k} is {why.kth:.6f}" if why.kth < float("inf") else "there are fewer hits"
    return Group(Text(f"why not: {limit}. {exclusion(why)}.", style="bold"), table)


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
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def print_view(view: RenderableType) -> None:
    """Print to standard output; if that is not a terminal, lines are folded at 200 characters."""
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=200)
    console.print(view)
