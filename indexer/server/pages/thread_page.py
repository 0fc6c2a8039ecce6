"""A whole thread as the query: typed or pasted, with its comments."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.server.collections_api import State
from moverank.indexer.server.pages.rendering import Values, failed, page_about, rendered
from moverank.indexer.server.pages.search_page import RANKINGS, chosen_collection, ranked
from moverank.indexer.server.pages.typed_form import TypedForm, posted_form
from moverank.indexer.server.problems import Problem
from moverank.indexer.server.state import ServerState

router = APIRouter()

_COMMENTS = 2
_MOST_COMMENTS = 100


@router.get("/thread")
async def empty_thread_page(request: Request, state: State) -> HTMLResponse:
    """Show the empty form."""
    form = TypedForm.of(request.query_params.multi_items())
    values = _values(form)
    try:
        values["name"] = chosen_collection(state, form).name
    except Problem as error:
        return failed(request, "thread.html", values, error)
    return rendered(request, "thread.html", values)


@router.post("/thread")
async def thread_page(request: Request, state: State) -> HTMLResponse:
    """Show the threads nearest to the one that was typed, or one more field for a comment."""
    values = _values(TypedForm())
    try:
        form = await posted_form(request)
        values = _values(form)
        return await _found(request, state, form, values)
    except (Problem, IndexerError) as error:
        return failed(request, "thread.html", values, error)


async def _found(request: Request, state: ServerState, form: TypedForm, values: Values) -> HTMLResponse:
    served = chosen_collection(state, form)
    values["name"] = served.name
    if form.one("more"):
        values["comments"].append("")
        return rendered(request, "thread.html", values)
    if not form.thread:
        raise UsageError("type or paste a thread: a title, the opening post or a comment")
    return await page_about(request, served, "thread.html", values, ranked(state, form))


def _values(form: TypedForm) -> Values:
    comments = form.every("comment")[:_MOST_COMMENTS]
    comments += [""] * max(0, _COMMENTS - len(comments))
    return {"page": "thread", "form": form, "rankings": RANKINGS, "found": None, "comments": comments}
