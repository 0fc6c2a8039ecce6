"""The command `pairs` as users call it."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.indexer.commands.program import Call


def _records(file: Path, texts: Mapping[str, str]) -> Path:
    file.write_text("".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in texts.items()))
    return file


@pytest.fixture
def doubled(call: Call, vectors: Path, tmp_path: Path) -> Path:
    texts = {"a": "dog cat", "b": "dog cat", "c": "cat dog dog", "d": "wine", "e": "wine", "f": "river"}
    file = tmp_path / "docs.jsonl"
    file.write_text(
        "".join(json.dumps({"id": key, "title": f"About {key}", "text": text}) + "\n" for key, text in texts.items())
    )
    assert call("index", file, "-i", tmp_path / "pairs", "--embedding", vectors).code == 0
    return tmp_path / "pairs"


def test_pairs_are_printed_as_text_json_and_csv(call: Call, doubled: Path) -> None:
    found = call("pairs", "-i", doubled, "--within", "0", "--rank", "wmd")
    assert found.code == 0
    assert found.out.splitlines() == [
        "0.0000\ta\tb\tAbout a | About b\tno vector: b in b",
        "0.0000\td\te\tAbout d | About e\tno vector: e in e",
    ]
    assert "2 of 15 pairs by wmd" in found.err
    objects = [json.loads(line) for line in call("pairs", "-i", doubled, "-k", "3", "--json").out.splitlines()]
    assert [(each["key"], each["other"]) for each in objects[:2]] == [("a", "b"), ("d", "e")]
    assert len(objects) == 3
    rows = list(csv.DictReader(call("pairs", "-i", doubled, "-k", "3", "--format", "csv").out.splitlines()))
    assert [(row["key"], row["other"], float(row["distance"])) for row in rows] == [
        (each["key"], each["other"], each["distance"]) for each in objects
    ]


def test_clusters_are_printed_as_text_json_and_csv(call: Call, doubled: Path) -> None:
    arguments = ("pairs", "-i", doubled, "-k", "4", "--clusters")
    objects = [json.loads(line) for line in call(*arguments, "--json").out.splitlines()]
    assert [(each["cluster"], each["size"], each["keys"]) for each in objects] == [
        (1, 3, ["a", "b", "c"]),
        (2, 2, ["d", "e"]),
    ]
    lines = call(*arguments).out.splitlines()
    assert lines[0] == "1\ta\tAbout a"
    rows = list(csv.DictReader(call(*arguments, "--format", "csv").out.splitlines()))
    assert [(row["cluster"], row["key"]) for row in rows] == [
        ("1", "a"),
        ("1", "b"),
        ("1", "c"),
        ("2", "d"),
        ("2", "e"),
    ]


@pytest.fixture
def codes(call: Call, vectors: Path, tmp_path: Path) -> Path:
    """Return a collection of texts that differ in words without a vector."""
    texts = {"a": "dog 0x80070005", "b": "dog 0x80070057", "c": "dog 0x80070057", "d": "wine 2011", "e": "river wine"}
    file = _records(tmp_path / "codes.jsonl", texts)
    assert call("index", file, "-i", tmp_path / "codes", "--embedding", vectors).code == 0
    return tmp_path / "codes"


def test_words_without_a_vector_in_which_pairs_differ_are_named(call: Call, codes: Path) -> None:
    found = call("pairs", "-i", codes, "--within", "0", "--rank", "wmd")
    marks = {tuple(cells[1:3]): cells[4:] for cells in (line.split("\t") for line in found.out.splitlines())}
    assert marks == {
        ("a", "b"): ["no vector: 0x80070005 in a; 0x80070057 in b", "differ in 0x80070005 / 0x80070057"],
        ("a", "c"): ["no vector: 0x80070005 in a; 0x80070057 in c", "differ in 0x80070005 / 0x80070057"],
        ("b", "c"): [],
    }
    assert "2 differ in words without a vector; 2 in a negation, a number or a limiting word" in found.err
    arguments = ("pairs", "-i", codes, "-k", "10")
    objects = [json.loads(line) for line in call(*arguments, "--json").out.splitlines()]
    words = {(each["key"], each["other"]): each["unknown_words"] for each in objects}
    assert words["a", "b"] == [["0x80070005"], ["0x80070057"]]
    assert (words["b", "c"], words["d", "e"]) == ([[], []], [["2011"], []])
    rows = list(csv.DictReader(call(*arguments, "--format", "csv").out.splitlines()))
    assert [[row["unknown_words"].split(), row["other_unknown_words"].split()] for row in rows] == [*words.values()]
    groups = ("pairs", "-i", codes, "--within", "0", "--clusters")
    assert json.loads(call(*groups, "--json").out)["unknown_words"] == {
        "a": ["0x80070005"], "b": ["0x80070057"], "c": ["0x80070057"],
    }  # fmt: skip
    assert call(*groups).out.splitlines()[0].endswith("no vector: 0x80070005")
    assert call(*groups, "--format", "csv").out.splitlines()[1].endswith(",0x80070005")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give the largest distance of a pair"),
        (("--within", "-1"), "must be a number of 0 or more, not -1.0"),
        (("-k", "2", "--rank", "bm25"), "compared by wmd or pwmd, or a sum"),
        (("-k", "2", "--json", "--format", "csv"), "--format csv goes without --json"),
    ],
)
def test_wrong_options_are_one_sentence(call: Call, doubled: Path, options: tuple[str, ...], message: str) -> None:
    answer = call("pairs", "-i", doubled, *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


def test_hits_within_a_distance(call: Call, doubled: Path) -> None:
    near = call("search", "dog cat", "-i", doubled, "--rank", "wmd", "--max-distance", "0.0001", "--json")
    assert [hit["key"] for hit in near.json["hits"]] == ["a", "b"]
    assert near.json["certified"]
    none = call("similar", "f", "-i", doubled, "--rank", "wmd", "--max-distance", "0")
    assert none.code == 0
    assert "none is near enough" in none.out


def test_what_would_be_removed_is_printed_as_text_json_and_csv(call: Call, doubled: Path) -> None:
    arguments = ("dedupe", "-i", doubled, "--within", "0", "--rank", "wmd", "--unknown", "ignored")
    found = call(*arguments)
    assert found.code == 0
    assert [line.split() for line in found.out.splitlines() if line.strip()] == [
        ["copies", "kept", "documents", "removed"],
        ["1", "2", "2"],
        ["the", "farthest", "2", "of", "2", "removed", "documents:"],
        ["distance", "document", "kept", "title", "title", "of", "the", "kept", "one", "no", "vector", "differs", "in"],
        ["0.0000", "e", "d", "About", "e", "About", "d", "e;", "-"],
        ["0.0000", "b", "a", "About", "b", "About", "a", "b;", "-"],
    ]
    assert found.sentence.startswith(
        "2 of 6 documents would be removed; each is within 0 by wmd of a kept one, no two "
    )
    assert (
        "; 2 differ from it in words without a vector (--unknown far counts these); nothing is removed: " in found.err
    )
    objects = call(*arguments, "--json").lines
    assert objects == [
        {
            "key": key,
            "title": f"About {key}",
            "duplicate_of": of,
            "duplicate_of_title": f"About {of}",
            "distance": 0.0,
            "unknown_words": [[key] if key != "a" else [], []],
            "differences": [[], []],
        }
        for key, of in (("b", "a"), ("e", "d"))
    ]
    rows = list(csv.DictReader(call(*arguments, "--format", "csv").out.splitlines()))
    assert [(row["key"], row["duplicate_of"], row["duplicate_of_title"], row["distance"]) for row in rows] == [
        (each["key"], each["duplicate_of"], each["duplicate_of_title"], str(each["distance"])) for each in objects
    ]
    assert call("dedupe", "-i", doubled, "--within", "0", "--where", "key=f").out == ""


def test_flows_are_those_that_explain_prints(call: Call, doubled: Path) -> None:
    arguments = ("dedupe", "-i", doubled, "--within", "0.9", "--flows", "--rank", "wmd")
    for each in call(*arguments, "--json").lines:
        explained = call("explain", each["key"], each["duplicate_of"], "-i", doubled, "--rank", "wmd", "--json").json
        spans = {"source_spans", "target_spans"}  # of `explain` alone
        assert each["flows"] == [{name: flow[name] for name in flow.keys() - spans} for flow in explained["flows"]]
        assert each["distance"] == pytest.approx(explained["distance"])
    shown = call(*arguments).out
    assert "share" in shown
    assert "dog" in shown


def test_documents_that_are_not_kept_are_removed(call: Call, doubled: Path) -> None:
    arguments = ("dedupe", "-i", doubled, "--within", "0", "--keep-where", "key=e", "--unknown", "ignored")
    dry = call(*arguments, "--remove", "--dry-run", "--json")
    assert [(each["key"], each["duplicate_of"]) for each in dry.lines] == [("b", "a"), ("d", "e")]
    assert "the same command" not in dry.err
    assert call("info", "-i", doubled, "--json").json["documents"] == 6
    done = call(*arguments, "--remove")
    assert done.sentence.startswith("2 of 6 documents are removed (revision 2); ")
    assert [each["key"] for each in call("list", "-i", doubled, "--json").lines] == ["a", "c", "e", "f"]
    again = call(*arguments, "--remove")
    assert (again.code, again.out) == (0, "")
    assert "would be removed" not in again.sentence
    assert again.sentence.startswith("no two of 4 documents are within 0 by wmd")
    refused = call("dedupe", "-i", doubled, "--within", "9", "--remove")
    assert (refused.code, refused.out) == (2, "")
    assert refused.sentence == (
        "nothing was removed: that would be 3 of 4 documents; --yes (in Python confirmed=True) confirms it"
    )
    assert call("dedupe", "-i", doubled, "--within", "9", "--remove", "--yes").code == 0
    assert call("info", "-i", doubled, "--json").json["documents"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--within", "-1"), "must be a number of 0 or more, not -1.0"),
        (("--within", "0", "--keep", "best"), "keep is first, longest, oldest[:FIELD] or newest[:FIELD], not 'best'"),
        (("--within", "0", "--keep", "newest"), "no document has a date or a number in the field 'date'"),
        (("--within", "0", "--json", "--format", "csv"), "--format csv goes without --json and --flows"),
        (("--within", "0", "--keep-where", "tags>x"), "'tags>x': > compares numbers and dates"),
        (("--within", "0", "--unknown", "far", "--flows"), "flows move words that have a vector"),
        ((), "--within"),
    ],
)
def test_wrong_options_of_dedupe_are_one_sentence(
    call: Call, doubled: Path, options: tuple[str, ...], message: str
) -> None:
    answer = call("dedupe", "-i", doubled, *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.sentence


def test_an_interruption_removes_nothing(call: Call, doubled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("moverank.indexer.collection.Collection.run", interrupted)
    answer = call("dedupe", "-i", doubled, "--within", "0", "--remove")
    assert answer.code == 1
    assert answer.sentence == (
        "interrupted: nothing was removed; the same command continues an unfinished comparison by wmd or pwmd after "
        "the last document done"
    )


CASE = {
    "safe": "The dog is near the river.",
    "same": "the DOG is near the river!",
    "not": "The dog is never near the river.",
    "five": "The dog is near the river at 5 km.",
    "six": "The dog is near the river at 6 km.",
}


@pytest.fixture
def stating(call: Call, vectors: Path, tmp_path: Path) -> Path:
    """Return a collection of texts with equal bags, of which two state the same."""
    file = _records(tmp_path / "stating.jsonl", CASE)
    assert call("index", file, "-i", tmp_path / "stating", "--embedding", vectors).code == 0
    return tmp_path / "stating"


def test_documents_that_state_otherwise_are_no_copies(call: Call, stating: Path) -> None:
    arguments = ("dedupe", "-i", stating, "--within", "0", "--unknown", "ignored")
    found = call(*arguments)
    assert [each["key"] for each in call(*arguments, "--json").lines] == ["same"]
    assert "3 near ones are kept for another negation, number or limiting word (--differing removes them)" in found.err
    shown = " ".join(found.out.split())
    assert "the nearest 3 of 3 documents that are kept since they state otherwise:" in shown
    assert "The dog is never near the river. The dog is near the river." in shown  # their beginnings
    assert "5 km" in shown
    pairs = call("pairs", "-i", stating, "--within", "0", "--json").lines
    differences = {(each["key"], each["other"]): each["differences"] for each in pairs}
    assert differences["safe", "same"] == [[], []]
    assert differences["five", "six"] == [["5 km"], ["6 km"]]
    differing = call(*arguments, "--differing", "--json").lines
    assert {each["key"] for each in differing} == CASE.keys() - {"safe"}
    assert call(*arguments, "--remove").code == 0
    assert [each["key"] for each in call("list", "-i", stating, "--json").lines] == ["safe", "not", "five", "six"]
    assert "no two of 4 documents are within 0" in call(*arguments, "--remove").err


def test_a_run_with_dedupe_keeps_documents_that_state_otherwise(call: Call, vectors: Path, tmp_path: Path) -> None:
    file = _records(tmp_path / "stating.jsonl", CASE)
    done = call("index", file, "-i", tmp_path / "new", "--embedding", vectors, "--dedupe", "0", "--json")
    assert (done.json["added"], done.json["duplicates"]) == (4, 1)


def test_a_share_is_the_distance_of_so_many_nearest_pairs(call: Call, stating: Path) -> None:
    pairs = call("pairs", "-i", stating, "-k", "10", "--unknown", "far", "--json").lines
    by_share = call("dedupe", "-i", stating, "--within", "40%", "--differing", "--json").lines
    assert (
        by_share == call("dedupe", "-i", stating, "--within", str(pairs[3]["distance"]), "--differing", "--json").lines
    )
    no_pair = call("dedupe", "-i", stating, "--within", "1%", "--json").lines
    assert [(each["key"], each["distance"]) for each in no_pair] == [("same", 0.0)]
    assert "or a share such as 0.1%, not '101%'" in call("dedupe", "-i", stating, "--within", "101%").err
