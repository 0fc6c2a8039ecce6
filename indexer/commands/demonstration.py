"""The command `demo`: runs other commands on texts that need no network."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

app = typer.Typer()


@app.command(epilog="Example: `moverank demo`")
def demo(
    context: typer.Context,
    directory: Annotated[Path, typer.Option("--directory", help="Directory for the demo's files.")] = Path(
        "moverank-demo"
    ),
) -> None:
    """Index docstrings of Python's standard library and some forum threads, and search both; needs no network."""
    from moverank.indexer.demo.steps import prepare, steps

    program = context.find_root()
    prepare(directory)
    for description, arguments in steps(directory):
        typer.secho(f"\n{description}", bold=True)
        typer.secho(f"$ moverank {' '.join(_quoted(argument) for argument in arguments)}", fg="green")
        program.command.main(arguments, program.info_name, standalone_mode=False)
    typer.echo(
        f"\nEverything is in {directory}: repeat the commands above with your own words, or remove the directory."
    )


def _quoted(argument: str) -> str:
    """Quote an argument as users type it: double quotes are easier to read than the single quotes of `shlex`."""
    return f'"{argument}"' if " " in argument and not set(argument) & set('"$`\\!') else quote(argument)
