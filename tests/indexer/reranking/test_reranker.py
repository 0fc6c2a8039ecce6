import math
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import (
    Collection,
    Document,
    DocumentFrequencies,
    Embedding,
    NoKnownWords,
    Part,
    PlugInError,
    Ranking,
    Reranker,
    Settings,
    UsageError,
    VectorsError,
)
from moverank.indexer.values.ranking_spec import parse_ranking
from moverank.indexer.values.settings import default_rank
from moverank.rerank.bags.bag import Bag
from tests import naive
from tests.indexer.world import CollectionFactory, document, random_documents
from tests.installed import remove_plug_ins
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
    ranking = Reranker(embedding, rank="wmd").rank("mains plug gets hot", TEXTS)
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
    ranking = Reranker(embedding, rank="wmd").rank("mains plug gets hot", list(TEXTS.values()))
    by_key = Reranker(embedding, rank="wmd").rank("mains plug gets hot", TEXTS)
    indices = [str(list(TEXTS).index(hit.key)) for hit in by_key.hits]
    assert [hit.key for hit in ranking.hits] == indices
    assert [str(hit.candidate) for hit in ranking.hits] == indices
    np.testing.assert_equal([hit.distance for hit in ranking.hits], [hit.distance for hit in by_key.hits])


def test_words_without_a_vector_are_named(embedding: Embedding) -> None:
    ranking = Reranker(embedding, rank="wmd").rank("hot plug qqq", TEXTS)
    assert ranking.unknown_words == ranking.ignored_words == ("qqq",)


@pytest.mark.parametrize(
    ("query", "texts", "message"),
    [
        ("dog", ["dog", 3], "text 1 must be a string, a record or a Document, not 3"),
        ("dog", {"a": b"dog"}, "text a must be a string, a record or a Document, not b'dog'"),
        (None, ["dog"], "the query must be a string, a record or a Document, not None"),
    ],
)
def test_what_is_no_text_is_named(embedding: Embedding, query: Any, texts: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Reranker(embedding, rank="wmd").rank(query, texts)


@given(
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=8),
    texts=st.lists(st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=8), max_size=8),
    k=st.integers(1, 12),
)
def test_rank_is_brute_force(embedding: Embedding, query: list[str], texts: list[list[str]], k: int) -> None:
    joined = [" ".join(text) for text in texts]
    ranking = Reranker(embedding, [], rank="wmd").rank(" ".join(query), joined, k)
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
    reranker = Reranker(embedding, rank="wmd")
    whole = reranker.rank("socket", TEXTS, k=100).hits
    assert [hit.exact for hit in whole] == [True] * 4 + [False] * 2
    assert reranker.rank("socket", TEXTS, k=2).hits[:2] == whole[:2]
    assert reranker.rank("socket", TEXTS).hits[:4] == whole[:4]
    same = reranker.rank("socket", [TEXTS["near"]] * 30).hits
    assert [hit.candidate for hit in same] == list(range(30))
    assert len({hit.distance for hit in same}) == 1
    assert len({np.float32(hit.score) for hit in same}) == 30


def test_texts_without_known_words_come_last(embedding: Embedding) -> None:
    ranking = Reranker(embedding, rank="wmd").rank("cat", {"a": "zzz", "b": "", "c": "the"})
    assert [(hit.key, hit.wordless, hit.exact) for hit in ranking.hits] == [(key, True, False) for key in "abc"]
    assert ranking.certified
    assert Reranker(embedding, rank="wmd").rank("cat", []).hits == ()


@pytest.mark.parametrize("query", ["", "zzz", "the and", "..."])
def test_a_query_without_known_words_is_an_error(embedding: Embedding, query: str) -> None:
    with pytest.raises(NoKnownWords, match="no word of the query has a vector in the embedding"):
        Reranker(embedding, rank="wmd").rank(query, TEXTS)


