"""An explanation as one HTML page, without scripts and external resources."""

from collections.abc import Iterator
from html import escape

from moverank.indexer.formatters.flow_diagram import Band, Diagram, Word, flow_diagram
from moverank.indexer.formatters.query_words import explanation_words
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.ranking import Flow

_COLOURS = ("#0b5963", "#2f8f97", "#7d8a8c", "#c4752a", "#9c3a12")
"""One for each step of cost, from blue-green to orange: all can tell them apart."""

_STYLE = """\
body { font: 15px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }
th, td { text-align: left; padding: 0 1em 0 0 }
td.n { text-align: right; font-variant-numeric: tabular-nums }
path { opacity: .78 }
"""


def explanation_page(explanation: Explanation, query: str, title: str) -> str:
    """Return a page with the flows of `explanation` as bands from words of `query` to words of the document `title`.

    The width of a band is the mass, its colour the cost.
    """
    unknown = escape("".join(f" ({line})" for line in explanation_words(explanation)))
    rows = "\n".join(_table_row(flow) for flow in explanation.flows)
    diagram = flow_diagram(explanation.flows)
    drawn = (
        f" Drawn are the flows of most mass at least cost, {diagram.mass:.0%} of it." if diagram.mass < 0.995 else ""
    )
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
of the two words: {_legend(diagram)}.{drawn}
</p>
{_svg(diagram)}
<table>
<tr><th>from</th><th>to</th><th>mass</th><th>cost</th><th>share</th></tr>
{rows}
</table>
</body>
</html>
"""


def _legend(diagram: Diagram) -> str:
    steps = zip(diagram.legend, _COLOURS, strict=False)
    return ", ".join(f'<b style="color:{colour}">{name}</b> ({costs})' for (name, costs), colour in steps)


def _svg(diagram: Diagram) -> str:
    height = f"{diagram.height:.0f}"
    bands = "\n".join(map(_band, diagram.bands))
    words = "\n".join([*_words(diagram.sources, "31%", "32%", "end"), *_words(diagram.targets, "69%", "67%", "start")])
    return f"""<svg width="100%" height="{height}" role="img" aria-label="flows between words" font-size="14">
<svg x="33%" width="34%" height="{height}" viewBox="0 0 100 {height}" preserveAspectRatio="none">
{bands}
</svg>
{words}
</svg>"""


def _band(band: Band) -> str:
    flow = band.flow
    tooltip = escape(f"{flow.source} to {flow.target}: mass {flow.mass:.4f}, cost {flow.cost:.4f}")
    return f'<path d="{band.path}" fill="{_COLOURS[band.step]}"><title>{tooltip}</title></path>'


def _words(words: tuple[Word, ...], text: str, bar: str, anchor: str) -> Iterator[str]:
    """Yield a label and a bar for each word of one side, at places in percent."""
    for word in words:
        yield (
            f'<text x="{text}" y="{word.middle:.1f}" dy="0.35em" text-anchor="{anchor}">{escape(word.text)} '
            f'{word.mass:.2f}</text><rect x="{bar}" width="1%" y="{word.top:.1f}" height="{word.height:.1f}" '
            'fill="#555"></rect>'
        )


def _table_row(flow: Flow) -> str:
    numbers = "".join(f'<td class="n">{n}</td>' for n in (f"{flow.mass:.4f}", f"{flow.cost:.4f}", f"{flow.share:.1%}"))
    return f"<tr><td>{escape(flow.source)}</td><td>{escape(flow.target)}</td>{numbers}</tr>"
