"""Output of the commands: results to standard output, notes to standard error.

rich is imported only for text output: JSON output does not need it.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import typer

from moverank.indexer.formatters.escaping import printable, printable_json
from moverank.indexer.formatters.json_objects import changes_object
from moverank.indexer.progress import Progress

if TYPE_CHECKING:  # see `json_objects`
    from moverank.indexer.documents import Changes
    from moverank.indexer.formatters.dry_run import Planned
    from moverank.rerank.ranking import Ranking


def print_ranking(ranking: "Ranking", seconds: float, *, flows: bool, as_json: bool) -> None:
    """Print the `ranking` of a single query, which took `seconds`; `flows`: with all flows of each hit.

    `as_json`: as a JSON object.
    """
    if as_json:
        print_object(ranking.to_dict())
    else:
        from moverank.indexer.formatters.terminal import print_view, ranking_view

        print_view(ranking_view(ranking, seconds, flows=flows))


def print_rankings(
    queries: Sequence[tuple[str, str]], rankings: "Iterable[Ranking]", *, flows: bool, as_json: bool, progress: Progress
) -> bool:
    """Print the `rankings` of `queries` (id, text), in order; return whether all queries could be answered.

    `flows`: with all flows of each hit; `as_json`: as JSON lines. `progress` is called after each.
    """
    complete = True
    for done, ((id_, text), ranking) in enumerate(zip(queries, rankings, strict=True), start=1):
        progress("Searching", done, len(queries), "queries")
        if ranking.problem:
            complete = False
            note(f"{id_}: {ranking.problem}")
            if as_json:
                print_object({"query": id_, "error": ranking.problem})
        elif as_json:
            print_object({"query": id_} | ranking.to_dict())
        else:
            from moverank.indexer.formatters.terminal import print_view, ranking_view

            typer.secho(printable(f"{id_}: {text}" if id_ != text else id_), bold=True)
            print_view(ranking_view(ranking, ranking.seconds, flows=flows))
    return complete


def print_run(queries: Sequence[tuple[str, str]], rankings: "Iterable[Ranking]", *, progress: Progress) -> bool:
    """Print the `rankings` of `queries` (id, text) as a TREC run; return whether all queries could be answered.

    The score only tells the order: trec_eval sorts by it, and breaks ties by the names of documents. `progress` is
    called after each.
    """
    from moverank.rerank.evaluation.judgments import run_lines

    complete = True
    for done, ((id_, _), ranking) in enumerate(zip(queries, rankings, strict=True), start=1):
        progress("Searching", done, len(queries), "queries")
        if ranking.problem:
            complete = False
            note(f"{id_}: {ranking.problem}")
        for line in run_lines(id_, [hit.key for hit in ranking.hits], "moverank"):
            typer.echo(printable(line))
    return complete


def print_hit_table(
    queries: Sequence[tuple[str, str]], rankings: "Iterable[Ranking]", *, several: bool, progress: Progress
) -> bool:
    """Print the `rankings` of `queries` (id, text) as one table; return whether all queries could be answered.

    The header has the fields of all hits, so nothing is printed before the last query is answered. `several`: with a
    column of ids. `progress` is called after each query.
    """
    from moverank.indexer.formatters.csv_tables import hit_table

    answers, complete = [], True
    for done, ((id_, _), ranking) in enumerate(zip(queries, rankings, strict=True), start=1):
        progress("Searching", done, len(queries), "queries")
        if ranking.problem:
            complete = False
            note(f"{id_}: {ranking.problem}")
        answers.append((id_, ranking))
    print_lines(hit_table(answers, several=several))
    return complete


def print_changes(changes: "Changes", seconds: float, planned: "Planned | None" = None, *, as_json: bool) -> None:
    """Print the `changes` made by a run, which took `seconds`; `as_json`: as a JSON object.

    `planned`: it was a dry run, so print also what would happen to each document.
    """
    if as_json:
        print_object(planned.object(changes) if planned else changes_object(changes))
        return
    from moverank.indexer.formatters.change_lines import changes_line

    for line in planned.lines() if planned else ():
        typer.echo(printable(line))
    typer.echo(("nothing was changed by this dry run: " if planned else "") + changes_line(changes, seconds))


def print_check(problems: Sequence[str], *, as_json: bool) -> None:
    """Print the problems that a check found, or that there are none."""
    if as_json:
        print_object({"ok": not problems, "problems": list(problems)})
        return
    for problem in problems:
        typer.echo(printable(problem))
    if not problems:
        typer.echo("nothing is wrong")


def json_line(values: dict[str, Any]) -> str:
    """Return an object as a line of JSON, without control characters."""
    return printable_json(json.dumps(values, ensure_ascii=False))


def print_object(values: dict[str, Any]) -> None:
    """Print a line of JSON in UTF-8, whatever the locale; one with half of a surrogate pair is escaped as ASCII."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    text = json_line(values)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(values)
    typer.echo(text)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of a file that other programs read, in UTF-8 whatever the encoding of the terminal."""
    for line in lines:
        typer.echo(line.encode(errors="replace"))


def print_text(line: str) -> None:
    """Print a line of a document's text, without control sequences that a terminal would execute."""
    typer.echo(printable(line).rstrip())


def note(text: str) -> None:
    """Print a line on standard error; if that is closed or full, the work goes on without the note."""
    with suppress(OSError):
        typer.echo(f"moverank: {printable(text)}", err=True)
