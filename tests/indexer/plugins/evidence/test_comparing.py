"""The command `compare` as users call it."""

import json
from pathlib import Path
from typing import Any

import pytest

from moverank import Reranker
from moverank.indexer.search.searcher import Searcher
from tests.indexer.commands.program import Call

CLAIM = "The dog and the cat drink 2 l of wine. A late train."
SOURCE = "A cat, a dog and 2000 ml of red wine."


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    (tmp_path / "claim.txt").write_text(CLAIM)
    (tmp_path / "source.txt").write_text(SOURCE)
    (tmp_path / "other.txt").write_text("The train was late")
    return tmp_path


def test_json_is_the_evidence_of_the_library(call: Call, vectors: Path, texts: Path) -> None:
    files = [texts / name for name in ("claim.txt", "source.txt", "other.txt")]
    found = call("compare", *files, "--vectors", vectors, "--json").json
    expected = Reranker.load(vectors).evidence(CLAIM, {str(files[1]): SOURCE, str(files[2]): "The train was late"})
    assert found == {"claim": str(files[0])} | expected.to_dict()
    assert found["covered"] > 0.5
    assert found["certified"]


def test_stored_documents_are_named_by_their_keys(call: Call, vectors: Path, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text(json.dumps({"id": "a", "text": SOURCE}) + "\n")
    index = tmp_path / "index"
    assert call("index", tmp_path / "docs.jsonl", "-i", index, "--embedding", vectors).code == 0
    (tmp_path / "claim.txt").write_text(CLAIM)
    found = call("compare", tmp_path / "claim.txt", "key:a", "-i", index, "--json").json
    assert found["sources"] == ["key:a"]
    reversed_ = call("compare", "key:a", tmp_path / "claim.txt", "-i", index, "--json").json
    assert reversed_["claim"] == "key:a"
    assert call("compare", "key:a", "key:b", "-i", index).sentence.endswith("no document with the key 'b'")


def test_document_frequencies_are_not_counted(
    call: Call, vectors: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = texts / "index"
    assert call("index", texts / "source.txt", "-i", index, "--embedding", vectors).code == 0
    monkeypatch.setattr(Searcher, "document_frequencies", None)
    assert call("compare", texts / "claim.txt", texts / "source.txt", "-i", index).code == 0
    assert call("compare", "--versions", texts / "claim.txt", texts / "source.txt", "--vectors", index).code == 0


def test_the_text_marks_what_is_not_covered(call: Call, vectors: Path, texts: Path) -> None:
    found = call("compare", texts / "claim.txt", texts / "source.txt", "--vectors", vectors, "--within", "0")
    lines = found.out.splitlines()
    assert lines[0].startswith("4 of 7 units (57.1 %) are covered by 1 source within 0.000; certified")
    assert lines[2].startswith("   claim:1")
    assert lines[2].endswith("The dog and the cat [drink] 2 l of wine.")
    assert lines[3].endswith(SOURCE)
    assert lines[5].endswith("A [late] [train].")


def test_changes_are_shown_in_place(call: Call, vectors: Path, texts: Path) -> None:
    given = "compare", "--versions", texts / "claim.txt", texts / "source.txt", "--vectors", vectors, "--within", "0"
    found = call(*given, "--json").json
    assert found["units"] == {"kept": 4, "moved": 0, "changed": 0, "new": 6, "dropped": 9}
    assert found["old"] == str(texts / "claim.txt")
    shown = call(*given)
    assert "{+red+}" in shown.out
    assert "[-A late train.-]" in shown.out
    assert "Units: 4 kept, 0 moved, 0 changed, 6 new, 9 dropped" in shown.out


@pytest.mark.parametrize(("share", "code"), [("0.5", 0), ("0.58", 1), ("1", 1), ("0", 0)])
def test_too_little_coverage_fails(call: Call, vectors: Path, texts: Path, share: str, code: int) -> None:
    given = "compare", texts / "claim.txt", texts / "source.txt", "--vectors", vectors, "--within", "0"
    assert call(*given, "--fail-under", share).code == code


def test_pages_are_written(call: Call, vectors: Path, texts: Path) -> None:
    given = "compare", texts / "claim.txt", texts / "source.txt", "--vectors", vectors
    for options in ((), ("--versions",)):
        page = texts / "page.html"
        assert call(*given, *options, "--html", page).code == 0
        assert "<script" not in page.read_text()
        assert 'class="beside"' in page.read_text()
        page.unlink()
    assert "page.html" in call(*given, "--html", texts / "none" / "page.html").sentence


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("gone.txt", "claim.txt"), 1, "gone.txt: there is no such file"),
        (("empty.txt", "claim.txt"), 1, "empty.txt: "),
        (("claim.txt", "empty.txt"), 1, "empty.txt: "),
        (("binary.txt", "claim.txt"), 1, "binary.txt: it holds NUL bytes"),
        (("latin.txt", "claim.txt"), 1, "is not UTF-8: convert the file"),
        (("stop.txt", "claim.txt"), 1, "the claim has no word to compare"),
        (("claim.txt",), 2, "missing argument"),
        (("claim.txt", "source.txt", "source.txt"), 2, "source.txt': give each source once"),
        (("-", "-"), 2, "only one of the texts can be standard input"),
        (("claim.txt", "source.txt", "--within", "-1"), 2, "invalid value for '--within'"),
        (("claim.txt", "source.txt", "--within", "nan"), 2, "--within"),
        (("claim.txt", "source.txt", "--within", "inf"), 2, "--within must be a number of 0 or more"),
        (("claim.txt", "source.txt", "--within", "1e999"), 2, "--within must be a number of 0 or more"),
        (("claim.txt", "source.txt", "--fail-under", "2"), 2, "invalid value for '--fail-under'"),
        (("claim.txt", "source.txt", "other.txt", "--versions"), 2, "--versions compares two texts"),
        (("claim.txt", "source.txt", "--vectors", "gone.bin"), 1, "gone.bin"),
    ],
)
def test_mistakes_are_one_sentence(
    call: Call,
    vectors: Path,
    texts: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    sentence: str,
) -> None:
    (texts / "empty.txt").write_text("")
    (texts / "stop.txt").write_text("it is not")
    (texts / "latin.txt").write_bytes(b"caf\xe9")
    (texts / "binary.txt").write_bytes(b"a\0b")
    monkeypatch.chdir(texts)
    found = call("compare", *arguments, *(() if "--vectors" in arguments else ("--vectors", str(vectors))))
    assert found.code == code
    assert sentence in found.sentence


def test_a_language_needs_vectors(call: Call, texts: Path) -> None:
    assert call("compare", texts / "claim.txt", texts / "source.txt", "--language", "de").code == 2


def test_without_a_collection_the_remedy_is_named(call: Call, texts: Path, tmp_path: Path) -> None:
    found = call("compare", texts / "claim.txt", texts / "source.txt", "-i", tmp_path / "none")
    assert found.code == 1
    assert "there is no collection in" in found.sentence
    assert "--vectors" in found.sentence


def test_texts_are_printed_without_control_sequences(call: Call, vectors: Path, texts: Path) -> None:
    (texts / "claim.txt").write_text("dog \x1b[31m red\u202e cat")
    for options in ((), ("--versions",)):
        found: Any = call("compare", texts / "claim.txt", texts / "source.txt", "--vectors", vectors, *options)
        assert found.code == 0
        assert "\x1b" not in found.out
        assert "\u202e" not in found.out
