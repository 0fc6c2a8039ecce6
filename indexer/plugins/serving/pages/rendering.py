"""Pages from templates; an error becomes a sentence in the page, which keeps the user's input."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from moverank.indexer.errors import IndexerError
from moverank.indexer.formatters.html_page import diagram_svg, marked_html
from moverank.indexer.operations.operation_registry import PLUG_INS
from moverank.indexer.plugins.serving.pages.static_files import static_url
from moverank.indexer.plugins.serving.pages.typed_form import TypedForm, url_of
from moverank.indexer.plugins.serving.problems import HttpProblem, answer_of
from moverank.indexer.plugins.serving.search_api import describe
from moverank.indexer.plugins.serving.served import Served, State
from moverank.indexer.plugins.serving.state import ServerState
from moverank.indexer.plugins.serving.workers import Task
from moverank.rerank.errors import RerankError

PageValues = dict[str, Any]
Work = Callable[[State, Task], PageValues]

_HEADERS = {"Referrer-Policy": "same-origin"}
"""With `no-referrer`, browsers would not name the origin of a form either, which the guard checks."""

_FIELDS = {"--where": "the filter", "--exact": "“compare all documents”"}
"""The names on pages of the options that messages name."""


@cache
def _environment(prefix: str) -> Environment:
    """Return the templates, whose links all begin with the prefix of a proxy: `link_to`, `url_of` and `static_url`."""
    environment = Environment(
        loader=PackageLoader("moverank.indexer.plugins.serving.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "link_to": lambda path: prefix + path,
        "url_of": lambda *place: prefix + url_of(*place),
        "has_operation": PLUG_INS.has,
        "marked": marked_html,
        "diagram_svg": diagram_svg,
        "static_url": lambda name: prefix + static_url(name),
    }
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
        "seconds": state.limits.seconds,
    }
    html = _environment(request.scope["root_path"]).get_template(template).render(shared | dict(values))
    return HTMLResponse(html, status, {**_HEADERS, **(headers or {})})


def problem_page(prefix: str, status: int, problem: Mapping[str, Any]) -> str:
    """Return the page of a problem, whose JSON object is `problem`; it has no facts about the collections."""
    title, detail = str(problem.get("title", "error")), str(problem.get("detail", ""))
    shared = {"collections": [], "page": "", "name": "", "seconds": 0, "status": status, "title": title}
    sentence = "" if detail.lower() == title else _sentence(detail)
    html: str = _environment(prefix).get_template("problem.html").render(shared, sentence=sentence, problem=problem)
    return html


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def error_page(
    request: Request, template: str, values: Mapping[str, Any], error: HttpProblem | IndexerError | RerankError
) -> HTMLResponse:
    """Return a page with the sentence of an error; the reason of an internal error is only logged."""
    status, sentence, headers = answer_of(error)
    for option, field in _FIELDS.items():
        sentence = sentence.replace(option, field)
    problem = {"sentence": _sentence(sentence)}
    return rendered(request, template, dict(values) | {"problem": problem}, status, headers)


async def page_about(
    request: Request, served: Served, template: str, values: Mapping[str, Any], work: Work
) -> HTMLResponse:
    """Return a page with `values`, and with values that `work` computes from the current state of a collection.

    If `work` fails, the template is rendered without its values, with a `problem`.
    """
    state: ServerState = request.app.state.moverank

    def run(task: Task) -> HTMLResponse:
        found = served.answer(lambda view: work(view, task) | {"revision": view.revision})
        return rendered(request, template, dict(values) | {"found": found})

    try:
        return await state.workers.run(request, run)
    except (HttpProblem, IndexerError, RerankError) as error:
        return error_page(request, template, dict(values) | {"found": None}, error)
