"""Prints the size of the house: lines, statements, modules, functions, options, and what a search and an index enter.

A search and an indexing run of a small collection are traced in the main thread. "entered" is the number of modules of
moverank with a function that ran, "returns" how often the trace came back to a module that it had left, and "frames"
the number of frames between `Collection.search` and `Cascade.upper_bounds`.
"""

import ast
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import typer.main

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, Document, Part, Settings
from moverank.cli import app
from tests.benchmarks.common import ROOT, argument_parser, show_table

FOLDERS = ("rerank", "indexer", "migrations")
TEXTS = ("the plug gets hot", "a warm heater", "the late train", "trains and planes", "a red wine", "green water")


def sizes() -> dict[str, int]:
    """Return lines, statements, modules and functions of the package, and options of the command line."""
    files = [ROOT / "cli.py", *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))]
    trees = [ast.parse(path.read_text()) for path in files]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return {
        "lines": sum(map(_lines, files)),
        "lines of the core": sum(_lines(path) for path in files if "plugins" not in path.parts),
        "statements": sum(isinstance(node, ast.stmt) for node in nodes),
        "modules": len(files),
        "functions": sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes),
        "imports inside functions": sum(
            isinstance(inner, ast.Import | ast.ImportFrom)
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for inner in node.body
        ),
        "options": options(typer.main.get_command(app)),
    }


def _lines(path: Path) -> int:
    return path.read_text().count("\n")


def options(command: Any) -> int:
    """Return how many options a command and those below it have, but for `--help`."""
    own = [one for one in command.params if one.param_type_name == "option" and one.name != "help"]
    return len(own) + sum(map(options, getattr(command, "commands", {}).values()))


class Trace:
    """The modules of moverank that functions entered, in their order, and the frames of the first cascade."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.frames: int | None = None

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call."""
        name = frame.f_globals.get("__name__", "")
        if event != "call" or not name.startswith("moverank."):
            return
        if not self.path or self.path[-1] != name:
            self.path.append(name)
        if self.frames is None and frame.f_code.co_qualname == "Cascade.upper_bounds":
            self.frames = frames_between(frame)

    def of(self, name: str, work: Callable[[], object]) -> list[tuple[str, object]]:
        """Trace `work`, called `name`, and return rows of what it entered."""
        sys.setprofile(self)
        try:
            work()
        finally:
            sys.setprofile(None)
        entered = len(set(self.path))
        rows: list[tuple[str, object]] = [(f"{name}: entered", entered), (f"{name}: returns", len(self.path) - entered)]
        return rows if self.frames is None else [*rows, (f"{name}: frames", self.frames)]


def frames_between(frame: FrameType) -> int | None:
    """Return the number of frames of moverank from `Collection.search` to this one, both left out."""
    count, each = 0, frame.f_back
    while each is not None and each.f_code.co_qualname != "Operated.search":
        count += each.f_globals.get("__name__", "").startswith("moverank.")
        each = each.f_back
    return None if each is None else count


def main() -> None:
    """Print the figures."""
    argument_parser(__doc__).parse_args()
    rows: list[tuple[str, object]] = list(sizes().items())
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder, "vectors.txt")
        words = sorted({word for text in TEXTS for word in text.split()})
        vectors.write_text("".join(f"{word} {i} {i * i % 7} 1\n" for i, word in enumerate(words)))
        documents = [Document(f"d{i}", "", (Part(text),)) for i, text in enumerate(TEXTS * 20)]
        documents = [Document(f"d{i}", "", one.parts) for i, one in enumerate(documents)]
        with Collection.create(Path(folder, "small"), Settings(embedding=str(vectors))) as collection:
            rows += Trace().of("index", lambda: collection.index(documents))
            collection.search("a hot plug", k=3)  # opens the state, and compiles
            rows += Trace().of("search", lambda: collection.search("a hot train", k=3, rank="wmd"))
    show_table(["what", "number"], rows)


if __name__ == "__main__":
    main()
