"""What a command says: results to standard output, notes to standard error.

What is drawn for people is imported when it is drawn: programs that ask for JSON do not wait for rich.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from moverank.indexer.documents import Changes
from moverank.indexer.errors import IndexerError
from moverank.indexer.formatters.json_objects import changes_object, ranking_object
from moverank.indexer.progress import Progress
from moverank.rerank.ranking import Ranking


def print_answer(ranking: Ranking, seconds: float, *, flows: bool, as_json: bool) -> None:
    """Print the answer to the only question."""
    if as_json:
        print_object(ranking_object(ranking, seconds))
    else:
        from moverank.indexer.formatters.terminal import print_view, ranking_view

        print_view(ranking_view(ranking, seconds, flows=flows))


def print_answers(
    asked: Sequence[tuple[str, str]], rankings: Iterable[Ranking], *, flows: bool, as_json: bool, progress: Progress
) -> bool:
    """Print the answers to questions (id, text), in their order; say whether all have one."""
    answered = True
    for done, ((id_, text), ranking) in enumerate(zip(asked, rankings, strict=True), start=1):
        progress("Searching", done, len(asked), "queries")
        if ranking.problem:
            answered = False
            note(f"{id_}: {ranking.problem}")
            if as_json:
                print_object({"query": id_, "error": ranking.problem})
        elif as_json:
            print_object(ranking_object(ranking, ranking.seconds, id_))
        else:
            from moverank.indexer.formatters.terminal import print_view, ranking_view, shown

            typer.secho(shown(f"{id_}: {text}" if id_ != text else id_), bold=True)
            print_view(ranking_view(ranking, ranking.seconds, flows=flows))
    return answered


def tell_of_compiling() -> None:
    """Say so when kernels have to be compiled: the first search on a machine takes some seconds more."""
    from moverank.rerank.kernels import when_compiling

    when_compiling(lambda: note("compiling for this machine: this takes some seconds, once"))


def print_changes(changes: Changes, seconds: float, *, as_json: bool) -> None:
    """Tell what a run did."""
    if as_json:
        print_object(changes_object(changes))
    else:
        from moverank.indexer.formatters.terminal import changes_view

        typer.echo(changes_view(changes, seconds))


def print_check(problems: Sequence[str], *, as_json: bool) -> None:
    """Tell what is wrong with a collection, if anything."""
    if as_json:
        print_object({"ok": not problems, "problems": list(problems)})
        return
    from moverank.indexer.formatters.terminal import shown

    for problem in problems:
        typer.echo(shown(problem))
    if not problems:
        typer.echo("nothing is wrong")


def print_object(told: dict[str, Any]) -> None:
    """Print a line of JSON; what standard output cannot spell is escaped as JSON does it."""
    text = json.dumps(told, ensure_ascii=False)
    if not text.isprintable():  # what a terminal might obey
        text = "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(told)
    typer.echo(text)


def note(text: str) -> None:
    """Say something on standard error: one line, whatever the names and texts in it hold."""
    from moverank.indexer.formatters.terminal import shown

    typer.echo(f"moverank: {shown(text)}", err=True)


def write_page(path: Path, text: str) -> None:
    """Write a page; IndexerError where that cannot be."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise IndexerError(f"{path}: cannot be written: {error.strerror}") from error