def test_stop_words_can_be_replaced() -> None:
    embedding = Embedding.of(["the", "cat", "dog"], np.eye(3))
    texts = ["the cat", "cat"]
    assert [hit.distance for hit in Reranker(embedding, rank="wmd").rank("cat", texts).hits] == [0, 0]
    hits = Reranker(embedding, [], rank="wmd").rank("cat", texts).hits
    assert [hit.key for hit in hits] == ["1", "0"]
    assert hits[1].distance == pytest.approx(math.sqrt(2) / 2)
    with pytest.raises(NoKnownWords):
        Reranker(embedding, ["cat"], rank="wmd").rank("cat", texts)


def test_k_must_be_one_or_more(embedding: Embedding) -> None:
    with pytest.raises(UsageError, match="k must be"):
        Reranker(embedding, rank="wmd").rank("cat", TEXTS, k=0)


def test_a_single_string_is_refused() -> None:
    embedding = Embedding.of(["cat", "dog"], np.eye(2, dtype=np.float32))
    with pytest.raises(UsageError, match="put it into a list"):
        Reranker(embedding, [], rank="wmd").rank("cat", "dog")


RECORDS: list[Any] = [
    {"id": "r1", "title": "Warm socket", "text": "the cable melts", "votes": 3},
    {"id": "r2", "title": "Cat", "body": "cat sleeps", "comments": [{"text": "dog"}, {"text": "hot plug", "rank": 9}]},
    {"text": "roof house"},
    Document("r4", "Dog house", (Part("dog"), Part("hot", rank=3)), "pets", {"votes": 40}),
    "mains plug",
]


def test_candidates_may_be_records_threads_and_documents(embedding: Embedding) -> None:
    reranker = Reranker(embedding, rank="wmd", title_weight=1)
    ranking = reranker.rank({"title": "Hot plug", "text": "socket"}, RECORDS)
    assert sorted(hit.key for hit in ranking.hits) == ["2", "4", "r1", "r2", "r4"]
    found = {hit.key: hit for hit in ranking.hits}
    assert (found["r4"].title, found["r4"].label, found["r4"].metadata) == ("Dog house", "pets", {"votes": 40})
    assert (found["r1"].title, found["r1"].label, found["r1"].metadata) == ("Warm socket", None, {"votes": 3})
    labelled = Reranker(embedding, rank="wmd").rank("cat", [{"text": "dog", "label": "pets", "tags": ["a"]}]).hits[0]
    assert (labelled.label, labelled.metadata) == ("pets", {"tags": ["a"]})
    assert found["r1"].distance == pytest.approx(
        _brute_force(embedding, "hot plug socket", "warm socket cable melts"), rel=1e-9
    )


