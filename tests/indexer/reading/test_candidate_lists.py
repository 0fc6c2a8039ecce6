"""Runs and JSONL of other engines, as they are read."""

import gzip
import json
import logging
from pathlib import Path

import pytest

from moverank.indexer.errors import ReadError
from moverank.indexer.reading.formats.html import Markup
from moverank.indexer.reading.inputs.candidate_lists import CandidateList, read_candidate_lists
from moverank.indexer.values.documents import Document, Part


def _read(path: Path, text: str) -> list[CandidateList]:
    path.write_text(text)
    return list(read_candidate_lists(str(path)))


def test_a_run_is_grouped_by_query(tmp_path: Path) -> None:
    text = "q1 Q0 a 1 9.5 bm25\nq1\tQ0\tb\t2\t-1e3\tbm25\n\nq2 Q0 a 1 3 bm25\n"
    found = _read(tmp_path / "run", text)
    assert [(one.id, one.keys, one.scores) for one in found] == [
        ("q1", ("a", "b"), (9.5, -1000.0)),
        ("q2", ("a",), (3.0,)),
    ]
    assert (found[0].documents, found[0].query, found[0].record) == (None, None, None)
    (tmp_path / "run.gz").write_bytes(gzip.compress(text.encode()))
    assert list(read_candidate_lists(str(tmp_path / "run.gz"))) == found


def test_lists_are_yielded_as_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q1 Q0 a 1 1 x\nq2 Q0 a 1 1 x\nq1 Q0 b 2 1 x\n")
    lists = read_candidate_lists(str(tmp_path / "run"))
    assert next(lists).id == "q1"
    second, problem = lists
    assert (second.id, problem.id) == ("q2", f"{tmp_path / 'run'}:3")
    assert problem.problem == "lines of 'q1' are not together, and the rest is not read: sort the run by query"


def test_a_bad_line_of_a_run_costs_only_itself(tmp_path: Path) -> None:
    good = ["q1 Q0 a 1 9 x", "q1 Q0 b 2 8 x", "q2 Q0 a 1 3 x"]
    expected = _read(tmp_path / "run", "\n".join(good))
    bad = "query Q0 document rank score name"
    for place in range(len(good) + 1):
        found = _read(tmp_path / "run", "\n".join([*good[:place], bad, *good[place:]]))
        assert [one for one in found if not one.problem] == expected
        (problem,) = (one for one in found if one.problem)
        assert (problem.id, problem.keys) == (f"{tmp_path / 'run'}:{place + 1}", ())
        assert "needs the form `query Q0 document rank score name`" in str(problem.problem)


@pytest.mark.parametrize("bad", [b'"query": "a"\n', b"\xff\xfe\n", b"id,query\n\n", b"{broken\n"])
def test_a_broken_first_line_does_not_hide_the_form(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "run").write_bytes(bad + b'{"id": "q", "query": "a", "candidates": ["b"]}\n')
    first, second = read_candidate_lists(str(tmp_path / "run"))
    assert first.problem
    assert first.id == f"{tmp_path / 'run'}:1"
    assert (second.problem, second.keys) == (None, ("0",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no candidates"),
        ("q1 Q0 a 1 high x\n", ":1: a line of a run needs the form"),
        ("q1 Q0 a 1 nan x\n", ":1: a line of a run needs the form"),
    ],
)
def test_a_bad_run_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        _read(tmp_path / "run", text)


