"""A whole document: its posts with the words of a query marked, the flows between both, and why it is a hit or not."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from math import isfinite
from statistics import fmean

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.formatters.document_lines import explanation_words
from moverank.indexer.formatters.flow_diagram import STEPS, cost_limits, cost_step, flow_diagram
from moverank.indexer.formatters.marking import marked
from moverank.indexer.formatters.sentences import BETTER, exclusion, shares
from moverank.indexer.plugins.serving.pages.rendering import PageValues, error_page, page_about
from moverank.indexer.plugins.serving.pages.search_page import (
    PROOF,
    cut_title,
    metadata_values,
    near_words,
    number_or_dash,
    typed_query,
)
from moverank.indexer.plugins.serving.pages.typed_form import TypedForm, posted_form
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.requests import SearchParameters, check_length
from moverank.indexer.plugins.serving.search_api import ThisServer
from moverank.indexer.plugins.serving.served import State
from moverank.indexer.plugins.serving.state import ServerState, collection_of
from moverank.indexer.plugins.serving.workers import Task
from moverank.indexer.search.highlights import highlights_between
from moverank.indexer.values.documents import Document, Part
from moverank.indexer.values.queries import StoredKey
from moverank.indexer.values.ranking_spec import resolve
from moverank.rerank.distance.explain import Explanation, WhyNot
from moverank.rerank.errors import NoKnownWords, OutOfTime
from moverank.rerank.ranking import Highlight

router = APIRouter(prefix="/collections")

_MOST_POSTS, _MOST_CHARACTERS = 200, 200_000
_MOST_FLOWS = 300
_MOST_SOURCES, _MOST_TARGETS = 500, 4000  # words that are compared to find the typical cost


@router.get("/{name}/view/{key:key}")
@router.get("/{name}/view")
async def document_page(state: ThisServer, request: Request, name: str, key: str = "") -> HTMLResponse:
    """Show a document, compared with the query of the URL, if there is one."""
    form = TypedForm.of(request.query_params.multi_items())
    return await _document_page(state, request, name, key, form)


@router.post("/{name}/view/{key:key}")
@router.post("/{name}/view")
async def compared_document_page(state: ThisServer, request: Request, name: str, key: str = "") -> HTMLResponse:
    """Show a document, compared with a thread that was typed."""
    form = await posted_form(request)
    return await _document_page(state, request, name, key or form.one("key").strip(), form)


async def _document_page(state: ServerState, request: Request, name: str, key: str, form: TypedForm) -> HTMLResponse:
    values: PageValues = {"page": "document", "form": form, "key": key, "name": name, "found": None}
    try:
        served = collection_of(request, name)
        if not key:
            raise UsageError("type the key of the document: hits show theirs below the title")
        if form.query:
            check_length(form.query, state.limits)
        options, limits = SearchParameters(rank=form.rank), form.options()
        similar = form.one("similar")
        compared = bool(form.query or similar)

        def work(view: State, task: Task) -> PageValues:
            with view.contents() as contents:
                document = contents.describe(key).document
            explanation, reason, shown = None, "", _first_posts(document)
            highlights: Sequence[Highlight] = ()
            if compared:
                query = typed_query(form, view)
                try:
                    query_or_key = StoredKey(similar) if similar else query
                    explanation = view.searcher.explain(query_or_key, key, options.resolved(state.limits, task))
                except NoKnownWords as error:
                    reason = str(error)
                highlights = _highlights(query, shown, options.rank, view)
            flows = _flows(explanation, _typical_cost(explanation, view)) if explanation else None
            why = None
            if form.query and form.one("why"):
                why = _why(view.searcher.why_not(query, key, limits.resolved(state.limits, task)), form.rank, view)
            compared_by = {"flows": flows, "reason": reason, "compared": compared, "why": why}
            return _shown(document, shown, highlights) | compared_by

        return await page_about(request, served, "document.html", values, work)
    except (HttpProblem, IndexerError) as error:
        return error_page(request, "document.html", values, error)


_BOUNDS = {
    "wcd": "distance of the centroids (WCD)",
    "rwmd_document": "RWMD, side of the document",
    "rwmd_query": "RWMD, side of the query",
    "rwmd": "RWMD, larger side",
    "dual": "dual bound",
    "sinkhorn": "Sinkhorn's lower bound",
}


def _why(why: WhyNot, rank: str | None, view: State) -> PageValues:
    """Return the reason why a document is a hit, or not, as a page shows it, with the bounds of its distance."""
    ranking = resolve(rank, None, view.settings.ranking)
    measure = "distance" if ranking.plain else "total"
    rows = [*((_BOUNDS.get(name, name), value) for name, value in why.bounds.items()), ("exact value", why.distance)]
    limit = why.kth if isfinite(why.kth) else None
    return {
        "hit": why.stage == "hit",
        "k": why.k,
        "kth": None if limit is None else number_or_dash(limit),
        "distance": number_or_dash(why.distance),
        "reason": exclusion(why, PROOF),
        "rows": [(name, number_or_dash(value), limit is not None and value > limit) for name, value in rows],
        "measure": measure,
        "better": BETTER[measure],
        "ranked_by": str(ranking),
    }


def _typical_cost(explanation: Explanation, view: State) -> float | None:
    """Return the typical cost of the words of a query: the mean over its words that are near to others."""
    sources = dict.fromkeys(flow.source for flow in explanation.flows)
    targets = dict.fromkeys(flow.target for flow in explanation.flows if flow.target not in sources)
    near = view.nearest_words(list(sources)[:_MOST_SOURCES], list(targets)[:_MOST_TARGETS])
    typical = {one.word: one.cost / one.share for one in near.values() if one.share}
    return fmean(typical.values()) if typical else None


def _first_posts(document: Document) -> Document:
    """Return a document with the posts that a page shows, the last one cut if they are too long."""
    before = accumulate((len(part.text) for part in document.parts), initial=0)
    shown = (
        replace(part, text=part.text[: _MOST_CHARACTERS - used])
        for part, used in zip(document.parts[:_MOST_POSTS], before, strict=False)
        if used < _MOST_CHARACTERS
    )
    return replace(document, parts=tuple(shown))


def _highlights(query: Document, shown: Document, rank: str | None, view: State) -> tuple[Highlight, ...]:
    """Return the places of a query's words, and of words near to them; none if the time is over."""
    ranking = resolve(rank, None, view.settings.ranking)
    with suppress(OutOfTime):
        return highlights_between(query, shown, ranking, view.settings.tokenizer, view.nearest_words)
    return ()


