"""Comparisons as one HTML page, the texts side by side, without scripts and external resources."""

from collections.abc import Mapping, Sequence
from html import escape

from moverank.indexer.formatters.html_page import page_like_servers
from moverank.indexer.formatters.sentences import percentage
from moverank.indexer.plugins.evidence.comparison_marks import (
    Piece,
    Side,
    changes_sides,
    changes_verdict,
    evidence_sides,
    evidence_verdict,
)
from moverank.indexer.values.documents import Document
from moverank.rerank.plugins.evidence.evidence import Evidence
from moverank.rerank.plugins.evidence.text_changes import TextChanges

_MOST_LIT = 4000
"""The runs whose counterparts light up: each needs a rule of its own. Links lead to the counterparts of all."""

LEGEND = {
    "same": "the same in a source",
    "near": "a near word in a source, or a date that says more",
    "uncovered": "not covered",
    "new": "new",
    "dropped": "dropped",
    "moved": "moved",
    "changed": "changed to a near word",
}
"""What the kinds of marks mean."""


def evidence_page(evidence: Evidence, claim: Document, sources: Mapping[str, Document]) -> str:
    """Return a page with a claim and its sources, by key; covered units link to their places in the sources."""
    sides = evidence_sides(evidence, claim, sources)
    verdict = f"{evidence_verdict(evidence)} What is covered need not be true."
    sentences = f"<h2>Sentences</h2>\n{sentence_table(evidence, sides[0])}"
    return _page(f"Evidence for {claim.key or 'a claim'}", verdict, sides, sentences)


def changes_page(changes: TextChanges, old: Document, new: Document) -> str:
    """Return a page with two versions of a text; what moved or changed leads to its place in the other version."""
    sides = changes_sides(changes, old, new)
    return _page(f"Changes from {old.key} to {new.key}", changes_verdict(changes), sides, "")


def _page(title: str, verdict: str, sides: Sequence[Side], more: str) -> str:
    flows = sorted({flow for side in sides for mark in side.marks if (flow := mark.flow) is not None})[:_MOST_LIT]
    lit = "{ background: var(--accent); color: var(--on-accent); }"
    rules = "\n".join(f"body:has(.f{flow}:is(:hover, :focus, :target)) .f{flow} {lit}" for flow in flows)
    content = f"""<h1 dir="auto">{escape(title)}</h1>
<p class="verdict">{escape(verdict)}</p>
{comparison_columns(sides)}
{more}"""
    return page_like_servers(title, content, f"{rules}\n" if rules else "")


def comparison_columns(sides: Sequence[Side]) -> str:
    """Return the texts of a comparison side by side, the first beside all others, and what their marks mean."""
    first, *others = sides
    kinds = {mark.kind for side in sides for mark in side.marks}
    legend = ", ".join(f'<span class="c {kind}">{LEGEND[kind]}</span>' for kind in LEGEND if kind in kinds)
    columns = "\n".join(_side(side, own="s", counterpart="c") for side in others)
    return f"""<p class="marks">{legend}</p>
<div class="beside">
<div>
{_side(first, own="c", counterpart="s")}
</div>
<div>
{columns}
</div>
</div>"""


def _side(side: Side, own: str, counterpart: str) -> str:
    blocks = "\n".join(
        f'<p class="text" dir="auto">{"".join(_piece(piece, own, counterpart) for piece in block)}</p>'
        for block in side.blocks()
    )
    return f'<section class="post"><h3><bdi>{escape(side.name)}</bdi></h3>\n{blocks}\n</section>'


def _piece(piece: Piece, own: str, counterpart: str) -> str:
    """Return a piece: text, or a mark, a link if it has counterparts; places of further links are before it."""
    text = escape(piece.text)
    if not piece.marks:
        return text
    title = f' title="{escape(piece.note)}"' if piece.note else ""
    if not piece.flows:
        return f'<mark class="c {piece.kinds}"{title}>{text}</mark>'
    first, *more = piece.starts or (None,)
    places = "".join(f'<span id="{own}{flow}"></span>' for flow in more)
    place = "" if first is None else f' id="{own}{first}"'
    lit = " ".join(f"f{flow}" for flow in piece.flows)
    kinds, there = f"c {piece.kinds} {lit}", f"#{counterpart}{piece.flows[0]}"
    return f'{places}<a class="{kinds}"{place} href="{there}"{title}>{text}</a>'


def sentence_table(evidence: Evidence, side: Side, caption: str = "") -> str:
    """Return a table of the sentences of a claim, whose texts are in `side`, with their covered share."""
    texts, rows = dict(side.texts), list[str]()
    for one in evidence.sentences:
        share = "\N{EN DASH}" if one.covered is None else percentage(one.covered)
        text = escape(texts[one.span.part][one.span.start : one.span.end])
        rows.append(f'<tr><td class="n">{share}</td><td class="n">{one.units}</td><td dir="auto">{text}</td></tr>')
    named, shown = f"<caption>{caption}</caption>\n" if caption else "", "\n".join(rows)
    return f"""<div class="scroll" role="group" aria-label="Table of sentences" tabindex="0">
<table>
{named}<thead><tr>
<th scope="col" class="n">covered</th><th scope="col" class="n">units</th><th scope="col">sentence</th>
</tr></thead>
<tbody>
{shown}
</tbody>
</table>
</div>"""
