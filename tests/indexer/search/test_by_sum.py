"""A search by a sum returns what the sum of its terms, computed from all texts, says; it is certified."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from moverank import Collection, Document, UsageError
from moverank.indexer.snapshot.content_sample import SAMPLE
from moverank.indexer.values.documents import Metadata
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Ranking
from tests.indexer.world import NO_VECTOR, WORDS, CollectionFactory, Twin, document, typical
from tests.naive_scorers import score as naive_score

QUERIES = ("ant bee zorp", "elk elk fox", "quux gnu hen cat", "lark")


def _documents(count: int) -> list[Document]:
    """Return documents of one or two parts with votes; every ninth has no word with a vector."""
    rng, documents = np.random.default_rng(8), []
    for i in range(count):
        texts = [" ".join(rng.choice([*WORDS, *NO_VECTOR], 5)), " ".join(rng.choice(WORDS, 3))]
        chosen = ["zorp quux"] if i % 9 == 4 else texts[: 1 + i % 2]
        votes: Metadata = {} if i % 5 == 0 else {"votes": i * i % 17}
        documents.append(document(f"d{i}", *chosen, label="red" if i % 3 else "blue", metadata=votes))
    return documents


@pytest.fixture(scope="module")
def twin() -> Twin:
    return Twin.of(_documents(60), weights="tfidf")


@pytest.fixture(scope="module")
def filled(factory: CollectionFactory) -> Iterator[Collection]:
    """Return a collection that is partly in a snapshot, partly in the tail; tests do not change it."""
    with factory.partly_stored(_documents(40), _documents(60), weights="tfidf") as collection:
        yield collection


class Naive:
    """The terms of sums, computed from the texts of a twin."""

    def __init__(self, twin: Twin, query: str) -> None:
        self.twin, self.query = twin, query
        # Fewer documents than the sample has: it is all of them.
        assert len(twin.documents) < SAMPLE
        self.unit = typical(self.distances("rwmd").values())

    def distances(self, name: str) -> dict[str, float]:
        return self.twin.distances(self.query, name)

    def length(self, key: str) -> int:
        return sum(word in WORDS for part in self.twin.documents[key].parts for word in part.text.split())

    def distance(self, name: str, mu: float = 0.0) -> dict[str, float]:
        """Return the cost of a distance by key: in units of the typical one, and drawn to it by `mu`."""
        costs = {}
        distances = self.distances(name)
        for key in self.twin.documents:
            far = 2.0 if name == "chamfer" else 1.0
            if key in distances:
                share = self.length(key) / (self.length(key) + mu)
                costs[key] = share * distances[key] / self.unit + (1 - share)
            else:
                costs[key] = far
        return costs

    def bm25(self) -> dict[str, float]:
        texts = [Counter(" ".join(part.text for part in one.parts).split()) for one in self.twin.documents.values()]
        scores = naive_score("bm25", {}, Counter(self.query.split()), texts, {})
        best = max(scores)
        return {key: 1 - value / best if best else 1.0 for key, value in zip(self.twin.documents, scores, strict=True)}

    def prior(self) -> dict[str, float]:
        votes = {key: one.metadata.get("votes") for key, one in self.twin.documents.items()}
        logs = {key: math.log1p(value) for key, value in votes.items() if isinstance(value, int)}
        high, low = max(logs.values()), min(logs.values())
        return {key: (high - logs[key]) / (high - low) if key in logs else 1.0 for key in self.twin.documents}


def _expected(naive: Naive, *terms: tuple[float, dict[str, float]]) -> dict[str, float]:
    """Return the totals of the documents that have a bag, or share a word with the query."""
    words = set(naive.query.split())
    with_bag = naive.distances("wmd").keys()
    ranked = {
        key
        for key, one in naive.twin.documents.items()
        if key in with_bag or words & set(" ".join(part.text for part in one.parts).split())
    }
    return {key: sum(weight * costs[key] for weight, costs in terms) for key in ranked}


def _check(ranking: Ranking, expected: dict[str, float], k: int) -> None:
    totals = [hit.total for hit in ranking.hits]
    assert ranking.certified
    assert totals == pytest.approx(sorted(expected.values())[:k], rel=1e-9)
    assert totals == pytest.approx([expected[hit.key] for hit in ranking.hits], rel=1e-9)
    assert [hit.score for hit in ranking.hits] == pytest.approx([1 / (1 + expected[hit.key]) for hit in ranking.hits])


@pytest.mark.parametrize("k", [3, 99])
@pytest.mark.parametrize("query", QUERIES)
def test_a_sum_is_that_of_its_terms(filled: Collection, twin: Twin, query: str, k: int) -> None:
    naive = Naive(twin, query)
    wmd, shrunk, cover, bm25 = naive.distance("wmd"), naive.distance("wmd", 5), naive.distance("cover"), naive.bm25()
    cases = {
        "wmd+0.4*bm25": ((1.0, wmd), (0.4, bm25)),
        "wmd:mu=5+0.5*cover+1.5*bm25": ((1.0, shrunk), (0.5, cover), (1.5, bm25)),
        "2*chamfer+bm25": ((2.0, naive.distance("chamfer")), (1.0, bm25)),
        "0.5*rwmd:mu=3+bm25+0.1*prior:field=votes": (
            (0.5, naive.distance("rwmd", 3)),
            (1.0, bm25),
            (0.1, naive.prior()),
        ),
        "wcd+bm25": ((1.0, naive.distance("wcd")), (1.0, bm25)),
    }
    for rank, terms in cases.items():
        ranking = filled.search(query, k=k, rank=rank)
        assert ranking.ranked_by == rank
        _check(ranking, _expected(naive, *terms), k)


def test_hits_show_the_values_of_the_terms(filled: Collection, twin: Twin) -> None:
    naive = Naive(twin, QUERIES[0])
    ranking = filled.search(QUERIES[0], k=99, rank="wmd+cover+bm25+rwmd+chamfer+wcd")
    assert list(dict(ranking.hits[0].parts)) == ["wmd", "cover", "bm25", "rwmd", "chamfer", "wcd"]
    for hit in ranking.hits:
        parts = dict(hit.parts)
        for name in ("wmd", "cover", "rwmd", "chamfer"):
            assert parts[name] == pytest.approx(naive.distances(name).get(hit.key, math.nan), nan_ok=True)
        assert hit.distance == pytest.approx(parts["wmd"], nan_ok=True)
    found = filled.search(QUERIES[0], k=99, rank="bm25+prior:field=votes")
    assert {hit.key: dict(hit.parts)["bm25"] for hit in found.hits} == pytest.approx(
        {hit.key: hit.score for hit in filled.search(QUERIES[0], k=99, rank="bm25").hits}
    )


@pytest.mark.parametrize(
    "options",
    [{"where": {"label": ["red"]}}, {"depth": 12}, {"depth": 6, "exact": True}, {"budget": 1e-9}, {"gamma": 0.5}],
)
def test_filters_candidates_and_budgets_keep_the_totals(filled: Collection, options: dict[str, Any]) -> None:
    rank = "pwmd:mu=5+0.5*cover+1.5*bm25+0.5*cosine"
    gamma = {"gamma": options["gamma"]} if "gamma" in options else {"gamma": 0.0}
    whole = {hit.key: hit.total for hit in filled.search("ant bee zorp", k=99, rank=rank, **gamma).hits}
    ranking = filled.search("ant bee zorp", k=4, rank=rank, **(gamma | options))
    assert [hit.total for hit in ranking.hits] == pytest.approx([whole[hit.key] for hit in ranking.hits])
    if ranking.certified and "where" not in options:
        assert [hit.key for hit in ranking.hits] == list(whole)[:4]
    elif "budget" in options:
        kth = sorted(total for total in whole.values() if total is not None)[3]
        assert (ranking.hits[-1].total or 0) - kth <= ranking.largest_error + 1e-9


@pytest.mark.parametrize(
    "rank", ["wmd+bm25", "chamfer+0.5*cosine", "bm25+lsi:dim=3", "vector+bm25", "2*lsi:dim=3", "cosine"]
)
def test_similar_documents_are_ranked_like_the_text(filled: Collection, rank: str) -> None:
    text = filled.search("elk elk fox", k=99, rank=rank)
    assert text.certified
    assert [hit.total for hit in text.hits] == sorted(hit.total or 0 for hit in text.hits)
    similar = filled.similar("d3", k=99, rank=rank)
    assert "d3" not in {hit.key for hit in similar.hits}
    batch = [*filled.similar_many(["d3"], k=99, rank=rank)]
    assert [(hit.key, hit.total) for hit in batch[0].hits] == [(hit.key, hit.total) for hit in similar.hits]


def test_a_query_without_a_vector_is_ranked_by_its_words(filled: Collection) -> None:
    found = filled.search("zorp quux", k=99, rank="wmd+bm25")
    by_words = filled.search("zorp quux", k=99, rank="bm25")
    assert [hit.key for hit in found.hits] == [hit.key for hit in by_words.hits]
    with pytest.raises(NoKnownWords):
        filled.search("zorp quux", rank="wmd+cover")


def test_explanations_speak_of_the_sum(filled: Collection) -> None:
    rank = "wmd:mu=5+0.5*cover+1.5*bm25"
    hits = filled.search("ant bee zorp", k=99, rank=rank).hits
    for hit in (hits[0], hits[30]):
        if math.isnan(hit.distance):
            continue
        explanation = filled.explain("ant bee zorp", hit.key, rank=rank)
        assert explanation.total == pytest.approx(hit.total)
        assert explanation.distance == pytest.approx(hit.distance)
        assert dict(explanation.parts) == pytest.approx(dict(hit.parts))
        why = filled.why_not("ant bee zorp", hit.key, rank=rank, k=5)
        assert why.distance == pytest.approx(hit.total)
        assert why.kth == pytest.approx(hits[4].total)
        for name in ("rwmd", "dual", "sinkhorn"):
            assert why.bounds[name] <= why.distance + 1e-9


def test_an_unknown_field_of_a_prior_is_named(filled: Collection) -> None:
    with pytest.raises(UsageError, match="no document has a number in the field 'stars'"):
        filled.search("ant", rank="wmd+prior:field=stars")
