import numpy as np
import pytest

from moverank import Collection, Document, Part
from moverank.indexer.plugins.laboratory.corpus import corpus_of
from moverank.indexer.plugins.laboratory.distances import RowCache
from moverank.indexer.plugins.laboratory.method import parse_method
from moverank.indexer.plugins.laboratory.trial import Trial, best_of, best_with_values, placing_relevant
from moverank.indexer.reranking.texts import Texts
from moverank.indexer.search import by_distance
from moverank.indexer.values.search_options import silent
from moverank.rerank.distance.mutual_proximity import DistanceMoments, empirical_proximity, fitted_proximity
from moverank.rerank.evaluation.measures import Judgments
from tests.indexer.plugins.laboratory.ranked import ranked
from tests.indexer.world import NO_VECTOR, WORDS, MakeCollection

RANKINGS = [
    "wmd",
    "wmd:weights=tfidf",
    "pwmd:gamma=0.5",
    "rwmd",
    "chamfer:weights=tfidf",
    "cover",
    "wcd",
    "cosine:weights=tfidf",
    "bm25",
    "bm25:stem=english,gamma=0.3",
    "bm25:ngrams=2,gamma=0.3",
    "bow",
    "interpolation",
    "lsi:dim=3",
    "wmd:weights=tfidf,mu=5+0.5*cover+1.5*bm25:stem=english+cosine",
    "pwmd+0.4*bm25+0.3*lsi:dim=3",
    "pwmd:proximity=empirical",
    "wmd:weights=tfidf,proximity=gaussian",
    "0.7*pwmd:gamma=0.5,proximity=gamma+bm25",
]


def test_documents_as_queries_leave_themselves_out(pool: Texts, indexed: Collection) -> None:
    distances = ranked("wmd", pool, pool.take([3, 0]))
    assert np.isinf(distances[0, 3])
    assert np.isinf(distances[1, 0])
    hits = {hit.key: hit.distance for hit in indexed.similar("d3", k=20, distance="wmd").hits}
    found = {pool.keys[row]: distances[0, row] for row in np.flatnonzero(np.isfinite(distances[0]))}
    assert found == pytest.approx(hits)


@pytest.mark.parametrize("name", ["wmd", "bow:proximity=gaussian", "random"])
def test_only_candidates_are_ranked(name: str, pool: Texts) -> None:
    candidates = {pool.keys[0]: [pool.keys[2], "gone", pool.keys[5]], pool.keys[1]: [pool.keys[7]]}
    trial = Trial(pool, pool.take([0, 1]), np.array([0, 1]), RowCache(), silent, candidates)
    every = ranked(name, pool, pool.take([0, 1]))
    found = list(best_with_values(parse_method(name), trial, len(pool)))
    assert [sorted(rows.tolist()) for rows, _ in found] == [[2, 5], [7]]
    for query, (rows, values) in enumerate(found):
        assert values == pytest.approx(every[query, rows])
        assert values.tolist() == sorted(values.tolist())


def test_proximity_is_that_of_the_distances(pool: Texts) -> None:
    queries = pool.take([1, 4])
    plain, among = ranked("bow", pool, queries), ranked("bow", pool, pool)
    assert np.array_equal(ranked("bow:proximity=empirical", pool, queries), empirical_proximity(plain, among))
    spread = DistanceMoments.of(among)
    for kind in ("gaussian", "gamma"):
        proximity = ranked(f"bow:proximity={kind}", pool, queries)
        assert proximity == pytest.approx(fitted_proximity(plain, DistanceMoments.of(plain), spread, kind))


@pytest.mark.slow
@pytest.mark.parametrize("rank", RANKINGS)
def test_the_order_is_that_of_a_search(indexed: Collection, rank: str) -> None:
    """Of documents and of texts as queries, for all documents and for the best ones."""
    texts = [("q1", "ant bee zorp"), ("q2", "elk fox fox"), ("q3", "quux hen")]
    corpus = corpus_of(indexed, texts)
    pool, method = corpus.documents, parse_method(rank, indexed.settings.ranking)
    keyed = pool.take([3, 0, 5])
    for k in (4, len(pool)):
        for queries, own_rows in ((corpus.queries, np.full(3, -1)), (keyed, np.array([3, 0, 5]))):
            trial = Trial(pool, queries, own_rows, RowCache(), silent)
            for key, rows in zip(queries.keys, best_of(method, trial, k), strict=True):
                search = indexed.similar if own_rows[0] >= 0 else indexed.search
                found = search(dict(texts).get(key, key), k=k, rank=rank).hits
                assert [pool.keys[row] for row in rows.tolist()] == [hit.key for hit in found]