def test_a_line_of_jsonl_has_a_query_and_candidates(tmp_path: Path) -> None:
    records = [
        {"id": "q1", "query": "warm plug", "candidates": ["hot socket", {"id": "x", "title": "Late", "text": "train"}]},
        {"query": {"qid": 7, "text": "plug"}, "candidates": [{"docid": "a", "score": 2, "doc": {"contents": "dog"}}]},
        {"qid": "q3", "candidates": [{"docno": "a", "score": None}, {"docno": "b", "score": 0.5}]},
        {"id": "q4", "query": {"title": "T", "body": "b", "comments": [{"text": "c"}]}, "candidates": []},
    ]
    first, second, third, fourth = _read(tmp_path / "run", "".join(json.dumps(one) + "\n" for one in records))
    assert (first.id, first.keys, first.scores) == ("q1", ("0", "x"), None)
    assert first.query
    assert first.documents
    assert [part.text for part in first.query.parts] == ["warm plug"]
    assert [(one.title, one.parts[0].text) for one in first.documents] == [("", "hot socket"), ("Late", "train")]
    assert (second.id, second.keys, second.scores) == ("7", ("a",), (2.0,))
    assert second.documents
    assert second.documents[0].parts[0].text == "dog"
    assert (third.id, third.keys, third.scores) == ("q3", ("a", "b"), (None, 0.5))
    assert third.query is None
    assert third.documents is None
    assert fourth.query
    assert [part.rank for part in fourth.query.parts] == [0, 1]
    assert (fourth.keys, fourth.documents) == ((), ())
    assert [one.record for one in (first, second, third, fourth)] == records


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"query": "a"}, "there is no field 'candidates'"),
        ({"query": "a", "candidates": "b"}, "'candidates' must be a list"),
        ({"query": 3, "candidates": []}, "'query' must be a text or an object, not 3"),
        ({"query": "a", "candidates": [3]}, "candidate 1 must be a text or an object, not 3"),
        ({"query": "a", "candidates": [{"score": 1}]}, "candidate 1 has neither a text nor an id"),
        ({"query": "a", "candidates": [{"id": [], "text": "x"}]}, "the key 'id' must be a string or an integer"),
    ],
)
def test_a_bad_line_of_jsonl_is_a_problem_of_its_own(tmp_path: Path, record: object, reason: str) -> None:
    good = json.dumps({"query": "a", "candidates": ["b"]})
    found = _read(tmp_path / "run", f"{good}\n{json.dumps(record)}\n{{broken\n{good}\n")
    assert [one.problem is None for one in found] == [True, False, False, True]
    assert reason in str(found[1].problem)
    assert [one.id for one in found] == ["1", f"{tmp_path / 'run'}:2", f"{tmp_path / 'run'}:3", "4"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (3, "candidate 2 must be a text or an object, not 3"),
        (None, "candidate 2 must be a text or an object, not null"),
        ({"id": "c"}, "candidate 2 has no text, but others have one"),
        ({"id": "c", "text": 5}, "candidate 2: 'text' must be a string, not 5"),
        ({"id": [], "text": "x"}, "candidate 2: the key 'id' must be a string or an integer, not a list"),
    ],
)
def test_a_bad_candidate_costs_only_itself(tmp_path: Path, bad: object, reason: str) -> None:
    line = {"query": "a", "candidates": ["b", bad, {"id": "d", "text": "e", "score": "high"}]}
    (found,) = _read(tmp_path / "run", json.dumps(line))
    assert found.problem is None
    assert found.documents
    assert [[part.text for part in one.parts] for one in found.documents] == [["b"], [], ["e"]]
    assert (list(found.faults), list(found.unscored)) == ([1], [2])
    assert (
        found.notes[0]
        == f"{tmp_path / 'run'}:1: 1 of 3 candidates cannot be compared and come last: " + (found.faults[1])
    )
    assert found.faults[1].startswith(reason)
    assert 'the score of candidate 3 must be a number, not "high"' in found.notes[1]


def test_only_the_first_of_many_faults_are_named(tmp_path: Path) -> None:
    (found,) = _read(tmp_path / "run", json.dumps({"query": "a", "candidates": [{"id": "a"}, 1, 2, 3, 4]}))
    (note,) = found.notes
    assert note.endswith("candidate 4 must be a text or an object, not 3; and 1 more")
    assert found.keys == ("a", "", "", "", "")


def _html_line(*texts: str) -> str:
    return json.dumps({"query": "a < b", "candidates": [{"id": str(i), "text": text} for i, text in enumerate(texts)]})


def test_html_in_candidates_is_removed_and_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "run.jsonl"
    html = "<p>The plug&#x27;s <b>hot</b>.</p>"
    path.write_text(f"{_html_line(html, html)}\n{_html_line(html, '<br>', 'a < b && c > d')}\n")
    with caplog.at_level(logging.WARNING, "moverank"):
        first, second = read_candidate_lists(str(path))
    assert [one.parts[0].text for one in first.documents or ()] == ["The plug's hot."] * 2
    assert [[part.text for part in one.parts] for one in second.documents or ()] == [
        ["The plug's hot."],
        [],
        ["a < b && c > d"],
    ]
    assert second.notes == [
        f"{path}:2: 1 of 3 candidates cannot be compared and come last: candidate 2 has no text, only HTML"
    ]
    assert first.entries[0]["text"] == html  # written as it was read
    assert first.query == Document("1", parts=(Part("a < b"),))
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: its candidates are HTML, of which the visible text is read; --markup keep reads all of it"
    ]


@pytest.mark.parametrize(("markup", "expected"), [("keep", "R&amp;D &gt; 3"), ("strip", "R&D > 3")])
def test_markup_of_candidates(tmp_path: Path, markup: Markup, expected: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(_html_line("R&amp;D &gt; 3", "a < b && c"))
    (line,) = read_candidate_lists(str(path), markup)
    assert [one.parts[0].text for one in line.documents or ()] == [expected, "a < b && c"]
