"""Runs of the program in the test's own process, and the documents of the collection that the tests copy."""

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from moverank import cli

WORDS = "cat dog bird fish train bus car plane apple bread cheese wine red green blue river".split()  # noqa: SIM905 - read as a line
CHANGES = ["added", "updated", "removed", "unchanged", "wordless", "rejected", "kept", "unread", "duplicates"]
CHANGES += ["revision", "coverage", "trained_seconds", "events"]
GOOD = '{"id": "good", "text": "cat dog"}\n'


@dataclass(frozen=True)
class Answer:
    """Exit code, standard output and standard error of one run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return the one object on standard output, which holds nothing else."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Return the objects on standard output, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def sentence(self) -> str:
        """Return the one sentence on standard error."""
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1
        assert self.err.startswith("moverank: ")
        return self.err.removeprefix("moverank: ").rstrip("\n")


Call = Callable[..., Answer]

_built = cache(typer.main.get_command)
"""The app's commands, built once for each process: Typer builds them again at each run, which takes half of a run."""


def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Return a function that runs `moverank` with arguments, through the entry point of the installed command."""
    monkeypatch.delenv("MOVERANK_INDEX", raising=False)
    monkeypatch.setattr(typer.main, "get_command", _built)

    def run(*arguments: str | Path, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "argv", ["moverank", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        # The first run on a machine compiles kernels and reports it: whether a test is the first is left to chance.
        notes = [line for line in captured.err.splitlines(keepends=True) if "compiling" not in line]
        return Answer(int(exit_.value.code or 0), captured.out, "".join(notes))

    return run


def write_documents(path: Path) -> None:
    """Write ten documents d0 ... d9 of three words each, with title, label and year, as JSONL."""
    records = [
        {
            "id": f"d{i}",
            "title": f"{WORDS[i].title()} story",
            "text": f"{WORDS[i]} {WORDS[i * 3 % 16]} {WORDS[(i * 5 + 2) % 16]}",
            "label": "even" if i % 2 == 0 else "odd",
            "year": 2000 + i,
        }
        for i in range(10)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
