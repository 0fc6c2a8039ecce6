"""All pages as one router."""

from pathlib import Path

from fastapi import APIRouter

from moverank.indexer.server.pages import (
    api_page,
    compare_page,
    document_page,
    duplicates_page,
    measurements_page,
    search_page,
    static_files,
    thread_page,
    why_not_page,
)

_PAGES = (
    search_page,
    document_page,
    why_not_page,
    thread_page,
    compare_page,
    duplicates_page,
    api_page,
    static_files,
)


def pages_router(reports: Path | None = None) -> APIRouter:
    """Return the routes of all pages; `reports` is a directory of files that `evaluate` wrote, None: there are none."""
    router = APIRouter(include_in_schema=False)
    for part in _PAGES:
        router.include_router(part.router)
    router.include_router(measurements_page.measurements_router(reports))
    return router
