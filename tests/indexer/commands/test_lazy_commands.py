import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer

import moverank.indexer.commands
from moverank.indexer.commands.lazy_commands import MODULES, PANELS, LazyCommands

_FOLDER = Path(next(iter(moverank.indexer.commands.__path__)))


def _apps() -> set[str]:
    """Return the names of the modules that define an app of their own."""
    trees = {path.stem: ast.parse(path.read_text()) for path in _FOLDER.glob("*.py")}
    targets = {
        name: [ast.unparse(each) for node in tree.body if isinstance(node, ast.Assign) for each in node.targets]
        for name, tree in trees.items()
    }
    return {name for name, found in targets.items() if "app" in found}


def test_the_table_names_every_module_with_commands() -> None:
    assert set(MODULES) == _apps()


@pytest.mark.parametrize("module", MODULES)
def test_the_table_names_the_commands_of_a_module(module: str) -> None:
    app = import_module(f"{moverank.indexer.commands.__name__}.{module}").app
    parent = typer.Typer()
    parent.add_typer(app)
    assert tuple(typer.main.get_group(parent).commands) == MODULES[module]


@pytest.mark.plugin("evidence", "laboratory", "proofs", "serving", "shards", "watching")
def test_every_command_is_in_one_panel() -> None:
    names = [name for panel in PANELS.values() for name in panel]
    assert sorted(names) == sorted(LazyCommands())
    assert {name: LazyCommands()[name].rich_help_panel for name in ("index", "evaluate", "shards")} == {
        "index": "Everyday",
        "evaluate": "Measure",
        "shards": "Maintain",
    }


@pytest.mark.plugin("shards")
def test_commands_are_a_mapping_which_others_can_be_added_to() -> None:
    commands = LazyCommands()
    names = list(commands)
    assert commands["info"].name == "info"
    assert commands["shards"].commands["info"].name == "info"
    commands["more"] = commands["info"]
    assert list(commands) == [*names, "more"]
    del commands["more"]
    assert list(commands) == names
    assert len(commands) == len(names)
    assert commands.get("more") is None


@pytest.mark.slow
def test_a_process_imports_the_module_of_its_command_only() -> None:
    code = (
        "import sys; from moverank import cli; sys.argv = ['moverank', 'info', '--help']\n"
        "try: cli.main()\nexcept SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    modules = {f"{moverank.indexer.commands.__name__}.{module}" for module in MODULES}
    assert modules.intersection(loaded) == {f"{moverank.indexer.commands.__name__}.upkeep"}
