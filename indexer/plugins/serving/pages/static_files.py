"""The stylesheet and the script of the pages."""

from functools import cache
from hashlib import blake2b
from importlib.resources import files

from fastapi import APIRouter, Response

from moverank.indexer.formatters.html_page import STYLE
from moverank.indexer.plugins.serving.problems import HttpProblem

router = APIRouter()

_TYPES = {
    "style.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_FOREVER = "private, max-age=31536000, immutable"


@cache
def _content(name: str) -> bytes:
    return STYLE.read_bytes() if name == STYLE.name else (files(__package__) / "static" / name).read_bytes()


def static_url(name: str) -> str:
    """Return the URL of a file; it changes with the content, so that browsers may keep the file."""
    return f"/static/{name}?v={blake2b(_content(name), digest_size=6).hexdigest()}"


@router.get("/static/{name}")
async def static_file(name: str) -> Response:
    """Return a file."""
    if name not in _TYPES:
        raise HttpProblem(404, "there is no such file")
    return Response(_content(name), media_type=_TYPES[name], headers={"Cache-Control": _FOREVER})
