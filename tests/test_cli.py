"""The app and its entry points: help, version, lazy imports and unexpected exceptions."""

import importlib.metadata
import platform
import subprocess
import sys

import pytest
import typer

from moverank import cli
from tests.indexer.commands.program import Call, program


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs `moverank` with arguments."""
    return program(monkeypatch, capsys)


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["index"],
        ["threads"],
        ["search"],
        ["similar"],
        ["explain"],
        ["list"],
        ["show"],
        ["export"],
        ["remove"],
        ["refit"],
        ["info"],
        ["check"],
        ["backup"],
        ["demo"],
        ["help"],
        *(
            pytest.param(["evaluate", name], marks=pytest.mark.plugin("laboratory"))
            for name in ("retrieval", "knn", "gamma", "multilabel", "bounds")
        ),
    ],
)
def test_every_command_has_help_with_an_example(call: Call, command: list[str]) -> None:
    answer = call(*command, "--help")
    assert answer.code == 0
    assert ("Example" in answer.out) == bool(command)


def test_versions_are_those_of_what_is_imported(call: Call) -> None:
    import faiss
    import numba
    import numpy as np
    import ot

    answer = call("--version")
    assert answer.code == 0
    own, others = answer.out.splitlines()
    assert own == f"moverank {importlib.metadata.version('moverank')}"
    imported = f"FAISS {faiss.__version__}, POT {ot.__version__}, numpy {np.__version__}, numba {numba.__version__}"
    assert others == f"Python {platform.python_version()}, {imported}"


def test_a_package_of_another_name_has_no_known_version(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_NAMED_WITH_THE_VERSION", {"FAISS": "moverank-faiss"})
    assert call("--version").out.endswith(", FAISS of unknown version\n")


def test_without_a_command_the_help_is_shown(call: Call) -> None:
    answer = call()
    assert answer.code == 2
    assert "Usage:" in answer.out
    assert answer.err == ""


HEAVY = {"alembic", "faiss", "filelock", "gensim", "numba", "numpy", "ot", "scipy", "sqlalchemy"}


def test_minus_h_is_help(call: Call) -> None:
    assert call("-h").out == call("--help").out


LIGHT = {
    "moverank",
    "moverank.cli",
    "moverank.indexer",
    "moverank.indexer.commands",
    "moverank.indexer.errors",
    "moverank.indexer.formatters",
    "moverank.indexer.reading",
    "moverank.indexer.values",
    "moverank.indexer.values.arguments",
    "moverank.indexer.values.option",
    "moverank.indexer.values.search_options",
    "moverank.lazy_names",
    "moverank.rerank",
    "moverank.rerank.answer",
    "moverank.rerank.errors",
}


def _loaded(*arguments: str) -> set[str]:
    """Return the modules that a run of the program imports."""
    statements = (
        "import sys",
        "from moverank import cli",
        f"sys.argv = ['moverank', *{arguments}]",
        "try: cli.main()",
        "except SystemExit: print(*sys.modules, file=sys.stderr)",
    )
    command = [sys.executable, "-c", "\n".join(statements)]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())
    assert "moverank.cli" in loaded
    return loaded


@pytest.mark.parametrize("topic", ["search", "evaluation"])
def test_a_page_of_the_manual_imports_nothing_heavy(topic: str) -> None:
    assert not _loaded("help", topic) & HEAVY


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["search", "--help"]])
def test_help_and_versions_import_nothing_heavy(arguments: list[str]) -> None:
    loaded = _loaded(*arguments)
    assert not loaded & HEAVY
    own = {name for name in loaded if name.split(".")[0] == "moverank"}
    commands = ("moverank.indexer.commands.", "moverank.indexer.plugins")
    listed = (
        set()
        if arguments[0] != "--help"
        else {
            "moverank.indexer.operations",
            "moverank.indexer.values.pair_options",
            "moverank.rerank.entry_points",
        }
    )
    assert {name for name in own if not name.startswith(commands)} == LIGHT | listed


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main()


def test_the_parser_is_typer() -> None:
    """`main` relies on Typer raising errors instead of exiting."""
    assert isinstance(cli.app, typer.Typer)
