"""The command `mcp`."""

from typing import Annotated

import typer

from moverank.indexer.commands.shared_options import Indexes, named_places
from moverank.indexer.errors import UsageError

app = typer.Typer()


@app.command(epilog="Examples: `moverank mcp -i forum`  `moverank mcp -i forum -i help=desk.index --tool pairs`")
def mcp(
    *,
    index: Indexes = None,
    tool: Annotated[
        list[str] | None,
        typer.Option("--tool", metavar="OPERATION", help="A further operation that only reads; repeatable."),
    ] = None,
) -> None:
    """Let agents search collections, read only, by the Model Context Protocol (MCP) over standard input and output."""
    places = named_places(index or ())
    try:
        from moverank.indexer.plugins.agents.mcp_server import run_server
    except ModuleNotFoundError as error:
        raise UsageError(f"`mcp` needs the package {error.name}: python -m pip install 'moverank[mcp]'") from error
    run_server(places, tool or ())
