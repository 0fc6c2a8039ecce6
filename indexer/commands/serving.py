"""The command `serve`."""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from moverank.indexer.commands.shared_options import DEFAULT_INDEX

app = typer.Typer()


@app.command(
    epilog="Examples: `moverank serve -i forum`  `moverank serve -i help=desk.index -i docs.index --port 9000`  "
    "`moverank serve -i forum --host 0.0.0.0 --token-file token.txt`"
)
def serve(  # over 40 lines: most of them are its options
    context: typer.Context,
    index: Annotated[
        list[str] | None,
        typer.Option(
            "-i",
            "--index",
            metavar="[NAME=]DIR|URL",
            help="A collection; repeatable. [default: $MOVERANK_INDEX or ./moverank.index]",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0: any free one.")] = 8080,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Clients must send a token of this file, which has one on each line."),
    ] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="No token is needed, even if other machines can reach the server.")
    ] = False,
    open_metrics: Annotated[
        bool, typer.Option("--open-metrics", help="Answer /metrics without a token, as for Prometheus.")
    ] = False,
    processes: Annotated[
        int,
        typer.Option(min=1, max=256, help="Processes that answer; as many as there are cores give most answers."),
    ] = 1,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse all changes.")] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Another name of this server, as in URLs; repeatable.")
    ] = None,
    allow_rank: Annotated[
        list[str] | None,
        typer.Option(metavar="RANK", help="Allow a ranking that must be fitted to all documents first; repeatable."),
    ] = None,
    root_path: Annotated[
        str, typer.Option(metavar="PREFIX", help="What a proxy puts in front of all paths, such as /moverank.")
    ] = "",
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS", help="A proxy, or a network of them, whose X-Forwarded-For names the client; repeatable."
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve the collections of `moverank demo`, in ./moverank-demo.")
    ] = False,
    cors: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Pages of this web origin may use the server; repeatable."),
    ] = None,
    log: Annotated[
        Literal["text", "json"], typer.Option(help="The log on standard error: lines, or JSON objects.")
    ] = "text",
) -> None:
    """Serve collections over HTTP: reranking for other engines, search as JSON, and pages."""
    places = [*(_demo(context) if demo else []), *(index or [])]
    _serve(
        {
            "places": places or [os.environ.get("MOVERANK_INDEX") or str(DEFAULT_INDEX)],
            "host": host,
            "port": port,
            "token_file": token_file,
            "open_to_all": no_auth,
            "processes": processes,
            "read_only": read_only,
            "hosts": allow_host or (),
            "origins": cors or (),
            "open_paths": ["/metrics"] if open_metrics else [],
            "root_path": root_path,
            "proxies": proxy or (),
            "rankings": allow_rank or (),
            "log": log,
        },
        lambda url: logging.getLogger("moverank").info("serving at %s", url),
    )


def _serve(options: dict[str, Any], started: Callable[[str], None]) -> None:
    """Serve with options by name, with `places` as typed: `DIR` or `NAME=DIR`; see `run_server`.

    Raises UsageError if the extra is not installed.
    """
    from moverank.indexer.errors import UsageError

    places = _named_places(options.pop("places"))
    try:
        from moverank.indexer.server.limits import Limits
        from moverank.indexer.server.run_server import ServeOptions, run_server
    except ModuleNotFoundError as error:
        raise UsageError(f"`serve` needs the package {error.name}: python -m pip install 'moverank[server]'") from error
    rankings = tuple(map(_ranking, options.pop("rankings")))
    run_server(ServeOptions(places=places, limits=Limits(rankings=rankings), **options), started)


def _ranking(typed: str) -> str:
    """Return a ranking as it is written; UsageError for an invalid one."""
    from moverank.indexer.errors import UsageError
    from moverank.indexer.ranking_spec import parse_ranking

    try:
        return str(parse_ranking(typed))
    except UsageError as error:
        raise UsageError(f"--allow-rank {typed}: {error}") from error


def _named_places(typed: Sequence[str]) -> dict[str, Path]:
    """Return directories by name, by default the directory's own; UsageError if a name is used twice."""
    from moverank.indexer.errors import UsageError
    from moverank.indexer.files.location import collection_directory, collection_name, is_url

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


def _demo(context: typer.Context) -> list[str]:
    """Index the texts of the demo, unless they are indexed already, and return its collections as `NAME=DIR`."""
    from moverank.indexer.demo.steps import indexing, prepare

    directory, program = Path("moverank-demo"), context.find_root()
    prepare(directory)
    places = []
    for arguments, name, place in indexing(directory):
        program.command.main(arguments, program.info_name, standalone_mode=False)
        places.append(f"{name}={place}")
    return places
