"""Why a document is not among the hits of a search: its bounds, and the distance of the last hit."""

from math import isfinite

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.formatters.sentences import BETTER, exclusion
from moverank.indexer.ranking_spec import resolve
from moverank.indexer.server.pages.measurements_page import bars
from moverank.indexer.server.pages.rendering import PageValues, error_page, page_about
from moverank.indexer.server.pages.search_page import PROOF, cut_title, number_or_dash, typed_query
from moverank.indexer.server.pages.typed_form import TypedForm, posted_form
from moverank.indexer.server.problems import HttpProblem
from moverank.indexer.server.requests import check_length
from moverank.indexer.server.search_api import ThisServer
from moverank.indexer.server.served import State
from moverank.indexer.server.state import ServerState, collection_of
from moverank.indexer.server.workers import Task
from moverank.rerank.distance.explain import WhyNot

router = APIRouter(prefix="/collections")

_NAMES = {
    "wcd": "distance of the centroids (WCD)",
    "rwmd_document": "RWMD, side of the document",
    "rwmd_query": "RWMD, side of the query",
    "rwmd": "RWMD, larger side",
    "dual": "dual bound",
    "sinkhorn": "Sinkhorn's lower bound",
}


@router.get("/{name}/why")
async def why_not_page(state: ThisServer, request: Request, name: str) -> HTMLResponse:
    """Explain why the document `key` is not among the hits of the query of the URL."""
    return await _why_not_page(state, request, name, TypedForm.of(request.query_params.multi_items()))


@router.post("/{name}/why")
async def why_not_typed_page(state: ThisServer, request: Request, name: str) -> HTMLResponse:
    """Explain why the document `key` is not among the hits of a thread that was typed."""
    return await _why_not_page(state, request, name, await posted_form(request))


async def _why_not_page(state: ServerState, request: Request, name: str, form: TypedForm) -> HTMLResponse:
    key = form.one("key").strip()
    values: PageValues = {"page": "why", "form": form, "key": key, "name": name, "found": None}
    try:
        served = collection_of(request, name)
        if not form.query:
            raise UsageError("type what to search for: without a query there are no hits")
        if not key:
            raise UsageError("type the key of the document: hits show theirs below the title")
        query, options = check_length(form.query, state.limits), form.options()

        def work(view: State, task: Task) -> PageValues:
            why = view.searcher.why_not(typed_query(form, view), key, options.resolved(state.limits, task))
            with view.contents() as contents:
                document = contents.describe(key).document
            ranking = resolve(options.rank, None, view.settings.ranking)
            measure = "distance" if ranking.plain else "total"
            return _shown(why) | {
                "measure": measure,
                "better": BETTER[measure],
                "title": cut_title(document.title or key),
                "ranked_by": str(ranking),
                "query_title": query.title,
            }

        return await page_about(request, served, "why_not.html", values, work)
    except (HttpProblem, IndexerError) as error:
        return error_page(request, "why_not.html", values, error)


def _shown(why: WhyNot) -> PageValues:
    rows = [(_NAMES.get(name, name), value) for name, value in why.bounds.items()]
    rows.append(("exact value", why.distance))
    limit = why.kth if isfinite(why.kth) else None
    return {
        "hit": why.stage == "hit",
        "k": why.k,
        "kth": None if limit is None else number_or_dash(limit),
        "distance": number_or_dash(why.distance),
        "reason": exclusion(why, PROOF),
        "rows": [(name, number_or_dash(value), limit is not None and value > limit) for name, value in rows],
        "chart": bars([(name, value) for name, value in rows], limit),
    }
