import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moverank import Embedding, NoKnownWords, Reranker, UsageError
from moverank.rerank.bags.bag import Bag
from tests import naive
from tests.rerank.problems import check_counts, make_vectors

WORDS = ["mains", "plug", "socket", "gets", "hot", "warm", "cable", "melts", "cat", "dog", "sleeps", "house", "roof"]
TEXTS = {
    "same": "Mains plug gets hot",
    "near": "the socket is warm; cable melts!",
    "wordless": "zzz qqq",
    "empty": "",
    "far": "Cat and dog: the cat sleeps",
    "again": "hot mains-plug GETS",
}


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    return Embedding.of(WORDS, make_vectors(np.random.default_rng(9), len(WORDS), 10, "normal", 0.3))


def _brute_force(embedding: Embedding, query: str, text: str) -> float:
    """Split at spaces, count, and solve the whole transport problem."""
    bags = []
    for words in (query.split(), text.split()):
        entries = [(WORDS.index(word), 0, words.count(word)) for word in set(words) if word in WORDS]
        weights = naive.weights(entries)
        bags.append(Bag.of(list(weights), list(weights.values())))
    return naive.wmd(bags[0], embedding.vectors[bags[0].words], bags[1], embedding.vectors)


def test_hits_of_a_mapping_have_its_keys(embedding: Embedding) -> None:
    ranking = Reranker(embedding).rank("mains plug gets hot", TEXTS)
    assert [hit.key for hit in ranking.hits][:2] == ["same", "again"]
    assert {hit.key for hit in ranking.hits[:4]} == {"same", "again", "near", "far"}
    assert [hit.key for hit in ranking.hits[4:]] == ["wordless", "empty"]
    assert [hit.wordless for hit in ranking.hits] == [False] * 4 + [True] * 2
    assert [hit.distance for hit in ranking.hits[:2]] == [0, 0]
    assert ranking.certified
    assert ranking.scope == "candidates"
    assert ranking.ranked_by == "wmd"
    assert ranking.seconds > 0
    check_counts(ranking.counts, 4, transport=True)


def test_hits_of_a_sequence_have_its_indices(embedding: Embedding) -> None:
    ranking = Reranker(embedding).rank("mains plug gets hot", list(TEXTS.values()))
    by_key = Reranker(embedding).rank("mains plug gets hot", TEXTS)
    indices = [str(list(TEXTS).index(hit.key)) for hit in by_key.hits]
    assert [hit.key for hit in ranking.hits] == indices
    assert [str(hit.candidate) for hit in ranking.hits] == indices
    np.testing.assert_equal([hit.distance for hit in ranking.hits], [hit.distance for hit in by_key.hits])


def test_words_without_a_vector_are_named(embedding: Embedding) -> None:
    ranking = Reranker(embedding).rank("hot plug qqq", TEXTS)
    assert ranking.unknown_words == ranking.ignored_words == ("qqq",)


@pytest.mark.parametrize(
    ("query", "texts", "message"),
    [
        ("dog", ["dog", None], "text 1 must be a string, a record or a Document, not None"),
        ("dog", {"a": b"dog"}, "text a must be a string, a record or a Document, not b'dog'"),
        (None, ["dog"], "the query must be a string, a record or a Document, not None"),
    ],
)
def test_what_is_no_text_is_named(embedding: Embedding, query: Any, texts: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Reranker(embedding).rank(query, texts)


@settings(max_examples=50)
@given(
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=8),
    texts=st.lists(st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=8), max_size=8),
    k=st.integers(1, 12),
)
def test_rank_is_brute_force(embedding: Embedding, query: list[str], texts: list[list[str]], k: int) -> None:
    joined = [" ".join(text) for text in texts]
    ranking = Reranker(embedding, frozenset()).rank(" ".join(query), joined, k)
    known = [i for i, text in enumerate(texts) if set(text) & set(WORDS)]
    distances = {str(i): _brute_force(embedding, " ".join(query), joined[i]) for i in known}
    assert sorted(hit.candidate for hit in ranking.hits) == list(range(len(texts)))  # type: ignore[type-var]
    for hit, expected in zip(ranking.hits[:k], sorted(distances.values()), strict=False):
        assert hit.exact
        assert hit.distance == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert hit.distance == pytest.approx(distances[hit.key], rel=1e-9, abs=1e-12)
    for hit in ranking.hits[min(k, len(known)) : len(known)]:  # pruned: a lower bound, at least the k-th distance
        assert ranking.hits[k - 1].distance <= hit.distance <= distances[hit.key] * (1 + 1e-9) + 1e-12
        assert not hit.exact or hit.distance == pytest.approx(distances[hit.key], rel=1e-9, abs=1e-12)
    assert all(hit.wordless and math.isnan(hit.distance) for hit in ranking.hits[len(known) :])
    scores = np.array([hit.score for hit in ranking.hits], np.float32)
    assert np.all(np.diff(scores) < 0)
    assert np.all((scores > 0) & (scores <= 1))


def test_k_is_how_many_hits_are_exact_and_may_exceed_the_texts(embedding: Embedding) -> None:
    reranker = Reranker(embedding)
    whole = reranker.rank("socket", TEXTS, k=100).hits
    assert [hit.exact for hit in whole] == [True] * 4 + [False] * 2
    assert reranker.rank("socket", TEXTS, k=2).hits[:2] == whole[:2]
    assert reranker.rank("socket", TEXTS).hits[:4] == whole[:4]
    same = reranker.rank("socket", [TEXTS["near"]] * 30).hits
    assert [hit.candidate for hit in same] == list(range(30))
    assert len({hit.distance for hit in same}) == 1
    assert len({np.float32(hit.score) for hit in same}) == 30


def test_texts_without_known_words_come_last(embedding: Embedding) -> None:
    ranking = Reranker(embedding).rank("cat", {"a": "zzz", "b": "", "c": "the"})
    assert [(hit.key, hit.wordless, hit.exact) for hit in ranking.hits] == [(key, True, False) for key in "abc"]
    assert ranking.certified
    assert Reranker(embedding).rank("cat", []).hits == ()


@pytest.mark.parametrize("query", ["", "zzz", "the and", "..."])
def test_a_query_without_known_words_is_an_error(embedding: Embedding, query: str) -> None:
    with pytest.raises(NoKnownWords, match="no word of the query has a vector in the embedding"):
        Reranker(embedding).rank(query, TEXTS)


def test_stop_words_can_be_replaced() -> None:
    embedding = Embedding.of(["the", "cat", "dog"], np.eye(3))
    texts = ["the cat", "cat"]
    assert [hit.distance for hit in Reranker(embedding).rank("cat", texts).hits] == [0, 0]
    hits = Reranker(embedding, frozenset()).rank("cat", texts).hits
    assert [hit.key for hit in hits] == ["1", "0"]
    assert hits[1].distance == pytest.approx(math.sqrt(2) / 2)
    with pytest.raises(NoKnownWords):
        Reranker(embedding, frozenset({"cat"})).rank("cat", texts)


def test_k_must_be_one_or_more(embedding: Embedding) -> None:
    with pytest.raises(UsageError, match="k must be"):
        Reranker(embedding).rank("cat", TEXTS, k=0)


def test_a_single_string_is_refused() -> None:
    embedding = Embedding.of(["cat", "dog"], np.eye(2, dtype=np.float32))
    with pytest.raises(UsageError, match="put it into a list"):
        Reranker(embedding, frozenset()).rank("cat", "dog")
