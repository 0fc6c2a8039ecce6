"""A whole thread as the query: typed or pasted, with its comments.

A posted thread leads to an address that contains it, compressed, unless it is too long for that.
"""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.server.pages.rendering import PageValues, error_page, page_about, rendered
from moverank.indexer.server.pages.search_page import RANKINGS, chosen_collection, rankings_of, search_of_form
from moverank.indexer.server.pages.typed_form import TypedForm, posted_form
from moverank.indexer.server.problems import HttpProblem
from moverank.indexer.server.search_api import ThisServer
from moverank.indexer.server.state import ServerState

router = APIRouter()

_COMMENTS = 2
_MOST_COMMENTS = 100
_LONGEST_LINK = 8000  # characters that servers and proxies accept


@router.get("/thread")
async def linked_thread_page(request: Request, state: ThisServer) -> Response:
    """Show the empty form, or the threads nearest to the thread in the address."""
    form = TypedForm.of(request.query_params.multi_items())
    values = _values(form)
    try:
        served = chosen_collection(state, form)
        values |= {"name": served.name, "rankings": rankings_of(served)}
        if form.thread:
            return await page_about(request, served, "thread.html", values, search_of_form(state, form))
    except (HttpProblem, IndexerError) as error:
        return error_page(request, "thread.html", values, error)
    return rendered(request, "thread.html", values)


@router.post("/thread")
async def thread_page(request: Request, state: ThisServer) -> Response:
    """Show the threads nearest to the typed thread, or one more field for a comment."""
    values = _values(TypedForm())
    try:
        form = await posted_form(request)
        values = _values(form)
        return await _found(request, state, form, values)
    except (HttpProblem, IndexerError) as error:
        return error_page(request, "thread.html", values, error)


async def _found(request: Request, state: ServerState, form: TypedForm, values: PageValues) -> Response:
    served = chosen_collection(state, form)
    values |= {"name": served.name, "rankings": rankings_of(served)}
    if form.one("more"):
        values["comments"].append("")
        return rendered(request, "thread.html", values)
    if not form.thread:
        raise UsageError("type or paste a thread: a title, the opening post or a comment")
    link = form.link("/thread", collection=served.name)
    if form.packed and len(link) <= _LONGEST_LINK:
        return RedirectResponse(f"{link}#results", 303)
    return await page_about(request, served, "thread.html", values, search_of_form(state, form))


def _values(form: TypedForm) -> PageValues:
    comments = form.every("comment")[:_MOST_COMMENTS]
    comments += [""] * max(0, _COMMENTS - len(comments))
    return {"page": "thread", "form": form, "rankings": RANKINGS, "found": None, "comments": comments}
