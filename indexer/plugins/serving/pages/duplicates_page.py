"""Documents that are near each other: those to keep, and the copies of each."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from moverank.indexer.errors import IndexerError
from moverank.indexer.operations.dedupe import FindDuplicates
from moverank.indexer.operations.operation import Work
from moverank.indexer.plugins.serving.pages.rendering import PageValues, error_page, page_about
from moverank.indexer.plugins.serving.pages.search_page import chosen_collection, cut_title, number_or_dash
from moverank.indexer.plugins.serving.pages.typed_form import TypedForm, typed_number
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.search_api import ThisServer
from moverank.indexer.plugins.serving.served import State
from moverank.indexer.plugins.serving.workers import Task
from moverank.indexer.search.near_documents import Deduplication, Duplicate
from moverank.indexer.values.pair_options import DedupeOptions

router = APIRouter()

_WITHIN = "0.1"
_SMALLEST = 0.05
_MOST_GROUPS, _MOST_KEYS, _MOST_WORDS = 100, 50, 12


@router.get("/duplicates")
async def duplicates_page(state: ThisServer, request: Request) -> HTMLResponse:
    """Show the documents to keep so that no two of them are within a distance, with the others, which are near them."""
    form = TypedForm.of(request.query_params.multi_items())
    typed = form.one("within").strip()
    values: PageValues = {"page": "duplicates", "form": form, "within": typed or _WITHIN, "found": None}
    try:
        served = chosen_collection(state, form)
        values["name"] = served.name
        within = typed_number("the distance", typed or _WITHIN)

        def work(view: State, task: Task) -> PageValues:
            if not typed:
                return {"groups": None}
            search = DedupeOptions(within=within, where=form.conditions or None, resumed=not state.read_only)
            clock = Work(_Clock(task, resumed=search.resumed))
            found: PageValues = state.finished.get(
                (served.name, view.revision, view.settings, within, tuple(form.conditions)),
                lambda: _shown(FindDuplicates(search=search).run(view, clock)),
            )
            return found | {"larger": [f"{factor * (within or _SMALLEST):g}" for factor in (2, 4, 8)]}

        return await page_about(request, served, "duplicates.html", values, work)
    except (HttpProblem, IndexerError) as error:
        return error_page(request, "duplicates.html", values, error)


class _Clock:
    """Ends a comparison when the time of its request is over; with `resumed`, the next request continues it."""

    def __init__(self, task: Task, *, resumed: bool) -> None:
        self._task = task
        self._again = "find the copies again to go on from there, or " if resumed else ""

    def __call__(self, task: str, done: int, total: int | None, unit: str) -> None:  # noqa: ARG002 - of Progress
        """Raise HttpProblem 503 if no time is left."""
        if self._task.over():
            of_all = f" of {total:,}" if total else ""
            raise HttpProblem(
                503,
                f"this takes longer than a request may: {done:,}{of_all} {unit} are compared; {self._again}"
                "choose fewer documents by a filter",
            )


def _shown(found: Deduplication) -> PageValues:
    """Return the kept documents with most copies, and these, nearest first."""
    groups = found.groups
    return {
        "groups": [
            {
                "kept": _titled(key, copies[0].of_title),
                "copies": [
                    (_titled(one.key, one.title), number_or_dash(one.distance), _words_of(one))
                    for one in copies[:_MOST_KEYS]
                ],
                "size": len(copies),
            }
            for key, copies in groups[:_MOST_GROUPS]
        ],
        "all_groups": len(groups),
        "removed": len(found.removed),
        "differing": len(found.differing),
        "documents": len(found.kept) + len(found.removed),
        "ranked_by": found.ranked_by,
    }


def _titled(key: str, title: str) -> tuple[str, str, str]:
    """Return the key of a document, its title, and the title as it is shown."""
    return key, title or key, cut_title(title or key)


def _words_of(one: Duplicate) -> list[str]:
    """Return the words without a vector in which a removed document and the kept one differ."""
    own, other = one.unknown_words
    return [*own, *other][:_MOST_WORDS]
