"""Prints the size of the house: lines, modules, rooms, functions, options, and what a search and an index enter.

A room is a file or a folder of `indexer`, `rerank` as a whole, or another file or folder at the top. An arrow leads
from a room to one that it imports, also inside functions or for type checkers. The floors are the rooms of the longest
way along the arrows, those for type checkers left out. An option is declared once for all commands that have it with
the same name and help. A search and an indexing run of a small collection are traced in the main thread. "entered" is
the number of modules of moverank with a function that ran, "returns" how often the trace came back to a module that it
had left, and "frames" the number of frames between `Collection.search` and `Cascade.upper_bounds`.
"""

import ast
import sys
import tempfile
from collections.abc import Callable, Iterator
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
    trees = {path: ast.parse(path.read_text()) for path in files}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    arrows, found = rooms(trees), options(typer.main.get_command(app))
    return {
        "lines": sum(map(_lines, files)),
        "lines of the core": sum(_lines(path) for path in files if "plugins" not in path.parts),
        "lines of the tests": sum(map(_lines, (ROOT / "tests").rglob("*.py"))),
        "statements": sum(isinstance(node, ast.stmt) for node in nodes),
        "modules": len(files),
        "rooms": len(arrows),
        "floors": _floors(rooms(trees, types=False)),
        "arrows": sum(map(len, arrows.values())),
        "functions": sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes),
        "functions of 7 or more parameters": sum(
            len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs])
            - (node.args.args[:1] != [] and node.args.args[0].arg in ("self", "cls"))
            >= 7
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ),
        "imports inside functions": sum(
            isinstance(inner, ast.Import | ast.ImportFrom)
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for inner in node.body
        ),
        "options": len(found),
        "options: declared": len(set(found)),
    }


def rooms(trees: dict[Path, ast.Module], *, types: bool = True) -> dict[str, set[str]]:
    """Return the rooms that each room imports; `types`: also for type checkers alone."""
    package = {path: ast.parse(path.read_text()) for path in (ROOT / ".src" / "moverank").glob("*.py")}
    names = {_name(path): tree for path, tree in (trees | package).items()}
    arrows: dict[str, set[str]] = {_room(name): set() for name in names}
    for name, tree in names.items():
        imported = {full if full in names else module for full, module in _imports(tree, types=types)}
        arrows[_room(name)] |= {_room(one) for one in imported & names.keys()} - {_room(name)}
    return arrows


def _imports(node: ast.AST, *, types: bool) -> Iterator[tuple[str, str]]:
    """Yield what is imported from a module, and the module."""
    if isinstance(node, ast.ImportFrom):
        yield from ((f"{node.module}.{alias.name}", node.module or "") for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from ((alias.name, alias.name) for alias in node.names)
    elif types or not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, types=types)


def _name(path: Path) -> str:
    """Return the dotted name of a module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] == ".src" else ("moverank", *parts)
    return ".".join(parts).removesuffix(".__init__")


def _room(name: str) -> str:
    return ".".join(name.split(".")[1 : 3 if name.startswith("moverank.indexer.") else 2])


def _floors(arrows: dict[str, set[str]]) -> int:
    """Return the number of rooms on the longest way; RuntimeError for a circle."""
    floors = dict.fromkeys(arrows, 1)
    for _ in arrows:
        above = {room: 1 + max((floors[one] for one in below), default=0) for room, below in arrows.items()}
        if above == floors:
            return max(floors.values())
        floors = above
    raise RuntimeError("the rooms import each other in a circle")


def _lines(path: Path) -> int:
    return path.read_text().count("\n")


def options(command: Any) -> list[tuple[str, str]]:
    """Return name and help of the options of a command and those below it, but for `--help`."""
    own = [one for one in command.params if one.param_type_name == "option" and one.name != "help"]
    below = [option for each in getattr(command, "commands", {}).values() for option in options(each)]
    return [*((one.opts[0], one.help or "") for one in own), *below]


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