@pytest.mark.slow
@pytest.mark.parametrize(
    "rank", ["wmd", "chamfer", "wmd:mu=5+0.5*cover+1.5*bm25", "cosine", "wmd:proximity=gaussian", "lsi:dim=3"]
)
def test_the_order_by_the_lengths_of_vectors_is_that_of_a_search(
    make_collection: MakeCollection, documents: list[Document], rank: str
) -> None:
    collection = make_collection(documents, normalize=True, weights="norm")
    test_the_order_is_that_of_a_search(collection, rank)


@pytest.mark.slow
@pytest.mark.parametrize("rank", RANKINGS)
def test_relevant_documents_have_their_exact_positions(
    indexed: Collection, rank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so have the first ones, whatever is known of the others."""
    monkeypatch.setattr(by_distance, "PLACES", 2)
    pool, rng = corpus_of(indexed).documents, np.random.default_rng(4)
    keys, method = list(pool.keys), parse_method(rank, indexed.settings.ranking)
    own_rows = np.arange(6)
    grades = {keys[row]: {key: int(rng.integers(0, 2)) for key in rng.choice(keys, 6)} for row in own_rows}
    judgments = Judgments({**grades, "gone": {keys[0]: 1}})
    for k in (5, len(pool)):
        trial = Trial(pool, pool.take(own_rows), own_rows, RowCache(), silent)
        exact, placed = best_of(method, trial, k), best_of(method, placing_relevant(trial, judgments), k)
        for row, expected, found in zip(own_rows.tolist(), exact, placed, strict=True):
            assert found[:2].tolist() == expected[:2].tolist()
            relevant = [key in keys and grades[keys[row]].get(key, 0) > 0 for key in keys]
            assert np.flatnonzero(np.array(relevant)[found]).tolist() == (
                np.flatnonzero(np.array(relevant)[expected]).tolist()
            )


@pytest.mark.slow
@pytest.mark.parametrize("rank", RANKINGS)
def test_the_order_of_records_is_that_of_a_search(make_collection: MakeCollection, rank: str) -> None:
    """Of queries with a title and ranked parts, in a collection of such documents, some of which are the queries."""
    rng = np.random.default_rng(8)
    words = [*WORDS, "ants", *NO_VECTOR]

    def thread(key: str, *ranks: int) -> Document:
        title, *posts = (" ".join(rng.choice(words, 4)) for _ in range(1 + len(ranks)))
        parts = [Part(text, r) for text, r in zip(posts, ranks, strict=True)]
        return Document(key, title, (Part(f"{title}. {posts[0]}", ranks[0]), *parts[1:]))

    collection = make_collection(title_weight=3, gamma=0.75)
    documents = [thread(f"d{i}", *range(1 + i % 3)) for i in range(15)]
    collection.index(documents)
    new = [thread("q1", 0, 1, 1, 4), thread("q2", 2, 3), Document("q3", "ant zorp", title_counts=True)]
    new.append(Document("q4", "Ignored fox", (Part("hen", 1),), title_counts=False))
    queries = {query.key: query for query in (*new, documents[4])}
    corpus = corpus_of(collection, list(queries.items()))
    pool, method = corpus.documents, parse_method(rank, collection.settings.ranking)
    own_rows = np.array([pool.row_of.get(key, -1) for key in queries])
    for rows in (np.full(len(queries), -1), own_rows):
        trial = Trial(pool, corpus.queries, rows, RowCache(), silent)
        for (key, query), own, best in zip(
            queries.items(), rows.tolist(), best_of(method, trial, len(pool)), strict=True
        ):
            found = (
                collection.search(query, k=len(pool), rank=rank)
                if own < 0
                else collection.similar(key, k=len(pool), rank=rank)
            )
            assert [pool.keys[row] for row in best.tolist()] == [hit.key for hit in found.hits]