def test_the_defaults_are_those_of_a_collection(embedding: Embedding, tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    rows = [f"{word} {' '.join(map(str, row))}" for word, row in zip(WORDS, embedding.vectors.tolist(), strict=True)]
    vectors.write_text("\n".join(rows) + "\n", "utf-8")
    with Collection.create(tmp_path / "made.index", Settings(embedding=str(vectors))) as made:
        made.index([Document(key, parts=(Part(text),)) for key, text in TEXTS.items()])
        expected = made.search("the mains plug gets hot", exact=True)
        assert [hit.key for hit in made.search("the mains plug gets hot", rank="auto").hits] == [
            hit.key for hit in expected.hits
        ]
    # The candidates are the whole collection, so their document frequencies are the same.
    ranking = Reranker.load(vectors, rank=None).rank("the mains plug gets hot", TEXTS)
    assert ranking.ranked_by == expected.ranked_by == default_rank(0.0, stem="english")
    found = {hit.key: hit.total for hit in ranking.hits}
    for hit in expected.hits:
        assert found[hit.key] == pytest.approx(hit.total, abs=1e-7)


def test_titles_and_ranks_have_weights(embedding: Embedding) -> None:
    reranker = Reranker(embedding, title_weight=3, gamma=1.0, rank="pwmd")
    ranking = reranker.rank("cat", [RECORDS[1], RECORDS[3]])
    entries = {"r2": [(8, -1, 1), (10, 0, 1), (9, 1, 1), (4, 9, 1), (1, 9, 1)]}
    entries["r4"] = [(9, -1, 1), (11, -1, 1), (9, 0, 1), (4, 3, 1)]
    for hit in ranking.hits:
        weights = naive.weights(entries[hit.key], 1.0, title_weight=3)
        bag = Bag.of(list(weights), list(weights.values()))
        query = Bag.of([8], [1.0])
        expected = naive.wmd(query, embedding.vectors[[8]], bag, embedding.vectors)
        assert hit.distance == pytest.approx(expected, rel=1e-9)
    plain = reranker.rank("cat", [RECORDS[1], RECORDS[3]], gamma=0.0)
    assert [hit.distance for hit in plain.hits] != [hit.distance for hit in ranking.hits]


def test_a_record_that_is_no_text_is_named(embedding: Embedding) -> None:
    with pytest.raises(UsageError, match="text 1: a candidate needs the form"):
        Reranker(embedding, rank="wmd").rank("cat", ["dog", {"id": 3}])
    with pytest.raises(UsageError, match="rank that is not within"):
        Reranker(embedding, rank="wmd").rank("cat", [Document("a", parts=(Part("dog", -3),))])


def test_fields_and_scores_can_be_terms(embedding: Embedding) -> None:
    reranker = Reranker(embedding, rank="wmd")
    texts = [RECORDS[0], RECORDS[3], RECORDS[2]]
    assert [hit.key for hit in reranker.rank("cat", texts, rank="prior:field=votes").hits] == ["r4", "r1", "2"]
    by_engine = reranker.rank("cat", texts, scores=[0.1, None, 0.3], rank="wmd+99*vector")
    assert [hit.key for hit in by_engine.hits][:2] == ["2", "r1"]
    assert dict(by_engine.hits[0].parts)["vector"] == 0.3
    with pytest.raises(UsageError, match="the ranking has the term vector: give the scores of the engine"):
        reranker.rank("cat", texts, rank="wmd+vector")
    with pytest.raises(UsageError, match="no candidate has a number in the field 'stars'"):
        reranker.rank("cat", texts, rank="wmd+prior:field=stars")


QUERIES = ["mains plug gets hot", "cat dog", "qqq", "roof socket zzz"]
LISTS: list[Any] = [list(TEXTS.values()), TEXTS, ["cat", "dog"], RECORDS]


def _shown(ranking: Ranking) -> list[str]:
    return [repr(hit) for hit in ranking.hits]


@pytest.mark.parametrize(
    "rank", ["wmd", "wmd:mu=20,weights=tfidf+0.5*cover+2*bm25:stem=english+cosine", "bm25", "wmd+2*bm25:ngrams=2"]
)
def test_many_queries_have_the_results_of_each(embedding: Embedding, rank: str) -> None:
    reranker = Reranker(embedding, rank=rank)
    many = reranker.rank_many(QUERIES, LISTS, k=2)
    for i in (0, 1, 3):
        assert _shown(many[i]) == _shown(reranker.rank(QUERIES[i], LISTS[i], k=2))
    if rank == "wmd":
        assert many[2].problem == "no word of the query has a vector in the embedding"
        assert [(hit.key, hit.wordless) for hit in many[2].hits] == [("0", True), ("1", True)]
        assert not many[2].certified
    assert reranker.rank_many([], []) == []
    with pytest.raises(UsageError, match="for each query"):
        reranker.rank_many(["cat"], [])


@pytest.mark.slow
def test_threads_get_the_results_of_one(embedding: Embedding) -> None:
    rng = np.random.default_rng(4)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(30)]
    queries = [" ".join(rng.choice(WORDS, 4)) for _ in range(20)]
    reranker = Reranker(embedding, rank="wmd+0.5*bm25")
    expected = [_shown(reranker.rank(query, texts, k=3)) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda _: [_shown(reranker.rank(query, texts, k=3)) for query in queries], range(8)))
    assert all(run == expected for run in runs)


