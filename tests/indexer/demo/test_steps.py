import json
from pathlib import Path

import pytest

from moverank import Document, Part, ReadError, UsageError
from moverank.indexer.demo import steps as demo
from moverank.indexer.demo.examples import DOCSTRING_QUERIES, THREAD_QUERIES


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> list[Document]:
    """The documents of the standard library from now on."""
    documents = [Document("box.open", "open(self)", (Part("Open the box."),), "box", {"kind": "method"})]
    monkeypatch.setattr(demo, "docstring_documents", lambda: iter(documents))
    return documents


def test_the_texts_are_written_and_written_again(library: list[Document], tmp_path: Path) -> None:
    for _ in range(2):
        demo.prepare(tmp_path / "demo")
        (line,) = (tmp_path / "demo" / "docstrings.jsonl").read_text().splitlines()
        assert json.loads(line) == {"id": "box.open", "label": "box", "text": "Open the box.", "kind": "method"}
        assert len((tmp_path / "demo" / "threads.jsonl").read_text().splitlines()) == 114
    library.clear()
    with pytest.raises(ReadError, match="without the sources of its standard library"):
        demo.prepare(tmp_path / "demo")


@pytest.mark.usefixtures("library")
def test_a_directory_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="holds something else: name another"):
        demo.prepare(tmp_path)
    with pytest.raises(UsageError, match="cannot be written"):
        demo.prepare(tmp_path / "file" / "demo")


def test_every_query_is_a_command_on_its_collection() -> None:
    commands = [arguments for _, arguments in demo.steps(Path("demo"))]
    assert len(commands) == 3 + len(DOCSTRING_QUERIES) + len(THREAD_QUERIES)
    assert commands[0][:4] == ["index", "demo/docstrings.jsonl", "-i", "demo/docstrings.index"]
    assert commands[-2] == ["similar", "fuse-blows", "-i", "demo/threads.index", "-k", "3", "--rank", "pwmd"]
    assert (commands[-3][:-1], commands[-3][-1], commands[-2][-1]) == (commands[-2][:-1], "wmd", "pwmd")
    assert commands[-1] == commands[1 + len(DOCSTRING_QUERIES)]
