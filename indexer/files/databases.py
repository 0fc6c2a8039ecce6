"""Databases that machines share: classes of plug-ins and of other packages, found by their entry points.

A class of the group `moverank.databases` has as `NAME` the scheme of its URLs, and as `FORM` what such a URL is like.
`identity(url)` returns the short name of the collection there, and a text that only URLs share by which a user sees the
same rows; UsageError for an invalid URL. `open(url)` returns a subclass of `Database` of `indexer.store.engines`.
"""

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from moverank.indexer.errors import PlugInError

if TYPE_CHECKING:
    from moverank.rerank.plug_ins import PlugIns

_OWN = "postgresql"
_URL = re.compile(r"([a-z][a-z0-9+.-]*):/{1,2}(?=\S)")  # a Path turns // into /
_SPELLINGS = {"postgres": _OWN}


@cache
def databases() -> "PlugIns[Any]":
    """Return the databases by name; nothing is loaded for a directory."""
    from moverank.rerank.plug_ins import PlugIns

    needed, shown = ("identity", "open"), ("NAME", "FORM")
    contract = "the manual's page `plugins`"
    return PlugIns("database", {_OWN: None}, needed, PlugInError, shown, named="NAME", contract=contract)


def scheme_of(place: str) -> str:
    """Return the name of the database whose URL a place is, even if its plug-in is removed; "" for other places."""
    found = _URL.match(place)
    name = _SPELLINGS.get(found[1], found[1]) if found else ""
    return name if name == _OWN or (name and databases().has(name)) else ""


def normal_url(url: str) -> str:
    """Return a URL with its scheme spelled in one way."""
    return _URL.sub(f"{scheme}://", url, count=1) if (scheme := scheme_of(url)) else url


def database_kind(url: str) -> Any:
    """Return the class of the database that a URL names; PlugInError if there is none."""
    scheme = scheme_of(url) or url.partition(":")[0]
    if not databases().has(scheme):
        raise PlugInError(f"there is no plug-in for the databases {scheme!r}: install the package that provides it")
    return databases().of(scheme)
