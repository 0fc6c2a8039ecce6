"""The command `serve`."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from moverank.indexer.commands.option_records import with_records
from moverank.indexer.commands.shared_options import Indexes, named_places
from moverank.indexer.errors import UsageError
from moverank.indexer.values.search_options import ServeOptions

app = typer.Typer()


@app.command(
    epilog="Examples: `moverank serve -i forum`  `moverank serve -i help=desk.index -i docs.index --port 9000`  "
    "`moverank serve -i forum --host 0.0.0.0 --token-file token.txt`"
)
@with_records
def serve(
    context: typer.Context,
    *,
    index: Indexes = None,
    options: ServeOptions,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve the collections of `moverank demo`, in ./moverank-demo.")
    ] = False,
) -> None:
    """Serve collections over HTTP: reranking for other engines, search as JSON, and pages."""
    try:
        from moverank.indexer.plugins.serving.limits import Limits
        from moverank.indexer.plugins.serving.run_server import run_server
    except ModuleNotFoundError as error:
        raise UsageError(f"`serve` needs the package {error.name}: python -m pip install 'moverank[server]'") from error
    places = named_places([*(_demo(context) if demo else []), *(index or [])])
    limits = Limits(rankings=tuple(map(_ranking, options.allow_rank or ())))
    run_server(places, options, limits, lambda url: logging.getLogger("moverank").info("serving at %s", url))


def _ranking(typed: str) -> str:
    """Return a ranking as it is written; UsageError for an invalid one."""
    from moverank.indexer.values.ranking_spec import parse_ranking

    try:
        return str(parse_ranking(typed))
    except UsageError as error:
        raise UsageError(f"--allow-rank {typed}: {error}") from error


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
