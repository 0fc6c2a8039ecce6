"""The command `help`: shows the manual."""

import sys
from typing import Annotated

import typer

app = typer.Typer()


@app.command("help", epilog="Examples: `moverank help`  `moverank help formats`")
def show_help(
    topic: Annotated[
        str | None, typer.Argument(help="Topic of the manual. [default: list the topics]", show_default=False)
    ] = None,
) -> None:
    """Show a page of the manual, or list its topics."""
    from moverank.indexer.manual import page, topics

    if topic is None:
        summaries = topics()
        width = max(map(len, summaries))
        for name, summary in summaries.items():
            typer.echo(f"{name:<{width}}  {summary}")
        typer.echo("\n`moverank help TOPIC` shows a page, `moverank COMMAND --help` the options of a command.")
        return
    text = page(topic)
    if sys.stdout.isatty():
        from rich.markdown import Markdown

        from moverank.indexer.formatters.terminal import print_view

        print_view(Markdown(text))
    else:
        typer.echo(text, nl=not text.endswith("\n"))
