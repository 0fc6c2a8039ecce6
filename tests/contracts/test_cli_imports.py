"""The command line parses, calls the library and prints: importing it is cheap, and it holds no state."""

import ast
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUG_INS = entry_points(group="moverank.commands")
COMMANDS = "moverank.indexer.commands"
MODULES = [
    ROOT / "cli.py",
    *sorted((ROOT / "indexer" / "commands").glob("*.py")),
    *(ROOT.joinpath(*point.module.split(".")[1:]).with_suffix(".py") for point in PLUG_INS),
]
STATE = {"sqlalchemy", "alembic", "faiss", "ot", "numba", "numpy", "scipy", "gensim", "filelock"}
OPTIONS = (
    "moverank.indexer.values.arguments",
    "moverank.indexer.values.option",
    "moverank.indexer.values.pair_options",
    "moverank.indexer.values.search_options",
)
LIGHT = (COMMANDS, "moverank.indexer.errors", "moverank.rerank.errors", *OPTIONS, *(point.module for point in PLUG_INS))
ROOMS = {
    f"moverank.indexer.{room}" for room in ("formatters", "indexing", "operations", "reading")
}  # names on first use
LAZY = {"text_notes.py", "update.py", "vector_notes.py"}  # bodies of commands, imported inside them or by each other


def _imports(node: ast.AST) -> Iterator[str]:
    """Yield the dotted names that the statements in a node import."""
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            yield from (f"{child.module}.{alias.name}" for alias in child.names)


def _imported_with(tree: ast.Module) -> set[str]:
    """Return the dotted names that are imported with a module."""
    statements = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return {name for node in statements for name in _imports(node)}


def _packages(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("path", [path for path in MODULES if path.name not in LAZY], ids=lambda path: path.name)
def test_nothing_heavy_is_imported_before_a_command_runs(path: Path) -> None:
    imported = _imported_with(ast.parse(path.read_text()))
    assert _packages({name for name in imported - ROOMS if not name.startswith(LIGHT)}).isdisjoint(
        {"moverank", "rich"} | STATE
    )


def test_the_lazy_modules_are_imported_inside_functions_only() -> None:
    lazy = tuple(f"{COMMANDS}.{name.removesuffix('.py')}." for name in LAZY)
    for path in (path for path in MODULES if path.name not in LAZY):
        assert not any(f"{name}.".startswith(lazy) for name in _imported_with(ast.parse(path.read_text())))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_the_command_line_leaves_state_to_the_library(path: Path) -> None:
    assert _packages(set(_imports(ast.parse(path.read_text())))).isdisjoint(STATE)
