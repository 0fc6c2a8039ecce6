"""Comparisons as one HTML page, the texts side by side, without scripts and external resources."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from moverank.indexer.formatters.html_page import page_like_servers
from moverank.indexer.plugins.evidence.comparison_marks import (
    Piece,
    Side,
    changes_sides,
    changes_verdict,
    evidence_sides,
    evidence_verdict,
)
from moverank.indexer.plugins.evidence.differences import (
    Difference,
    MarkedSentence,
    changes_differences,
    evidence_differences,
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
    body = comparison_body(evidence_differences(evidence, sides), sides)
    return _page(f"Evidence for {claim.key or 'a claim'}", verdict, sides, body)


def changes_page(changes: TextChanges, old: Document, new: Document) -> str:
    """Return a page with two versions of a text; what moved or changed leads to its place in the other version."""
    sides = changes_sides(changes, old, new)
    body = comparison_body(changes_differences(changes, sides), sides)
    return _page(f"Changes from {old.key} to {new.key}", changes_verdict(changes), sides, body)


def _page(title: str, verdict: str, sides: Sequence[Side], body: str) -> str:
    flows = sorted({flow for side in sides for mark in side.marks if (flow := mark.flow) is not None})[:_MOST_LIT]
    lit = "{ background: var(--accent); color: var(--on-accent); }"
    rules = "\n".join(f"body:has(.f{flow}:is(:hover, :focus, :target)) .f{flow} {lit}" for flow in flows)
    content = f"""<h1 dir="auto">{escape(title)}</h1>
<p class="verdict">{escape(verdict)}</p>
{body}"""
    return page_like_servers(title, content, f"{rules}\n" if rules else "")


def comparison_body(differences: Sequence[Difference], sides: Sequence[Side]) -> str:
    """Return what marks mean, the differences, and then the texts side by side, the first beside all others."""
    first, *others = sides
    kinds = {mark.kind for side in sides for mark in side.marks}
    legend = ", ".join(f'<span class="c {kind}">{LEGEND[kind]}</span>' for kind in LEGEND if kind in kinds)
    columns = "\n".join(_side(side, own="s", counterpart="c") for side in others)
    listed = "\n".join(map(_difference, differences))
    found = f'<ol class="differences">\n{listed}\n</ol>' if differences else "<p>There is no difference.</p>"
    return f"""<p class="marks">{legend}</p>
<h2>Differences</h2>
{found}
<h2>Texts</h2>
<div class="beside texts">
<div>
{_side(first, own="c", counterpart="s")}
</div>
<div>
{columns}
</div>
</div>"""


def _difference(one: Difference) -> str:
    """Return an item of the list: why, and both sentences side by side."""
    sentences = (_sentence(sentence) for sentence in (one.first, one.second) if sentence is not None)
    return f'<li><p class="quiet">{escape(one.note)}</p>\n<div class="beside">\n{"".join(sentences)}</div></li>'


def _sentence(sentence: MarkedSentence) -> str:
    pieces = (
        f'<mark class="c {piece.kinds}">{escape(piece.text)}</mark>' if piece.marks else escape(piece.text)
        for piece in sentence.pieces
    )
    place = f"<bdi>{escape(sentence.name)}</bdi>, line {sentence.line}"
    return f'<div class="post"><p class="quiet">{place}</p><p class="text" dir="auto">{"".join(pieces)}</p></div>\n'


def _side(side: Side, own: str, counterpart: str) -> str:
    """Return a text by paragraphs; those without a difference are folded, if there are several."""
    shown = list[str]()
    for is_same, blocks in groupby(side.blocks(), lambda block: all(piece.kinds in ("", "same") for piece in block)):
        found = [
            f'<p class="text" dir="auto">{"".join(_piece(piece, own, counterpart) for piece in block)}</p>'
            for block in blocks
        ]
        if is_same and len(found) > 1:
            found = [f"<details><summary>{len(found)} paragraphs without a difference</summary>", *found, "</details>"]
        shown += found
    text = "\n".join(shown)
    return f'<section class="post"><h3><bdi>{escape(side.name)}</bdi></h3>\n{text}\n</section>'


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
