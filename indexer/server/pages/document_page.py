"""A whole document: its posts with the words of a query marked, and the flows between the two."""

from itertools import accumulate

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from moverank.indexer.documents import Document, Part
from moverank.indexer.errors import IndexerError
from moverank.indexer.formatters.flow_diagram import STEPS, cost_step, flow_diagram
from moverank.indexer.formatters.marking import Mark, marked, marks_of_flows, marks_of_words, words_of
from moverank.indexer.formatters.query_words import explanation_words
from moverank.indexer.formatters.sentences import shares
from moverank.indexer.ranked_texts import StoredKey
from moverank.indexer.server.collections_api import State
from moverank.indexer.server.pages.hit_list import metadata_values, number
from moverank.indexer.server.pages.rendering import Values, failed, page_about
from moverank.indexer.server.pages.search_page import query_of
from moverank.indexer.server.pages.typed_form import TypedForm, posted_form
from moverank.indexer.server.problems import Problem
from moverank.indexer.server.requests import Options, check_length
from moverank.indexer.server.served import State as View
from moverank.indexer.server.state import ServerState, collection_of
from moverank.indexer.server.workers import Task
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.errors import NoKnownWords

router = APIRouter(prefix="/collections")

_MOST_POSTS, _MOST_CHARACTERS = 200, 200_000
_MOST_FLOWS = 300


@router.get("/{name}/view/{key:path}")
async def document_page(state: State, request: Request, name: str, key: str) -> HTMLResponse:
    """Show a document, compared with the query of the URL, if there is one."""
    form = TypedForm.of(request.query_params.multi_items())
    return await _document_page(state, request, name, key, form)


@router.post("/{name}/view/{key:path}")
async def compared_document_page(state: State, request: Request, name: str, key: str) -> HTMLResponse:
    """Show a document, compared with a thread that was typed."""
    return await _document_page(state, request, name, key, await posted_form(request))


async def _document_page(state: ServerState, request: Request, name: str, key: str, form: TypedForm) -> HTMLResponse:
    values: Values = {"page": "document", "form": form, "key": key, "name": name, "found": None}
    try:
        served = collection_of(request, name)
        if form.query:
            check_length(form.query, state.limits)
        options = Options(rank=form.rank)
        similar = form.one("similar")
        compared = bool(form.query or similar)

        def work(view: View, task: Task) -> Values:
            with view.contents() as contents:
                document = contents.describe(key).document
            explanation, reason, marks = None, "", dict[str, Mark]()
            if compared:
                query = query_of(form, view)
                try:
                    asked = StoredKey(similar) if similar else query
                    explanation = view.searcher.explain(asked, key, options.resolved(state.limits, task))
                    marks = marks_of_flows(explanation.flows, explanation.unknown_words)
                except NoKnownWords as error:
                    reason = str(error)
                    texts = [query.title, *(part.text for part in query.parts)]
                    marks = marks_of_words(words_of(texts, view.settings.stop_words))
            flows = _flows(explanation) if explanation else None
            return _shown(document, marks) | {"flows": flows, "reason": reason, "compared": compared}

        return await page_about(request, served, "document.html", values, work)
    except (Problem, IndexerError) as error:
        return failed(request, "document.html", values, error)


def _shown(document: Document, marks: dict[str, Mark]) -> Values:
    """Return what a page shows of a document: so many posts, and so many characters of them."""
    before = accumulate((len(part.text) for part in document.parts), initial=0)
    room = [max(0, _MOST_CHARACTERS - used) for used in before]
    parts = [part for part, left in zip(document.parts, room, strict=False) if left][:_MOST_POSTS]
    return {
        "title": marked(document.title or document.key, marks),
        "plain_title": document.title or document.key,
        "label": document.label,
        "metadata": metadata_values(document.metadata),
        "posts": [
            {"name": _post_name(document, part), "text": marked(part.text[:left], marks), "cut": len(part.text) > left}
            for part, left in zip(parts, room, strict=False)
        ],
        "all_posts": len(document.parts),
        "has_marks": bool(marks),
    }


def _post_name(document: Document, part: Part) -> str:
    if len(document.parts) == 1:
        return "Text"
    return "Opening post, rank 0" if part.rank == 0 else f"Answer, rank {part.rank}"


def _flows(explanation: Explanation) -> Values:
    """Return what a page shows of the flows of a distance."""
    longest = max((flow.cost for flow in explanation.flows), default=0.0)
    rows = [(flow, STEPS[cost_step(flow.cost, longest)]) for flow in explanation.flows[:_MOST_FLOWS]]
    return {
        "diagram": flow_diagram(explanation.flows),
        "rows": rows,
        "count": len(explanation.flows),
        "distance": number(explanation.distance),
        "total": None if explanation.total is None else number(explanation.total),
        "parts": list(shares(explanation.terms, explanation.parts, explanation.costs)),
        "words": list(explanation_words(explanation)),
        "stayed": sum(flow.mass for flow in explanation.flows if flow.cost == 0),
    }
