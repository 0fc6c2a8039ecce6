"""Compares whole processes of the command line now and at a git revision, on 20 Newsgroups' training part.

The two run in pairs, each first in turn, because the speed of a machine drifts: ratios are medians over the pairs. Both
run from a checkout with compiled bytecode, as an installed package does. `CPU` adds up all threads, and is more
reliable on a busy machine. The last rows are floors: interpreters which import only what every such command needs.
Every `remove` removes another document, from a copy of the collection for each side.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import (
    Run,
    any_missed,
    argument_parser,
    gzip_records,
    median,
    median_cpu,
    run_process,
    show,
    show_table,
    vectors,
    verdict,
)
from tests.benchmarks.revisions import NOW, compared_times, in_turns, run_version, versions
from tests.benchmarks.usual_collections import documents_of

HEADS = ("process", "before s", "now s", "ratio", "CPU before", "CPU now", "CPU ratio", "target", "")
QUERY = "my car makes a rattling noise when I brake"
SEARCH, OTHER = 0.45, 0.5
"""Targets: the ratios of `search`, and of the commands which search nothing."""
FLOORS = {
    "python": "pass",
    "+ typer": "import typer, pydantic.types",
    "+ sqlalchemy": "import typer, pydantic.types, sqlalchemy.dialects.sqlite",
    "+ numpy": "import typer, pydantic.types, sqlalchemy.dialects.sqlite, numpy",
    "+ numba": "import typer, pydantic.types, sqlalchemy.dialects.sqlite, numpy, numba",
}


@dataclass(frozen=True, slots=True)
class Side:
    """A checkout, and its copy of the collection."""

    checkout: Path
    collection: Path

    def run(self, *arguments: str) -> Run:
        """Run a command on the collection."""
        return run_version(self.checkout, ["-m", "moverank", *arguments, "-i", self.collection])


Arguments = Callable[[int], tuple[str, ...]]
"""The arguments of a command in each turn."""


def row(name: str, sides: tuple[Side, Side], arguments: Arguments, pairs: int, target: float) -> list[object]:
    """Run a command on both sides, and return its row."""
    before, now = in_turns(sides, range(-1, pairs), lambda side, turn: side.run(*arguments(turn)))
    cells = compared_times(before[1:], now[1:])  # the first run compiles what is cached
    return [name, *(f"{cell:.2f}" for cell in cells), f"<= {target}", verdict(cells[2] <= target)]


def floor_rows(repeats: int) -> list[list[object]]:
    """Return a row for each floor."""
    rows: list[list[object]] = []
    for name, code in FLOORS.items():
        runs = [run_process([sys.executable, "-c", code]) for _ in range(repeats)]
        rows.append([name, "", f"{median(runs):.2f}", "", "", f"{median_cpu(runs):.2f}", "", "", ""])
    return rows


def compare(sides: tuple[Side, Side], keys: list[str], long: Path, pairs: int) -> list[list[object]]:
    """Return the rows of all commands; `keys` are those of documents to remove, `long` is a file with a long query."""
    commands: dict[str, tuple[Arguments, float]] = {
        "search --exact": (lambda _: ("search", QUERY, "--exact"), SEARCH),
        "search --exact --json": (lambda _: ("search", QUERY, "--exact", "--json"), SEARCH),
        "search --exact --rank wmd": (lambda _: ("search", QUERY, "--exact", "--rank", "wmd"), SEARCH),
        "search --exact --file": (lambda _: ("search", "--file", str(long), "--exact"), SEARCH),
        "info": (lambda _: ("info",), OTHER),
        "list -n 20": (lambda _: ("list", "-n", "20"), OTHER),
        "list": (lambda _: ("list",), OTHER),
        "remove": (lambda turn: ("remove", keys[turn + 1]), OTHER),
    }
    return [row(name, sides, arguments, pairs, target) for name, (arguments, target) in commands.items()]


def main() -> None:
    """Print a table; exit with 1 if a target is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--revision", default="HEAD", help="what to compare with (HEAD: without uncommitted changes)")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of runs of each command (10)")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with TemporaryDirectory() as name, versions(arguments.revision) as checkouts:
        directory = Path(name)
        os.environ["PYTHONPYCACHEPREFIX"] = str(directory / "bytecode")  # none in the checkout
        records = [record for record in gzip_records(documents_of("20news")) if record["split"] == "train"]
        source = directory / "documents.jsonl"
        source.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
        before, now = checkouts[arguments.revision], checkouts[NOW]
        sides = Side(before, directory / "a"), Side(now, directory / "b")
        # Made by the revision: if the schema has changed since, opening it now migrates it.
        sides[0].run("index", str(source), "--embedding", str(vectors()))
        shutil.copytree(sides[0].collection, sides[1].collection)
        long = directory / "long.txt"
        long.write_text(str(records[7]["text"]), encoding="utf-8")
        keys = [str(record["id"]) for record in records[: arguments.pairs + 1]]
        rows = compare(sides, keys, long, arguments.pairs)
        show(f"{len(records):,} documents of 20 Newsgroups, {arguments.pairs} pairs; before: {arguments.revision}")
        show_table(HEADS, [*rows, *floor_rows(arguments.pairs)])
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
