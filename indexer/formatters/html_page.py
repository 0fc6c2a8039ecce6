"""Rankings and explanations as one HTML page, without scripts and external resources."""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from moverank.indexer.formatters.document_lines import explanation_words, ranking_words
from moverank.indexer.formatters.flow_diagram import Band, Diagram, Word, flow_diagram
from moverank.indexer.formatters.marking import Segments, marked_text, marked_title, note
from moverank.indexer.formatters.sentences import (
    Share,
    passage_note,
    ranking_value,
    shares,
    top_share,
    verdict,
    work_done,
)
from moverank.indexer.values.documents import values_by_field
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.ranking import Flow, Highlight, Hit, Ranking

_TITLE = 80  # characters
STYLE = Path(__file__).with_name("style.css")
"""The style of all pages, including the server's."""


def ranking_page(answers: Sequence[tuple[str, Ranking]]) -> str:
    """Return a page with the hits of each query (text, ranking), as the server shows them.

    The words of a query are marked, and words near to them, by the highlights of a hit.
    """
    title = answers[0][0] if len(answers) == 1 else f"{len(answers):,} queries"
    sections = "\n".join(_section(query, ranking) for query, ranking in answers)
    return page_like_servers(title[:_TITLE], sections)


def page_like_servers(title: str, content: str, rules: str = "") -> str:
    """Return a page with HTML `content`, in the style of the server's pages, and with further `rules` of CSS."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>
{STYLE.read_text(encoding="utf-8")}{rules}</style>
</head>
<body>
<main>
{content}
</main>
</body>
</html>
"""


def _section(query: str, ranking: Ranking) -> str:
    """Return the hits of one query, their certificate, and the words of the query without effect."""
    if ranking.problem:
        return f'<h1 dir="auto">{escape(query)}</h1>\n<div class="problem"><p>{escape(ranking.problem)}</p></div>'
    certified = " certified" if ranking.certified else ""
    hits = "\n".join(_hit(hit, ranking) for hit in ranking.hits)
    notes = "\n".join(f'<p class="quiet">{escape(line)}</p>' for line in ranking_words(ranking))
    return f"""<h1 dir="auto">{escape(query)}</h1>
<p class="verdict{certified}">{escape(verdict(ranking))}. <span class="quiet">{work_done(ranking, ranking.seconds)}.
Ranked by <code>{escape(ranking.ranked_by)}</code>.</span></p>
{notes}
<ol class="hits">
{hits}
</ol>"""


def _hit(hit: Hit, ranking: Ranking) -> str:
    """Return a hit: title, number, key, label, metadata, text, terms of a sum, and flows that open by a click."""
    measure, value = ranking_value(hit)
    share = f' <span class="quiet">{top_share(hit.percentile)}</span>' if hit.percentile else ""
    shown = marked_html(marked_text(hit))
    text = f'<p class="snippet" dir="auto">{shown}</p>' if shown else ""
    if hit.text is not None:
        text = f'<div class="post"><p class="text" dir="auto">{shown}</p></div>'
    if hit.passage is not None:
        text += f'<p class="quiet">{passage_note(hit.passage)}</p>'
    return f"""<li><article class="hit">
<h3 dir="auto">{marked_html(marked_title(hit))}</h3>
<p class="value"><span class="quiet">{measure}</span> {value:.4f}{share}</p>
<ul class="facts">{"".join(_facts(hit))}</ul>
{text}
{_terms(hit, ranking)}
{_flows(hit.flows) if hit.flows else ""}
</article></li>"""


def _facts(hit: Hit) -> Iterator[str]:
    yield f"<li><code>{escape(hit.key)}</code></li>"
    if hit.label:
        yield f'<li class="label"><bdi>{escape(hit.label)}</bdi></li>'
    for name, values in values_by_field(hit.metadata).items():
        yield f'<li><span class="name">{escape(name)}</span> <bdi>{escape(", ".join(values))}</bdi></li>'


def _terms(hit: Hit, ranking: Ranking) -> str:
    """Return the shares of the terms in a total, with their values and specifications as tooltips."""
    if not hit.costs:
        return ""
    shown = "".join(
        f'<div title="{escape(_term_note(one))}"><dt>{escape(one.scale.name)}</dt><dd>{one.cost:.4f}</dd></div>'
        for one in shares(ranking.terms, hit.parts, hit.costs)
    )
    return f'<div class="costs"><span>costs, smaller is better:</span><dl class="parts">{shown}</dl></div>'


def _term_note(one: Share) -> str:
    known = "none" if one.value is None else f"{one.value:.4f}"
    return f"{one.scale.weight:g} * {one.scale.term}, value {known}"


