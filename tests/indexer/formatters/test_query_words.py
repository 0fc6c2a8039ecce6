"""The words of a query without a vector or without effect, as lines."""

import time

import pytest

from moverank.indexer.formatters.document_lines import explanation_words, ranking_words
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.ranking import Ranking
from tests.installed import installed


def _lines(ranked_by: str, unknown: tuple[str, ...] | None, ignored: tuple[str, ...] | None) -> list[str]:
    ranking = Ranking(
        (), certified=True, scope="collection", ranked_by=ranked_by, unknown_words=unknown, ignored_words=ignored
    )
    return list(ranking_words(ranking))


@pytest.mark.parametrize("ranked_by", ["wmd", "bm25", "wmd+bm25"])
def test_nothing_is_printed_if_every_word_counts(ranked_by: str) -> None:
    assert _lines(ranked_by, (), ()) == _lines(ranked_by, None, None) == []


@pytest.mark.parametrize(
    ("ranked_by", "lines"),
    [
        ("wmd", ["Ignored, without a vector: x, y."]),
        ("bm25", ["Ignored, in no document: x, y."]),
        ("wmd+bm25", ["Ignored, without a vector and in no document: x, y."]),
        *((rank, ["Ignored, without a vector and in no document: x, y."]) for rank in installed(["translation"])),
    ],
)
def test_the_reason_is_that_of_the_ranking(ranked_by: str, lines: list[str]) -> None:
    assert _lines(ranked_by, ("x", "y"), ("x", "y")) == lines


def test_a_sum_names_the_words_that_only_a_scorer_counts() -> None:
    assert _lines("wmd+bm25", ("x", "y", "z"), ("y",)) == [
        "Without a vector, compared only as words: x, z.",
        "Ignored, without a vector and in no document: y.",
    ]
    assert _lines("bm25", ("x",), ()) == []


def test_many_words_are_counted() -> None:
    words = tuple(f"w{i}" for i in range(1012))
    (line,) = _lines("wmd", words, words)
    assert line.endswith("w11 and 1,000 more.")


def test_a_text_of_unknown_words_takes_no_long_time() -> None:
    words = tuple(f"w{i}" for i in range(300_000))
    began = time.process_time()
    assert _lines("wmd+bm25", words, words)[0].endswith("w11 and 299,988 more.")
    assert time.process_time() - began < 60  # quadratic time takes hours


def test_an_explanation_names_the_words_without_a_flow() -> None:
    assert list(explanation_words(Explanation(1.0, ()))) == []
    assert list(explanation_words(Explanation(1.0, (), unknown_words=("x",)))) == ["Without a vector, in no flow: x."]
