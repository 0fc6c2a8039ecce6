"""The server's extra: a missing package is named with the line that installs it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from moverank.indexer.errors import UsageError
from moverank.indexer.files.location import collection_directory, collection_name, is_url


def serve_with(options: dict[str, Any], started: Callable[[str], None]) -> None:
    """Serve with options by name, the `places` as typed: `DIR` or `NAME=DIR`; see `serving.serve`.

    Raises UsageError if the extra is not installed.
    """
    places = named_places(options.pop("places"))
    try:
        from moverank.indexer.server.serving import ServeOptions, serve
    except ModuleNotFoundError as error:
        raise UsageError(f"`serve` needs the package {error.name}: python -m pip install 'moverank[server]'") from error
    serve(ServeOptions(places=places, **options), started)


def named_places(typed: Sequence[str]) -> dict[str, Path]:
    """Return directories by name, by default that of the directory; UsageError if a name is used twice."""
    places: dict[str, Path] = {}
    for text in typed:
        name, equals, path = text.partition("=")
        named = equals and not is_url(text)  # a URL has signs of equality, too
        place = path if named else text
        directory = collection_directory(place)
        own = name if named else collection_name(directory)
        if not own or "/" in own:
            raise UsageError(f"{text!r}: the name of a collection must not be empty or have a slash")
        if own in places:
            raise UsageError(f"two collections are called {own!r}: name one of them, as in -i NAME={directory}")
        places[own] = directory
    return places