def test_a_pickled_reranker_gives_the_same_results(embedding: Embedding, tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    KeyedVectors = pytest.importorskip("gensim.models").KeyedVectors  # noqa: N806 - a class
    kv = KeyedVectors(10)
    kv.add_vectors(WORDS, embedding.vectors)
    kv.save_word2vec_format(str(file))
    loaded = Reranker.load(file, frequencies=DocumentFrequencies.of(TEXTS.values()), rank="wmd:weights=tfidf+bm25")
    copied = pickle.loads(pickle.dumps(loaded))  # noqa: S301 - our own
    file.unlink()
    assert _shown(copied.rank("hot plug", TEXTS)) == _shown(loaded.rank("hot plug", TEXTS))
    assert copied.ranking == "wmd:weights=tfidf+bm25"


@pytest.mark.parametrize("rule", ["stem=english", "ngrams=2"])
def test_a_collection_gives_its_weights(factory: CollectionFactory, rule: str) -> None:
    documents = [document(f"d{i}", text) for i, text in enumerate(["ant bee bee", "cat dog", "ant elk zorp", "bee"])]
    rank, used = f"wmd:mu=4,weights=tfidf+bm25:{rule}", f"wmd:weights=tfidf+bm25:{rule}"
    with factory.empty(rank=rank, title_weight=2) as collection:
        collection.index([*(replace(one, key=f"e{one.key}") for one in random_documents(30)), *documents])
        expected = collection.rerank("bee of zorp", [one.key for one in documents], rank=used)
        path = collection.path
    reranker = Reranker.load(path, language="english")
    assert reranker.ranking == rank
    with pytest.raises(UsageError, match="the collection has the language 'en', not 'de': leave it out"):
        Reranker.load(path, language="de")
    found = reranker.rank("bee of zorp", documents, rank=used)
    # Totals differ: their units are those of the candidates here, there those of the collection.
    parts = {hit.key: dict(hit.parts) for hit in expected.hits}
    for hit in found.hits:
        assert dict(hit.parts) == pytest.approx(parts[hit.key], rel=1e-12, nan_ok=True)


def test_frequencies_replace_those_of_the_candidates(embedding: Embedding) -> None:
    frequencies = DocumentFrequencies(1000, {"cat": 900, "dog": 2, "hot": 500}, 5.0)
    texts, query = ["cat", "dog house roof"], "cat dog"
    ranking = Reranker(embedding, frequencies=frequencies).rank(query, texts, rank="wmd:weights=tfidf+bm25:b=0.5")
    corpus = {"dog": 2, "cat": 900}
    for hit in ranking.hits:
        words = texts[hit.candidate or 0].split()
        length = 1 - 0.5 + 0.5 * len(words) / 5.0
        expected = sum(
            math.log(1 + (1000 - corpus[word] + 0.5) / (corpus[word] + 0.5)) * 2.2 / (1 + 1.2 * length)
            for word in words
            if word in corpus
        )
        assert dict(hit.parts)["bm25"] == pytest.approx(expected)
        idf = [naive.idf(frequencies.words.get(word, 0), 1000) for word in WORDS]
        bags = []
        for text in (query.split(), words):
            weights = naive.weights([(WORDS.index(word), 0, 1) for word in text], idf=idf)
            bags.append(Bag.of(list(weights), list(weights.values())))
        assert dict(hit.parts)["wmd"] == pytest.approx(
            naive.wmd(bags[0], embedding.vectors[bags[0].words], bags[1], embedding.vectors), rel=1e-9
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": "nothing"}, "there is no ranking 'nothing'"),
        ({"gamma": -1.0}, "gamma must be a number of 0 or more"),
        ({"title_weight": 0}, "the title weight must be a whole number from 1 to 100"),
    ],
)
def test_invalid_options_are_refused(embedding: Embedding, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Reranker(embedding, **options)


def test_what_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match=r"nowhere\.txt cannot be read"):
        Reranker.load(tmp_path / "nowhere.txt")


COMPARING = ["wmd", "pwmd", "cover:weights=tfidf", "wcd", "cosine", "2*wmd", "wmd+0.5*cover", "rwmd+wcd+3*chamfer"]
NOT_COMPARING = [
    "wmd:mu=8",
    "cover:mu=3",
    "wmd:proximity=empirical",
    "bm25",
    "wmd+bm25",
    "wmd+cosine",
    "wmd:mu=5+cover",
]


