"""Two texts side by side: a claim and a source, or two versions, with the units carried from one to the other."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.operations.operation_registry import operation_named
from moverank.indexer.plugins.serving.pages.rendering import PageValues, error_page, page_about, rendered
from moverank.indexer.plugins.serving.pages.search_page import chosen_collection
from moverank.indexer.plugins.serving.pages.typed_form import TypedForm, posted_form, typed_number
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.search_api import ThisServer
from moverank.indexer.plugins.serving.served import State
from moverank.indexer.plugins.serving.workers import Task
from moverank.indexer.values.documents import Document, Part

router = APIRouter()

_MOST_CHARACTERS = 200_000


@router.get("/compare")
async def compare_form_page(request: Request, state: ThisServer) -> HTMLResponse:
    """Show the form."""
    form = TypedForm.of(request.query_params.multi_items())
    values: PageValues = {"page": "compare", "form": form, "found": None}
    try:
        values["name"] = chosen_collection(state, form).name
    except (HttpProblem, IndexerError) as error:
        return error_page(request, "compare.html", values, error)
    return rendered(request, "compare.html", values)


@router.post("/compare")
async def compare_page(request: Request, state: ThisServer) -> HTMLResponse:
    """Show the texts of the form side by side."""
    values: PageValues = {"page": "compare", "form": TypedForm(), "found": None}
    try:
        form = await posted_form(request)
        values["form"] = form
        served = chosen_collection(state, form)
        values["name"] = served.name
        texts = _typed(form, "claim", "the first text"), _typed(form, "source", "the second text")
        tau = typed_number("the largest cost", form.one("tau")) if form.one("tau") else None

        def work(view: State, _: Task) -> PageValues:
            kind: Any = operation_named("changes" if form.one("versions") else "compare")
            names = ("old", "new") if form.one("versions") else ("claim", "sources")
            operation = kind(**dict(zip(names, texts, strict=True)), tau=tau)
            verdict, body = operation.page(operation.run(view))
            return {"verdict": verdict, "body": body}

        return await page_about(request, served, "compare.html", values, work)
    except (HttpProblem, IndexerError) as error:
        return error_page(request, "compare.html", values, error)


def _typed(form: TypedForm, field: str, name: str) -> Document:
    """Return a text of the form as a document; UsageError without one, HttpProblem 413 for one that is too long."""
    text = form.one(field)
    if not text:
        raise UsageError(f"{name} is empty: type or paste both")
    if len(text) > _MOST_CHARACTERS:
        most = f"at most {_MOST_CHARACTERS:,} are shown on a page; the API takes more"
        raise HttpProblem(413, f"{name} has {len(text):,} characters: {most}")
    return Document(field, parts=(Part(text),))
