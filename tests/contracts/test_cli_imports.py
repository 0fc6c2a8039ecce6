"""cli.py parses, calls and prints: it may know the library's doors, not what lies behind them."""

import ast
from pathlib import Path

CLI = Path(__file__).parents[2] / "cli.py"
STATE = {"sqlalchemy", "alembic", "faiss", "ot", "numba", "numpy", "scipy", "gensim", "filelock"}


def _imports(node: ast.AST) -> set[str]:
    found = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            found |= {alias.name.split(".")[0] for alias in child.names}
        elif isinstance(child, ast.ImportFrom) and child.module:
            found.add(child.module.split(".")[0])
    return found


def _at_top(tree: ast.Module) -> set[str]:
    statements = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return set().union(*(_imports(node) for node in statements))


def test_nothing_heavy_is_imported_before_a_command_runs() -> None:
    assert _at_top(ast.parse(CLI.read_text())).isdisjoint({"moverank", "rich"} | STATE)


def test_the_command_line_leaves_state_to_the_library() -> None:
    assert _imports(ast.parse(CLI.read_text())).isdisjoint(STATE)
