import pytest

from moverank.indexer.formatters.rejection_notes import LIMIT, RejectionNotes
from moverank.indexer.values.documents import Rejection


def test_the_first_ones_are_printed_and_the_others_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with RejectionNotes() as rejected:
        for i in range(LIMIT + 1200):
            rejected(Rejection("a.jsonl", i + 1, "bad"))
        for i in range(LIMIT + 1):
            rejected(Rejection(f"{i}.png", 0, "no text"))
            rejected(Rejection("b.jsonl", i + 1, "bad"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[:LIMIT] == [f"moverank: a.jsonl:{i + 1}: bad" for i in range(LIMIT)]
    assert lines[LIMIT:-3] == [
        line for i in range(LIMIT) for line in (f"moverank: {i}.png: no text", f"moverank: b.jsonl:{i + 1}: bad")
    ]
    assert lines[-3:] == [
        "moverank: a.jsonl: 1,200 more records were rejected",
        "moverank: b.jsonl: 1 more record was rejected",
        "moverank: 1 more file was rejected",
    ]


def test_few_are_all_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with RejectionNotes() as rejected:
        rejected(Rejection("a.jsonl", 1, "bad"))
    assert capsys.readouterr().err == "moverank: a.jsonl:1: bad\n"