@pytest.mark.parametrize("rank", COMPARING + NOT_COMPARING)
def test_scores_compare_with_those_of_other_requests_where_the_ranking_says_so(embedding: Embedding, rank: str) -> None:
    draw = np.random.default_rng(4)
    texts = [" ".join(draw.choice(WORDS, draw.integers(3, 10))) for _ in range(60)]
    frequencies = DocumentFrequencies(1000, {word: 100 + 3 * i for i, word in enumerate(WORDS)}, 6.0)
    reranker = Reranker(embedding, rank=rank, frequencies=frequencies)
    requests = [texts[:12], texts[:4] + texts[30:], texts[:4]]
    found = [reranker.rank("mains plug gets hot", request).hits for request in requests]
    scores = np.array([[hit.score for hit in sorted(hits, key=lambda hit: hit.candidate or 0)[:4]] for hits in found])
    assert (np.ptp(scores, axis=0).max() < 1e-6) == (rank in COMPARING) == parse_ranking(rank).scores_compare
    for hits in found:
        assert sorted(hits, key=lambda hit: hit.distance if hit.total is None else hit.total) == list(hits)


def test_the_score_of_a_sum_of_distances_is_that_of_the_distances(embedding: Embedding) -> None:
    texts = [TEXTS["near"], TEXTS["far"], "warm roof"]
    hits = Reranker(embedding, rank="wmd+0.5*cover").rank("mains plug gets hot", texts).hits
    for hit in hits:
        exact = _brute_force(embedding, "mains plug gets hot", _words(texts[hit.candidate or 0]))
        assert hit.score == pytest.approx(1 / (1 + exact + 0.5 * dict(hit.parts)["cover"]))


@pytest.mark.parametrize("rank", ["wmd+0.5*cover+2*bm25+cosine", "wmd:mu=5+cosine", "rwmd+cosine"])
def test_units_are_those_of_the_candidates_that_are_no_copies_of_the_query(embedding: Embedding, rank: str) -> None:
    draw, query = np.random.default_rng(7), "mains plug gets hot"
    others = [" ".join(draw.choice(WORDS, draw.integers(3, 10))) for _ in range(10)]
    frequencies = DocumentFrequencies(1000, {word: 100 + 3 * i for i, word in enumerate(WORDS)}, 6.0)
    reranker, found = Reranker(embedding, rank=rank, frequencies=frequencies), []
    for copies in (11, 60):
        hits = reranker.rank(query, [query] * copies + others).hits
        assert {hit.candidate for hit in hits[:copies]} == set(range(copies))
        own = [hit for hit in hits if (hit.candidate or 0) >= copies]
        found.append({(hit.candidate or 0) - copies: hit.total for hit in own})
        assert all(hit.score > 1e-2 for hit in own)
    assert list(found[0]) == list(found[1])
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def _words(text: str) -> str:
    return " ".join(word for word in re.findall("[a-z]+", text.lower()) if word in WORDS)


def test_without_the_plug_in_evidence_is_one_sentence(
    embedding: Embedding, factory: CollectionFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_plug_ins(monkeypatch, tmp_path)
    with factory.empty() as collection:
        for name, calls in (
            ("compare", (Reranker(embedding).evidence, collection.compare)),
            ("changes", (Reranker(embedding).changes, collection.changes)),
        ):
            for call in calls:
                with pytest.raises(PlugInError, match=f"^there is no operation '{name}': .*install the package that"):
                    call("warm plug", "hot plug")


def test_missing_candidates_have_no_words() -> None:
    """As in a table of pandas: they keep their places, and come last."""
    ranker = Reranker(Embedding.of(["hot", "plug", "warm"], [[1.0, 0.0], [0.0, 1.0], [1.0, 0.2]]))
    ranking = ranker.rank("warm plug", [None, "hot plug", math.nan, "plug"])
    assert [(hit.candidate, hit.wordless) for hit in ranking.hits] == [(1, False), (3, False), (0, True), (2, True)]
    assert [hit.key for hit in ranker.rank("warm plug", {"a": None, "b": "plug"}).hits] == ["b", "a"]
