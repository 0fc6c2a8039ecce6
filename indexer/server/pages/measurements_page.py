"""Tables that `evaluate` wrote, with bars."""

from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from moverank.indexer.server.pages.rendering import Values, failed, rendered
from moverank.indexer.server.pages.reports import chart_of, report_names, report_tables
from moverank.indexer.server.pages.typed_form import TypedForm
from moverank.indexer.server.problems import Problem


def measurements_router(directory: Path | None) -> APIRouter:
    """Return the route of the page; `directory` has the files, None: there are none."""
    router = APIRouter()

    @router.get("/measurements")
    def measurements_page(request: Request) -> HTMLResponse:
        """Show the tables of the file that was chosen, by default the newest."""
        form = TypedForm.of(request.query_params.multi_items())
        values: Values = {
            "page": "measurements",
            "form": form,
            "has_directory": directory is not None,
            "chosen": "",
            "tables": [],
        }
        values["names"] = names = report_names(directory) if directory else []
        try:
            found = _read(directory, names, form) if directory and names else {}
            return rendered(request, "measurements.html", values | found)
        except Problem as error:
            return failed(request, "measurements.html", values, error)

    return router


def _read(directory: Path, names: list[str], form: TypedForm) -> Values:
    """Return the tables of the chosen one of the files `names`; Problem 404 and 422."""
    chosen = form.one("file") or names[0]
    if chosen not in names:
        raise Problem(404, f"there is no file {chosen!r} among the measurements")
    tables = [(table, chart_of(table, form.one("column"))) for table in report_tables(directory / chosen)]
    return {"chosen": chosen, "tables": tables}
