"""All pages as one router."""

from fastapi import APIRouter

from moverank.indexer.operations.operation_registry import PLUG_INS
from moverank.indexer.plugins.serving.pages import (
    compare_page,
    document_page,
    duplicates_page,
    search_page,
    static_files,
)

_PAGES = (search_page, document_page, compare_page, duplicates_page, static_files)


def pages_router() -> APIRouter:
    """Return the routes of all pages."""
    router = APIRouter(include_in_schema=False)
    for part in _PAGES:
        if part is not compare_page or PLUG_INS.has("compare"):
            router.include_router(part.router)
    return router
