"""An explanation as one HTML page, without scripts and external resources."""

from collections.abc import Sequence
from html import escape

from moverank.indexer.formatters.query_words import explanation_words
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.ranking import Flow

_ROW, _LEFT, _RIGHT, _TOP = 26, 200, 620, 20
_COLOURS = ("#1b7837", "#7fbf7b", "#c2a5cf", "#9970ab", "#762a83")
_STYLE = """\
body { font: 15px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }
th, td { text-align: left; padding: 0 1em 0 0 }
td.n { text-align: right; font-variant-numeric: tabular-nums }
path { fill: none; opacity: .65 }
"""


def explanation_page(explanation: Explanation, query: str, title: str) -> str:
    """Return a page with the flows of `explanation` as bands from words of `query` to words of the document `title`.

    The width of a band is the mass, its colour the cost.
    """
    sources = _totals(explanation.flows, [flow.source for flow in explanation.flows])
    targets = _totals(explanation.flows, [flow.target for flow in explanation.flows])
    height = 2 * _TOP + _ROW * max(len(sources), len(targets))
    longest = max((flow.cost for flow in explanation.flows), default=0.0)
    bands = "\n".join(_band(flow, list(sources), list(targets), longest) for flow in explanation.flows)
    unknown = escape("".join(f" ({line})" for line in explanation_words(explanation)))
    labels = "\n".join([*_labels(sources, _LEFT - 10, "end"), *_labels(targets, _RIGHT + 10, "start")])
    rows = "\n".join(_table_row(flow) for flow in explanation.flows)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{escape(title)}: distance {explanation.distance:.4f}</title>
<style>
{_STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p>Query: {escape(query)}{unknown}</p>
<p>Word Mover's Distance {explanation.distance:.6f}. A band's width is the mass that moves, its colour the distance
of the two words, from <span style="color:{_COLOURS[0]}">near</span> to <span style="color:{_COLOURS[-1]}">far</span>.
</p>
<svg viewBox="0 0 820 {height}" role="img" aria-label="flows between words" font-size="14">
{bands}
{labels}
</svg>
<table>
<tr><th>from</th><th>to</th><th>mass</th><th>cost</th><th>share</th></tr>
{rows}
</table>
</body>
</html>
"""


def _totals(flows: Sequence[Flow], words: Sequence[str]) -> dict[str, float]:
    """Return the mass of each word, heaviest first."""
    totals: dict[str, float] = {}
    for word, flow in zip(words, flows, strict=True):
        totals[word] = totals.get(word, 0.0) + flow.mass
    return dict(sorted(totals.items(), key=lambda item: -item[1]))


def _band(flow: Flow, sources: Sequence[str], targets: Sequence[str], longest: float) -> str:
    start, end = (
        _TOP + _ROW * (words.index(word) + 0.5) for words, word in ((sources, flow.source), (targets, flow.target))
    )
    colour = _COLOURS[min(4, int(5 * flow.cost / longest))] if longest else _COLOURS[0]
    middle = (_LEFT + _RIGHT) / 2
    tooltip = escape(f"{flow.source} to {flow.target}: mass {flow.mass:.4f}, cost {flow.cost:.4f}")
    return (
        f'<path d="M{_LEFT},{start} C{middle},{start} {middle},{end} {_RIGHT},{end}" stroke="{colour}" '
        f'stroke-width="{max(0.5, 60 * flow.mass):.2f}"><title>{tooltip}</title></path>'
    )


def _labels(totals: dict[str, float], x: int, anchor: str) -> list[str]:
    return [
        f'<text x="{x}" y="{_TOP + _ROW * (i + 0.5) + 5}" text-anchor="{anchor}">{escape(word)} {mass:.2f}</text>'
        for i, (word, mass) in enumerate(totals.items())
    ]


def _table_row(flow: Flow) -> str:
    numbers = "".join(f'<td class="n">{n}</td>' for n in (f"{flow.mass:.4f}", f"{flow.cost:.4f}", f"{flow.share:.1%}"))
    return f"<tr><td>{escape(flow.source)}</td><td>{escape(flow.target)}</td>{numbers}</tr>"
