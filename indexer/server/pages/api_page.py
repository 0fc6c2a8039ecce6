"""The endpoints of the server, from its OpenAPI document; the usual pages load scripts from another host."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from moverank.indexer.server.pages.endpoints import endpoints
from moverank.indexer.server.pages.rendering import rendered

router = APIRouter()


@router.get("/docs")
async def api_page(request: Request) -> HTMLResponse:
    """List the endpoints with their fields."""
    document = request.app.openapi()
    return rendered(request, "api.html", {"page": "api", "groups": endpoints(document), "version": request.app.version})
