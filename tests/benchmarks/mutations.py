"""Changes the code at random, one place at a time, and counts the changes that the tests of the same room find.

Each mutant replaces one operator, constant or condition of a function. The fast tier runs against each of them, the
slow tests against those that it leaves. What survives both may be equivalent.
"""

import ast
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import ROOT, argument_parser, show, show_table

ROOMS = ("rerank/distance", "indexer/search", "indexer/store")
FAST: tuple[str, ...] = ()
SLOW = ("-m", "slow")
_TIME_LIMIT = 900
"""Seconds after which a mutant counts as found: those that reach them do not end."""

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "/",
    ast.And: "or",
    ast.Or: "and",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one change: the text between two places, in bytes, is replaced."""

    file: Path
    begin: int
    end: int
    after: str

    def text(self) -> bytes:
        """Return the changed text of the file."""
        content = (ROOT / self.file).read_bytes()
        return content[: self.begin] + self.after.encode() + content[self.end :]

    def shown(self) -> tuple[str, str]:
        """Return the place, and what is replaced by what."""
        content = (ROOT / self.file).read_bytes()
        before = " ".join(content[self.begin : self.end].decode().split())
        line = content.count(b"\n", 0, self.begin) + 1
        return f"{self.file}:{line}", f"{before[:40]} → {self.after.strip()[:40]}"


def _changes(node: ast.AST) -> tuple[ast.expr, ast.expr, str] | None:
    """Return what is replaced in a node: the expression after which it begins, that before which it ends, and the text.

    One expression as both is replaced itself.
    """
    match node:
        case ast.Compare(left, [operator], [right]) | ast.BinOp(left, operator, right):
            return (left, right, f" {_OPERATORS[type(operator)]} ") if type(operator) in _OPERATORS else None
        case ast.BoolOp(operator, [left, right, *_]):
            return left, right, f" {_OPERATORS[type(operator)]} "
        case ast.Constant(bool(value)):
            return node, node, str(not value)
        case ast.Constant(int(value) | float(value)):
            return node, node, str(value + 1)
        case ast.If(test) | ast.While(test) | ast.IfExp(test):
            return test, test, f"(not ({ast.unparse(test)}))"
    return None


def mutants(file: Path) -> Iterator[Mutant]:
    """Yield the mutants of the functions of a file."""
    content = (ROOT / file).read_bytes()
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    functions = [node for node in ast.walk(ast.parse(content)) if isinstance(node, ast.FunctionDef)]
    for node in (node for function in functions for statement in function.body for node in ast.walk(statement)):
        if change := _changes(node):
            left, right, after = change
            own = left is right
            begin = starts[left.lineno - 1] + left.col_offset
            left_end = starts[(left.end_lineno or 1) - 1] + (left.end_col_offset or 0)
            right_begin = starts[right.lineno - 1] + right.col_offset
            mutant = Mutant(file, begin, left_end, after) if own else Mutant(file, left_end, right_begin, after)
            with suppress(SyntaxError):  # a bracket stands between the operands
                ast.parse(mutant.text())
                yield mutant


def chosen(rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """Draw the mutants: as many of each room, at most one of a place."""
    rng = random.Random(seed)  # noqa: S311 - a sample that can be drawn again
    drawn = []
    for room in rooms:
        every = {
            (mutant.file, mutant.begin, mutant.after): mutant
            for file in sorted((ROOT / room).rglob("*.py"))
            for mutant in mutants(file.relative_to(ROOT))
        }
        drawn += rng.sample(list(every.values()), count // len(rooms))
    return drawn


def is_found(place: Path, room: str, options: tuple[str, ...], module: str = "") -> bool:
    """Return whether a test of the room fails; those of the file with the name of the `module` run first."""
    own = place / "tests" / room / f"test_{module}.py"
    paths = [*([own] if own.exists() else []), f"tests/{room}"]
    command = [sys.executable, "-m", "pytest", *map(str, paths), "-x", "-q", "--no-header", *options]
    variables = os.environ | {"PYTHONPATH": str(place / ".src")}
    try:
        run = subprocess.run(
            command, cwd=place, env=variables, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    if run.returncode not in (0, 1, 2, 5):
        sys.exit(f"pytest ended with {run.returncode}: {run.stdout[-2000:]}{run.stderr[-2000:]}")
    return run.returncode not in (0, 5)  # 5: the room has no such tests


def main() -> int:
    """Print a row for each mutant; return 1 if the fast tier misses more than three that all tests find."""
    parser = argument_parser(__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS))
    arguments = parser.parse_args()
    rows = []
    with TemporaryDirectory() as directory:
        place = Path(shutil.copytree(ROOT, Path(directory) / "moverank", symlinks=True, ignore=_unneeded))
        for room in arguments.rooms:
            for options in (FAST, SLOW):
                if is_found(place, room, options):
                    sys.exit(f"{room}: a test fails without a mutant")
        for mutant in chosen(arguments.rooms, arguments.count, arguments.seed):
            room = next(room for room in arguments.rooms if mutant.file.is_relative_to(room))
            (place / mutant.file).write_bytes(mutant.text())
            fast = is_found(place, room, FAST, mutant.file.stem)
            slow = fast or is_found(place, room, SLOW, mutant.file.stem)
            shutil.copy2(ROOT / mutant.file, place / mutant.file)
            rows.append((*mutant.shown(), *("found" if each else "" for each in (fast, slow))))
            show("  ".join(rows[-1]))
    show_table(("place", "change", "fast tier", "all tests"), rows)
    by_fast, by_all = (sum(row[column] == "found" for row in rows) for column in (2, 3))
    show(f"of {len(rows)} mutants the fast tier finds {by_fast}, all tests {by_all}")
    return int(by_all - by_fast > 3)


def _unneeded(folder: str, names: list[str]) -> set[str]:  # noqa: ARG001 - shutil's signature
    return {name for name in names if name in (".git", ".hypothesis", ".mypy_cache", ".ruff_cache")}


if __name__ == "__main__":
    sys.exit(main())
