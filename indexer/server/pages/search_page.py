"""The main page: a search, and its hits."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from moverank.indexer.documents import Document
from moverank.indexer.errors import IndexerError, UnknownKey
from moverank.indexer.server.collections_api import State, counted
from moverank.indexer.server.pages.hit_list import shown_ranking
from moverank.indexer.server.pages.rendering import Values, Work, failed, page_about, rendered
from moverank.indexer.server.pages.typed_form import TypedForm
from moverank.indexer.server.problems import Problem
from moverank.indexer.server.requests import check_length
from moverank.indexer.server.served import Served
from moverank.indexer.server.served import State as View
from moverank.indexer.server.state import ServerState
from moverank.indexer.server.workers import Task

router = APIRouter()

RANKINGS = (
    ("wmd", "Word Mover's Distance"),
    ("wmd:weights=tfidf", "WMD, rare words count more"),
    ("pwmd", "WMD, first posts count more"),
    ("pwmd:weights=tfidf+0.4*bm25:stem=english", "WMD of posts, and BM25"),
    ("chamfer:weights=tfidf", "nearest words, both ways"),
    ("bm25:stem=english", "BM25, words alone"),
    ("cosine", "cosine of mean vectors"),
)
"""Rankings to choose from, with what they are."""


@router.get("/")
async def search_page(request: Request, state: State) -> HTMLResponse:
    """Show the form, and the hits of what was typed, or of the stored document `similar`."""
    form = TypedForm.of(request.query_params.multi_items())
    values: Values = {"page": "search", "form": form, "rankings": RANKINGS, "found": None}
    try:
        served = chosen_collection(state, form)
        values["name"] = served.name
        if not (form.query or form.one("similar")):
            return rendered(request, "search.html", values)
        return await page_about(request, served, "search.html", values, ranked(state, form))
    except (Problem, IndexerError) as error:
        return failed(request, "search.html", values, error)


def chosen_collection(state: ServerState, form: TypedForm) -> Served:
    """Return the collection that was chosen, the default one if none was; Problem 404."""
    return state.named(form.one("collection")) if form.one("collection") else state.default


def ranked(state: ServerState, form: TypedForm) -> Work:
    """Return the work that finds the hits of a form; UsageError and Problem if it is not valid."""
    options, similar = form.options(), form.one("similar")
    if form.query:
        check_length(form.query, state.limits)

    def work(view: View, task: Task) -> Values:
        query, resolved = query_of(form, view), options.resolved(state.limits, task)
        searcher = view.searcher
        ranking = searcher.similar(similar, resolved) if similar else searcher.search(query, resolved)
        texts = [query.title, *(part.text for part in query.parts)]
        return shown_ranking(counted(state, ranking), view, texts) | {"query_title": query.title or query.key}

    return work


def query_of(form: TypedForm, view: View) -> Document:
    """Return the query of a form: the stored document `similar`, or what was typed; UnknownKey if there is none."""
    if not form.one("similar"):
        return form.query or Document("")
    with view.contents() as contents:
        found = contents.get(form.one("similar"))
    if found is None:
        raise UnknownKey(f"the collection has no document with the key {form.one('similar')!r}")
    return found
