"""Directories as they are: ignored files, pages, notebooks, converted files, and files that cannot be read."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moverank.indexer.documents import Document, Rejection
from moverank.indexer.readers import read_documents
from tests.indexer.commands.program import Call

NOBODY = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        ".gitignore": "*.log\n",
        "cat.md": "---\ntitle: Cat\ndate: 2021-03-05\n---\ncat dog\n",
        "bird.html": "<title>Bird</title><script>fish</script><p>bird bird",
        "train.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": ["train bus"]}]}),
        "deep/bus.txt": "bus car",
        "build.log": "plane",
    }
    for name, text in files.items():
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "folder"


def _keys(call: Call, collection: Path, *words: str) -> set[str]:
    found: set[str] = set()
    for word in words:
        hits = call("search", word, "-i", collection, "--exact", "-k", "99", "--json").json["hits"]
        found |= {Path(hit["key"]).name for hit in hits}
    return found


def test_a_folder_as_it_is(call: Call, empty: Path, folder: Path) -> None:
    answer = call("index", folder, "-i", empty, "--json")
    assert (answer.code, answer.err, answer.json["added"]) == (0, "", 4)
    assert _keys(call, empty, "cat") == {"cat.md", "bird.html", "train.ipynb", "bus.txt"}
    answer = call("search", "fish", "-i", empty, "--json", "--where", "date=2021-03-05")
    assert [hit["title"] for hit in answer.json["hits"]] == ["Cat"]


@pytest.mark.parametrize(
    ("options", "added"),
    [
        (["--no-ignore"], 5),
        (["--include", "*.md", "--include", "*.txt"], 2),
        (["--exclude", "deep/", "--exclude", "*.html"], 2),
        (["--include", "*.log", "--no-ignore"], 1),
        (["--pre", "cat {}", "--pre-glob", "*.html"], 4),
    ],
)
def test_options_choose_the_files(call: Call, empty: Path, folder: Path, options: list[str], added: int) -> None:
    answer = call("index", folder, "-i", empty, "--json", *options)
    assert (answer.code, answer.json["added"]) == (0, added)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--exclude", "!"], "--exclude: '!' is no pattern as in a .gitignore"),
        (["--encoding", "nope"], "there is no encoding 'nope': name one such as latin-1"),
        (["--pre-glob", "*.pdf"], "--pre is empty: name a command, such as 'pdftotext {} -'"),
        (["--pre", "no-such-command"], "--pre: there is no command 'no-such-command'"),
    ],
)
def test_invalid_options(call: Call, empty: Path, folder: Path, options: list[str], message: str) -> None:
    answer = call("index", folder, "-i", empty, *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.sentence


def test_only_excluded_files_are_an_error(call: Call, empty: Path, folder: Path) -> None:
    answer = call("index", folder, "-i", empty, "--include", "*.pdf")
    assert answer.code == 1
    assert "every file is left out by a .gitignore, --include or --exclude: see --no-ignore" in answer.sentence


def test_threads_of_a_folder(call: Call, empty: Path, tmp_path: Path) -> None:
    record = {"id": 1, "title": "café cat", "comments": [{"text": "dog"}]}
    (tmp_path / "a.json").write_text(json.dumps([record], ensure_ascii=False, indent=1), encoding="latin-1")
    (tmp_path / "b.json").write_text("{")
    answer = call("threads", tmp_path, "-i", empty, "--include", "a.json", "--encoding", "latin-1", "--json")
    assert (answer.code, answer.err, answer.json["added"]) == (0, "", 1)


def test_broken_lines_are_counted_after_the_first_ones(call: Call, empty: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "cat"}\n' + "{\n" * 100)
    answer = call("index", file, "-i", empty, "--json")
    assert (answer.code, answer.json["rejected"]) == (0, 100)
    assert answer.err.count("\n") == 21
    assert answer.err.endswith(f"moverank: {file}: 80 more records were rejected\n")


@pytest.fixture
def as_nobody() -> Iterator[Callable[[], None]]:
    """Returns a function after which the process has the rights of another user, until the test ends."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    yield lambda: os.seteuid(NOBODY)
    os.seteuid(0)


@pytest.mark.parametrize("path", [".", "**/*.txt", "*"])
def test_what_this_user_cannot_read_is_rejected(
    folder: Path, monkeypatch: pytest.MonkeyPatch, as_nobody: Callable[[], None], path: str
) -> None:
    for name, mode in (("locked/a.txt", 0), ("listed/b.txt", 0o444), ("closed.txt", 0)):
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("cat")
        (file if file.parent == folder else file.parent).chmod(mode)
    folder.parent.chmod(0o700)
    folder.chmod(0o755)
    monkeypatch.chdir(folder)
    as_nobody()
    records = list(read_documents([path]))
    assert "deep/bus.txt" in [record.key for record in records if isinstance(record, Document)]
    assert sorted(str(record).lower() for record in records if isinstance(record, Rejection)) == [
        "closed.txt: cannot be read: permission denied",
        "listed/b.txt: cannot be read: permission denied",
        "locked: cannot be read: permission denied",
    ]
