"""Directories as they are: ignored files, pages, notebooks, converted files, and files that cannot be read."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moverank.indexer.reading import read_documents
from moverank.indexer.reading.finding.origins import Origins
from moverank.indexer.values.documents import Document, Rejection
from tests.indexer.commands.program import Call
from tests.indexer.world import MakeCollection

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
    record = {"id": 1, "title": "café cat", "comments": [{"text": "dog dog dog dog"}]}
    (tmp_path / "a.json").write_text(json.dumps([record], ensure_ascii=False, indent=1), encoding="latin-1")
    (tmp_path / "b.json").write_text("{")
    answer = call("threads", tmp_path, "-i", empty, "--include", "a.json", "--encoding", "latin-1", "--json")
    assert (answer.code, answer.err, answer.json["added"]) == (0, "", 1)


def test_broken_lines_are_counted_after_the_first_ones(call: Call, empty: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "cat"}\n' + "{\n" * 100)
    answer = call("index", file, "-i", empty, "--json")
    assert (answer.code, answer.json["rejected"]) == (1, 100)
    assert answer.err.count("\n") == 22
    assert f"moverank: {file}: 80 more records were rejected\n" in answer.err


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


def test_what_cannot_be_read_any_more_is_kept_by_prune(
    make_collection: MakeCollection, folder: Path, monkeypatch: pytest.MonkeyPatch, as_nobody: Callable[[], None]
) -> None:
    collection = make_collection()
    monkeypatch.chdir(folder)
    (folder / "gone.txt").write_text("bus")
    (folder / "build.log").unlink()  # nobody cannot read the .gitignore by its absolute path
    scope = Origins(["."]).scope
    assert collection.index(read_documents(["."]), scope=scope).added == 5
    (folder / "gone.txt").unlink()
    for name in ("cat.md", "deep"):
        (folder / name).chmod(0)
    as_nobody()
    records = list(read_documents(["."]))
    os.seteuid(0)
    changes = collection.index(records, scope=scope, prune=True)
    assert (changes.unchanged, changes.removed, changes.rejected, changes.kept) == (2, 1, 2, 2)
    assert sorted(collection.keys()) == ["bird.html", "cat.md", "deep/bus.txt", "train.ipynb"]


def test_files_that_are_ignored_from_now_on_are_pruned(call: Call, empty: Path, folder: Path) -> None:
    call("index", folder, "-i", empty)
    (folder / ".gitignore").write_text("deep/\n*.log\n")
    planned = call("index", folder, "-i", empty, "--prune", "--dry-run", "--json").json
    assert planned["keys"] == {"added": [], "updated": [], "removed": [f"{folder}/deep/bus.txt"]}
    answer = call("index", folder, "-i", empty, "--prune", "--exclude", "*.ipynb", "--json")
    assert (answer.code, answer.json["removed"], answer.json["unchanged"]) == (0, 2, 2)


def test_converted_files_have_a_source_and_are_pruned(
    call: Call, empty: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "plug.pdf").write_bytes(b"%PDF-1.4 cat\0")
    (folder / "bus.pdf").write_bytes(b"%PDF-1.4 bus\0")
    monkeypatch.chdir(folder.parent)
    assert call("index", "folder", "-i", empty, "--json").json["added"] == 4
    without = call("index", folder, "-i", empty, "--prune", "--json")
    assert (without.code, without.json["unchanged"], without.json["rejected"]) == (0, 4, 2)
    (folder / "strip.sh").write_text("#!/bin/sh\ntr -d '\\000' < \"$1\" | cut -c 9-\n")
    pre = ("--pre", "sh folder/strip.sh", "--pre-glob", "folder/*.pdf", "--exclude", "*.sh")
    assert call("index", "./folder/", "-i", empty, *pre, "--json").json["added"] == 2
    without = call("index", "folder", "-i", empty, "--prune", "--exclude", "*.sh", "--json")
    assert (without.code, without.json["kept"]) == (1, 2)
    assert "are kept: what was rejected may hold them" in without.err
    (folder / "bus.pdf").unlink()
    pruned = call("index", "folder", "-i", empty, "--prune", *pre, "--json")
    assert (pruned.code, pruned.err, pruned.json["removed"], pruned.json["unchanged"]) == (0, "", 1, 5)
    shown = call("show", "folder/plug.pdf", "-i", empty, "--json").json
    assert (shown["source"], shown["file"], shown["parts"]) == (
        str(folder),
        "plug.pdf",
        [{"text": " cat\n", "rank": 0}],
    )


@pytest.mark.parametrize("command", ["index", "threads"])
def test_a_maildir_is_one_source_whose_messages_may_be_read_and_flagged(
    call: Call, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for part in ("cur", "new", "tmp"):
        (tmp_path / "mail" / part).mkdir(parents=True)
    heads = {"1.a": "Message-ID: <a@x>\nSubject: cat", "2.b": "Subject: dog", "3.c": "Message-ID: <c@x>\nSubject: bus"}
    for name, head in heads.items():
        (tmp_path / "mail/new" / name).write_text(f"{head}\n\ntrain\n")
    keys = {"a@x", "mail/2.b", "c@x"}
    answer = call(command, "mail", "-i", empty, "--json")
    assert (answer.err, answer.json["added"]) == ("", 3)
    assert {each["key"] for each in call("list", "-i", empty, "--json").lines} == keys
    for file in (tmp_path / "mail/new").iterdir():
        file.rename(tmp_path / f"mail/cur/{file.name}:2,S")
    for path in ("./mail/", str(tmp_path / "mail")):
        answer = call(command, path, "-i", empty, "--prune", "--json")
        assert (answer.code, answer.err, answer.json["unchanged"], answer.json["removed"]) == (0, "", 3, 0)
    (tmp_path / "mail/cur/3.c:2,S").unlink()
    monkeypatch.chdir(tmp_path / "mail")
    assert call(command, ".", "-i", empty, "--prune", "--json").json["removed"] == 1
    (listed,) = {each["source"] for each in call("list", "-i", empty, "--json").lines}
    assert listed == str(tmp_path / "mail")
