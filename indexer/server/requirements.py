"""Imports of the server's extra: the error for a missing package names the line that installs it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from moverank.indexer.errors import UsageError
from moverank.indexer.files.location import collection_directory, collection_name, is_url
from moverank.indexer.ranking_spec import parse_ranking


def serve_with(options: dict[str, Any], started: Callable[[str], None]) -> None:
    """Serve with options by name, with `places` as typed: `DIR` or `NAME=DIR`; see `run_server`.

    Raises UsageError if the extra is not installed.
    """
    places = named_places(options.pop("places"))
    try:
        from moverank.indexer.server.limits import Limits
        from moverank.indexer.server.serving import ServeOptions, run_server
    except ModuleNotFoundError as error:
        raise UsageError(f"`serve` needs the package {error.name}: python -m pip install 'moverank[server]'") from error
    rankings = tuple(map(_ranking, options.pop("rankings")))
    run_server(ServeOptions(places=places, limits=Limits(rankings=rankings), **options), started)


def _ranking(typed: str) -> str:
    """Return a ranking as it is written; UsageError for an invalid one."""
    try:
        return str(parse_ranking(typed))
    except UsageError as error:
        raise UsageError(f"--allow-rank {typed}: {error}") from error


def named_places(typed: Sequence[str]) -> dict[str, Path]:
    """Return directories by name, by default that of the directory; UsageError if a name is used twice."""
    places: dict[str, Path] = {}
    for text in typed:
        name, equals, path = text.partition("=")
        named = equals and not is_url(text)  # a URL may contain equals signs
        place = path if named else text
        directory = collection_directory(place)
        own = name if named else collection_name(directory)
        if not own or "/" in own:
            raise UsageError(f"{text!r}: the name of a collection must not be empty or have a slash")
        if own in places:
            raise UsageError(f"two collections are called {own!r}: name one of them, as in -i NAME={directory}")
        places[own] = directory
    return places
