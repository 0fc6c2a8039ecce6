"""`demo`: runs commands through the app, and shows each as a user would type it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.indexer.commands.program import Call


def test_the_commands_of_the_demo_are_shown_and_run(
    call: Call, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def steps(_: Path) -> Iterator[tuple[str, list[str]]]:
        yield "First the sizes.", ["info", "-i", str(collection), "--json"]
        yield "Then a search.", ["search", "cat and $dog", "-i", str(collection), "-k", "1"]

    monkeypatch.setattr("moverank.indexer.demo.steps.prepare", lambda _: 0)
    monkeypatch.setattr("moverank.indexer.demo.steps.steps", steps)
    answer = call("demo", "--directory", tmp_path / "demo")
    assert (answer.code, answer.err) == (0, "")
    shown = answer.out.splitlines()
    assert shown[1:3] == ["First the sizes.", f"$ moverank info -i {collection} --json"]
    assert shown[3].startswith('{"documents": 10,')
    assert shown[6] == f"$ moverank search 'cat and $dog' -i {collection} -k 1"
    assert shown[7].split()[-3:] == ["Cat", "story", "[even]"]
    assert shown[-1].startswith(f"Everything is in {tmp_path / 'demo'}")


def test_a_directory_with_other_files_is_refused(call: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("cat")
    answer = call("demo", "--directory", tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert "--directory" in answer.sentence