def _shown(document: Document, shown: Document, highlights: Sequence[Highlight]) -> PageValues:
    """Return a document as a page shows it, with the posts of `shown`."""
    by_part = dict[int | None, list[Highlight]]()
    for one in highlights:
        by_part.setdefault(one.part, []).append(one)
    title, in_title = document.title or document.key, by_part.get(None, []) if document.title else []
    return {
        "title": marked(cut_title(title), in_title),
        "plain_title": title,
        "whole_title": marked(title, in_title) if cut_title(title) != title else None,
        "label": document.label,
        "metadata": metadata_values(document.metadata),
        "posts": [
            {
                "name": _post_name(document, part),
                "text": marked(part.text, by_part.get(number, [])),
                "cut": len(part.text) < len(document.parts[number].text),
            }
            for number, part in enumerate(shown.parts)
        ],
        "all_posts": len(document.parts),
        "has_marks": bool(highlights),
        "near": near_words(highlights),
    }


def _post_name(document: Document, part: Part) -> str:
    if len(document.parts) == 1:
        return "Text"
    return "Opening post, rank 0" if part.rank == 0 else f"Answer, rank {part.rank}"


def _flows(explanation: Explanation, typical: float | None) -> PageValues:
    """Return the flows of a distance as a page shows them."""
    limits = cost_limits(explanation.flows, typical)
    rows = [(flow, STEPS[cost_step(flow.cost, limits)]) for flow in explanation.flows[:_MOST_FLOWS]]
    return {
        "diagram": flow_diagram(explanation.flows, typical),
        "rows": rows,
        "count": len(explanation.flows),
        "distance": number_or_dash(explanation.distance),
        "total": None if explanation.total is None else number_or_dash(explanation.total),
        "parts": list(shares(explanation.terms, explanation.parts, explanation.costs)),
        "words": list(explanation_words(explanation)),
        "stayed": sum(flow.mass for flow in explanation.flows if flow.cost == 0),
    }
