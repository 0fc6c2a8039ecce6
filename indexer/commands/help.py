"""The command `help`: shows the manual, or the options of a command."""

import sys
from typing import Annotated, Any

import typer

from moverank.indexer import formatters
from moverank.indexer.commands.completion import complete_topic
from moverank.indexer.errors import UsageError

app = typer.Typer()


@app.command("help", epilog="Examples: `moverank help`  `moverank help formats`  `moverank help evaluate knn`")
def show_help(
    context: typer.Context,
    topic: Annotated[
        list[str] | None,
        typer.Argument(
            help="Topic of the manual, or a command. [default: list the topics]",
            show_default=False,
            autocompletion=complete_topic,
        ),
    ] = None,
) -> None:
    """Show a page of the manual, or the options of a command, or list the topics."""
    from moverank.indexer.manual import TOPICS, topics

    name, root = " ".join(topic or ()), context.find_root()
    group: Any = root.command
    if not topic:
        summaries = topics()
        width = max(map(len, summaries))
        for each, summary in summaries.items():
            typer.echo(f"{each:<{width}}  {summary}")
        typer.echo("\n`moverank help TOPIC` shows a page, `moverank COMMAND --help` or `-h` the options of a command.")
    elif name not in TOPICS and _is_command(context, topic):
        group.main([*topic, "--help"], root.info_name, standalone_mode=False)
    else:
        _show_page(name, group)


def _is_command(context: typer.Context, words: list[str]) -> bool:
    """Return whether words name a command, or one of a group of commands."""
    command: Any = context.find_root().command
    for word in words:
        command = getattr(command, "commands", {}).get(word)
    return command is not None


def _show_page(topic: str, program: Any) -> None:
    """Show a page of the manual; UsageError for a topic that is neither a page nor a command of the program."""
    from moverank.indexer.manual import page
    from moverank.rerank.options import did_you_mean

    try:
        text = page(topic, program)
    except UsageError as error:
        similar = did_you_mean(topic.partition(" ")[0], program.commands)
        raise UsageError(f"{error}; or a command{similar}: `moverank --help` lists them") from error
    if sys.stdout.isatty():
        from rich.markdown import Markdown

        formatters.print_view(Markdown(text))
    else:
        typer.echo(text, nl=not text.endswith("\n"))
