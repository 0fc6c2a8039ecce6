"""Invalid input of the scorers, and the messages of the errors."""

from dataclasses import replace

import numpy as np
import pytest

from moverank.rerank.errors import ScorerError
from moverank.rerank.scorers import WordVectors, choose_scorer, scorer_class
from moverank.rerank.testing.sample_counts import Counted

SEGMENT = Counted([{"a": 1.0, "b": 2.0}, {"b": 1.0}], {"a": np.ones(3, np.float32)}).segment()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("pl2", {"c": "0"}, r"c must be a number from 0.001 to 1000, not '0'"),
        ("translation", {"mu": "many"}, r"mu must be a number from 0.001 to 1e\+09, not 'many'"),
        ("translation", {"lambda": "0"}, r"lambda must be a number from 0.001 to 1, not '0'"),
        ("translation", {"smoothing": ""}, r"smoothing must be dirichlet or jelinek-mercer, not ''"),
        ("interpolation", {"alpha": "-0.1"}, r"alpha must be a number from 0 to 1, not '-0.1'"),
    ],
)
def test_invalid_options_are_rejected(name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(ScorerError, match=f"^{message}"):
        choose_scorer(name, options)
    with pytest.raises(ScorerError, match=f"^{message}"):
        scorer_class(name).fit(SEGMENT.counts, SEGMENT.statistics, options)


@pytest.mark.parametrize("name", ["translation", "interpolation"])
def test_missing_word_vectors_are_rejected(name: str) -> None:
    query = SEGMENT.query({"a": 1.0, "c": 1.0})
    with pytest.raises(ScorerError, match=f"^{name} compares words by their vectors"):
        scorer_class(name).fit(replace(SEGMENT.counts, word_vectors=None), SEGMENT.statistics, {})
    short = replace(SEGMENT.counts, word_vectors=WordVectors(np.ones((1, 3), np.float32), np.ones(1, bool)))
    with pytest.raises(ScorerError, match="there are 2 terms but 1 word vectors"):
        scorer_class(name).fit(short, SEGMENT.statistics, {})
    with pytest.raises(ScorerError, match=f"^{name} compares words by their vectors"):
        SEGMENT.fit(name, {}).score(replace(query, word_vectors=None))
    flat = WordVectors(np.ones((2, 1), np.float32), np.ones(2, bool))
    with pytest.raises(ScorerError, match="word vectors have 1 dimensions, the segment's 3"):
        SEGMENT.fit(name, {}).score(replace(query, word_vectors=flat))
