"""Results for people at a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.filesize import decimal
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moverank.indexer.documents import Changes
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.distance.why_not import WhyNot
from moverank.rerank.ranking import Flow, Hit, Ranking

_INDENT = (0, 0, 0, 12)
_MOVES = 4
_BAR = 20


def shown(text: str) -> str:
    """Return a text on one line without anything that a terminal would obey; `?` is what UTF-8 cannot spell."""
    return "".join(char if char.isprintable() else " " for char in text.encode(errors="replace").decode())


def ranking_view(ranking: Ranking, seconds: float, *, flows: bool = False) -> RenderableType:
    """Show hits with what is proven of them; with `flows`, every word that moved, else the telling ones."""
    lines: list[RenderableType] = []
    for rank, hit in enumerate(ranking.hits, start=1):
        shown_value = hit.distance if hit.scored is None else hit.scored
        head = Text.assemble((f"{rank:>3} ", "bold"), (f"{shown_value:.4f}  ", "cyan"), (_name(hit), "bold"))
        if hit.label:
            head.append(f"  [{shown(hit.label)}]", "magenta")
        lines.append(head)
        if hit.title:
            lines.append(Padding(Text(shown(hit.key), style="dim"), _INDENT, expand=False))
        if hit.parts:
            lines.append(Padding(Text(_parts(hit), style="cyan"), _INDENT, expand=False))
        if hit.snippet:
            lines.append(Padding(Text(shown(hit.snippet)), _INDENT, expand=False))
        if hit.flows:
            moved = flow_table(hit.flows) if flows else _moves(hit.flows)
            lines.append(Padding(moved, _INDENT, expand=False))
    return Group(*lines, Text(_verdict(ranking, seconds), style="dim"))


def _parts(hit: Hit) -> str:
    """Show what a blend joined."""
    return ",  ".join(f"{name} {value:.4f}" if value == value else f"{name} -" for name, value in hit.parts)


def _name(hit: Hit) -> str:
    return shown(hit.title or hit.key)


def _moves(flows: Sequence[Flow]) -> Text:
    """Show the moves of most mass: a word that found itself, then those that found another."""
    heaviest = sorted(flows, key=lambda flow: (-flow.mass / (1 + flow.cost), flow.source))
    told = [
        flow.source if flow.source == flow.target else f"{flow.source} → {flow.target}" for flow in heaviest[:_MOVES]
    ]
    return Text(shown(",  ".join(told)), style="green")


def _verdict(ranking: Ranking, seconds: float) -> str:
    counts = ranking.counts
    if not counts.candidates:
        found = "No document to compare: none has a word with a vector, or none is what --where asks for"
    elif not ranking.hits:
        found = "Nothing found: no document that may be found has a word of the query"
    elif any(hit.parts for hit in ranking.hits):
        found = "Not certified: a joint order of the nearest and the best by words"
    elif ranking.certified:
        found = "Certified: no other document is nearer"
    elif ranking.scope == "collection":
        found = f"Not certified: the time was up; the last hit is at most {ranking.largest_error:.4f} too far"
    else:
        found = f"Not certified: exact among {counts.candidates:,} candidates; --exact proves it for all documents"
    return f"{found}. {counts.candidates:,} compared, {counts.solved:,} solved, {seconds:.2f} s."


def flow_table(flows: Sequence[Flow]) -> Table:
    """Show flows, one a line; the bar of the costliest is full."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, side in (("from", "left"), ("to", "left"), ("mass", "right"), ("cost", "right"), ("share", "right")):
        table.add_column(name, justify="right" if side == "right" else "left")
    table.add_column("")
    costliest = max((flow.share for flow in flows), default=0.0) or 1.0
    for flow in flows:
        bar = "█" * round(_BAR * flow.share / costliest) or "·"
        numbers = (f"{flow.mass:.4f}", f"{flow.cost:.4f}", f"{100 * flow.share:.1f} %")
        table.add_row(shown(flow.source), shown(flow.target), *numbers, Text(bar, style="cyan"))
    return table


def explanation_view(explanation: Explanation) -> RenderableType:
    """Show a distance and where it comes from."""
    return Group(Text(f"distance {explanation.distance:.6f}", style="bold"), flow_table(explanation.flows))


_FELL_OUT = {
    "first stage": "It is not among the candidates of the first stage: --exact would have looked at it",
    "rwmd": "RWMD, a lower bound, is above that already",
    "dual": "The dual bound is above that already",
    "sinkhorn": "Sinkhorn's lower bound is above that already",
    "solved": "No bound could tell: the distance itself is larger, or the same and a document before it was kept",
    "hit": "It is one of the hits",
}


def why_not_view(why: WhyNot) -> RenderableType:
    """Show each bound of a document beside what it had to beat."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in [*why.bounds.items(), ("distance", why.distance)]:
        above = Text("above", style="red") if value > why.kth else Text("")
        table.add_row(Text(name.replace("_", ", "), style="dim"), f"{value:.6f}", above)
    beaten = f"the distance of hit {why.k} is {why.kth:.6f}" if why.kth < float("inf") else "there are fewer hits"
    return Group(Text(f"why not: {beaten}. {_FELL_OUT[why.stage]}.", style="bold"), table)


def changes_view(changes: Changes, seconds: float) -> str:
    """Tell in one line what a run did."""
    told = [
        f"{count:,} {name}"
        for name, count in (
            ("added", changes.added),
            ("updated", changes.updated),
            ("removed", changes.removed),
            ("unchanged", changes.unchanged),
            ("rejected", changes.rejected),
        )
        if count
    ]
    wordless = f"; {changes.wordless:,} without any known word, never ranked" if changes.wordless else ""
    rate = f", {changes.documents / seconds:,.0f} documents/s" if changes.documents > 1 and seconds > 0.05 else ""
    return f"{', '.join(told) or 'no document found'}{wordless} ({seconds:.2f} s{rate}; revision {changes.revision})"


def info_view(info: Mapping[str, Any]) -> Table:
    """Show what a collection is."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in info.items():
        table.add_row(Text(name.replace("_", " "), style="dim"), Text(shown(_told(name, value)) or "-"))
    return table


def _told(name: str, value: object) -> str:
    """Write one value of `info` for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return decimal(value) if name == "bytes" else f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def print_view(view: RenderableType) -> None:
    """Print to standard output; lines are as long as they are where it is no terminal."""
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=200)
    console.print(view)
