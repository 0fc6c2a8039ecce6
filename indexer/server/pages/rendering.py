"""Pages from templates; an error becomes a sentence in the page that keeps what was typed."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from moverank.indexer.errors import IndexerError
from moverank.indexer.server.collections_api import describe
from moverank.indexer.server.pages.static_files import static_url
from moverank.indexer.server.pages.typed_form import TypedForm, url_of
from moverank.indexer.server.problems import Problem, answer_of
from moverank.indexer.server.served import Served
from moverank.indexer.server.served import State as View
from moverank.indexer.server.state import ServerState
from moverank.indexer.server.workers import Task
from moverank.rerank.errors import RerankError

Values = dict[str, Any]
Work = Callable[[View, Task], Values]

_HEADERS = {"Referrer-Policy": "same-origin"}
"""With `no-referrer`, browsers would not name the origin of a form either, which the guard checks."""

_FIELDS = {"--where": "the filter", "--exact": "“compare all documents”"}
"""What a page calls the options that messages name."""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("moverank.indexer.server.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"static_url": static_url, "url_of": url_of}
    return environment


def rendered(
    request: Request,
    template: str,
    values: Mapping[str, Any],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """Return a page."""
    state: ServerState = request.app.state.moverank
    shared = {
        "collections": [describe(served) for served in state.collections.values()],
        "problem": None,
        "page": "",
        "name": "",
        "form": TypedForm(),
        "status": status,
    }
    html = _environment().get_template(template).render(shared | dict(values))
    return HTMLResponse(html, status, {**_HEADERS, **(headers or {})})


def failed(
    request: Request, template: str, values: Mapping[str, Any], error: Problem | IndexerError | RerankError
) -> HTMLResponse:
    """Return a page with the sentence of an error; the reason of an internal one is only logged."""
    status, sentence, headers = answer_of(error)
    for option, field in _FIELDS.items():
        sentence = sentence.replace(option, field)
    problem = {"sentence": f"{sentence[:1].upper()}{sentence[1:]}."}
    return rendered(request, template, dict(values) | {"problem": problem}, status, headers)


async def page_about(
    request: Request, served: Served, template: str, values: Mapping[str, Any], work: Work
) -> HTMLResponse:
    """Return a page with `values` and those that `work` computes of the current state of a collection.

    The template is also rendered without the latter, with a `problem`.
    """
    state: ServerState = request.app.state.moverank

    def run(task: Task) -> HTMLResponse:
        found = served.answer(lambda view: work(view, task) | {"revision": view.revision})
        return rendered(request, template, dict(values) | {"found": found})

    try:
        return await state.workers.run(request, run)
    except (Problem, IndexerError, RerankError) as error:
        return failed(request, template, dict(values) | {"found": None}, error)