def marked_html(pieces: Segments) -> str:
    """Return a text with its marks; a word that is near to one of the query says so."""
    return "".join(_piece(escape(piece), mark) for piece, mark in pieces)


def _piece(text: str, mark: Highlight | None) -> str:
    if mark is None:
        return text
    moved = f' class="moved" title="{escape(about)}"' if (about := note(mark)) else ""
    return f"<mark{moved}>{text}</mark>"


def _flows(flows: Sequence[Flow]) -> str:
    diagram = flow_diagram(flows)
    return f"""<details>
<summary>Which words moved where</summary>
<p class="quiet">A band's width is the mass that moves, its colour the distance of the two words:
{_legend(diagram)}.</p>
{diagram_svg(diagram)}
{_table(flows)}
</details>"""


def explanation_page(explanation: Explanation, query: str, title: str) -> str:
    """Return a page with the flows of `explanation` as bands from words of `query` to words of the document `title`.

    The width of a band is the mass, its colour the cost.
    """
    unknown = escape("".join(f" ({line})" for line in explanation_words(explanation)))
    diagram = flow_diagram(explanation.flows)
    drawn = (
        f" Drawn are the flows of most mass at least cost, {diagram.mass:.0%} of it." if diagram.mass < 0.995 else ""
    )
    content = f"""<h1 dir="auto">{escape(title)}</h1>
<p>Query: <bdi>{escape(query)}</bdi>{unknown}</p>
<p>Word Mover's Distance {explanation.distance:.6f}. A band's width is the mass that moves, its colour the distance
of the two words: {_legend(diagram)}.{drawn}
</p>
{diagram_svg(diagram)}
{_table(explanation.flows)}"""
    return page_like_servers(f"{title}: distance {explanation.distance:.4f}", content)


def _legend(diagram: Diagram) -> str:
    steps = enumerate(diagram.legend)
    return ", ".join(f'<b style="color:var(--step{step})">{name}</b> ({costs})' for step, (name, costs) in steps)


def diagram_svg(diagram: Diagram, label: str = "flows between words", moves: str = "to") -> str:
    """Return a diagram as SVG, with a `label` for screen readers; `moves` is between the words of a flow."""
    height = f"{diagram.height:.0f}"
    bands = "\n".join(_band(band, moves) for band in diagram.bands)
    sides = (diagram.sources, "source", "0", "32%"), (diagram.targets, "target", "69%", "67%")
    words = "\n".join(line for side in sides for line in _words(*side))
    return f"""<svg class="diagram" width="100%" height="{height}" role="img" aria-label="{label}">
<svg x="33%" width="34%" height="{height}" viewBox="0 0 100 {height}" preserveAspectRatio="none">
{bands}
</svg>
{words}
</svg>"""


def _band(band: Band, moves: str) -> str:
    flow, ends = band.flow, f'data-source="{band.source}" data-target="{band.target}"'
    tooltip = escape(f"{flow.source} {moves} {flow.target}: mass {flow.mass:.4f}, cost {flow.cost:.4f}")
    return f'<path class="band step{band.step}" d="{band.path}" {ends}><title>{tooltip}</title></path>'


def _words(words: tuple[Word, ...], side: str, text: str, bar: str) -> Iterator[str]:
    """Yield a label and a bar for each word of one side, with positions in percent; a long word ends with dots."""
    for number, word in enumerate(words):
        shown = escape(word.text)
        yield (
            f'<foreignObject x="{text}" y="{word.middle - 10:.1f}" width="31%" height="20"><p class="word {side}" '
            f'dir="auto" data-{side}="{number}" title="{shown}: mass {word.mass:.4f}">{shown}</p></foreignObject>'
            f'<rect x="{bar}" width="1%" y="{word.top:.1f}" height="{word.height:.1f}"></rect>'
        )


def _table(flows: Sequence[Flow]) -> str:
    rows = "\n".join(map(_table_row, flows))
    return f"""<div class="scroll" role="group" aria-label="Table of flows" tabindex="0">
<table>
<tr><th>from</th><th>to</th><th class="n">mass</th><th class="n">cost</th><th class="n">share</th></tr>
{rows}
</table>
</div>"""


def _table_row(flow: Flow) -> str:
    numbers = "".join(f'<td class="n">{n}</td>' for n in (f"{flow.mass:.4f}", f"{flow.cost:.4f}", f"{flow.share:.1%}"))
    return f"<tr><td><bdi>{escape(flow.source)}</bdi></td><td><bdi>{escape(flow.target)}</bdi></td>{numbers}</tr>"
