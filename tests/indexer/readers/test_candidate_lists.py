"""Runs and JSONL of other engines, as they are read."""

import gzip
import json
from pathlib import Path

import pytest

from moverank.indexer.errors import ReadError
from moverank.indexer.readers.candidate_lists import CandidateList, read_candidate_lists


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
    (tmp_path / "run").write_text("q1 Q0 a 1 1 x\nq2 Q0 a 1 1 x\nbroken\n")
    lists = read_candidate_lists(str(tmp_path / "run"))
    assert next(lists).id == "q1"
    with pytest.raises(ReadError, match=r"run:3: a line of a run needs the form `query Q0 document rank score name`"):
        list(lists)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no candidates"),
        ("q1 Q0 a 1 high x\n", ":1: a line of a run needs the form"),
        ("q1 Q0 a 1 nan x\n", ":1: a line of a run needs the form"),
        ("q1 Q0 a 1 1 x\nq2 Q0 a 1 1 x\nq1 Q0 b 2 0 x\n", ":3: lines of 'q1' are not together: sort the run by query"),
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
        ({"query": "a", "candidates": ["b", {"id": "c"}]}, "candidate 2 has no text, but others have one"),
        ({"query": "a", "candidates": [{"score": 1}]}, "candidate 1 has neither a text nor an id"),
        ({"query": "a", "candidates": [{"id": "c", "score": "x"}]}, "the score of candidate 1 must be a number"),
        ({"query": "a", "candidates": [{"id": [], "text": "x"}]}, "the key 'id' must be a string or an integer"),
    ],
)
def test_a_bad_line_of_jsonl_is_a_problem_of_its_own(tmp_path: Path, record: object, reason: str) -> None:
    good = json.dumps({"query": "a", "candidates": ["b"]})
    found = _read(tmp_path / "run", f"{good}\n{json.dumps(record)}\n{{broken\n{good}\n")
    assert [one.problem is None for one in found] == [True, False, False, True]
    assert reason in str(found[1].problem)
    assert [one.id for one in found] == ["1", f"{tmp_path / 'run'}:2", f"{tmp_path / 'run'}:3", "4"]
