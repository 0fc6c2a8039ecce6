"""Rerankers that need no file: by words alone, and by word vectors learned from texts."""

import json
import pickle
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import Stemmer

from moverank import Collection, Document, DocumentFrequencies, Part, Ranking, Reranker, Settings, UsageError
from moverank.indexer.demo.examples import threads_path
from moverank.indexer.reranking.texts import candidate_documents

WORDS = ["plug", "plugs", "plugged", "heater", "heating", "heated", "socket", "sockets", "warm", "warming", "cable"]
TEXTS = [" ".join(np.random.default_rng(seed).choice(WORDS, 3 + seed % 9)) for seed in range(30)]
QUERY = "plugging warmed cable plug"
NEEDED = r"needs word vectors, which this reranker lacks: make one by Reranker\.learn\(texts\) or Reranker\.load"


def _by_bm25s(query: str, texts: list[str], among: Iterable[str] = ()) -> list[float]:
    """Return the scores of texts by bm25s over stems; the statistics are those of the texts and of `among`."""
    bm25s = pytest.importorskip("bm25s")
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25(k1=1.6, b=0.75, method="atire", idf_method="lucene", dtype="float64")
    index.index([stemmer.stemWords(text.split()) for text in [*texts, *among]], show_progress=False)
    scores: list[float] = index.get_scores(stemmer.stemWords(query.split())).tolist()
    return scores[: len(texts)]


def _check(ranking: Ranking, scores: list[float]) -> None:
    assert {hit.candidate: dict(hit.parts)["bm25"] for hit in ranking.hits} == pytest.approx(dict(enumerate(scores)))
    assert [hit.candidate for hit in ranking.hits] == sorted(range(len(scores)), key=lambda i: -round(scores[i], 9))
    assert ranking.certified
    assert all(hit.exact for hit in ranking.hits)


def test_words_alone_rank_by_bm25_with_stems() -> None:
    reranker = Reranker()
    assert reranker.ranking == "bm25:k1=1.6,stem=english"
    _check(reranker.rank(QUERY, TEXTS), _by_bm25s(QUERY, TEXTS))
    again = pickle.loads(pickle.dumps(reranker))  # noqa: S301 - made here
    assert repr(again.rank(QUERY, TEXTS).hits) == repr(reranker.rank(QUERY, TEXTS).hits)


def test_frequencies_are_those_of_a_larger_collection() -> None:
    ranking = Reranker(frequencies=DocumentFrequencies.of(TEXTS)).rank(QUERY, TEXTS[:8], rank="bm25:k1=1.6")
    bm25s = pytest.importorskip("bm25s")
    index = bm25s.BM25(k1=1.6, b=0.75, method="atire", idf_method="lucene", dtype="float64")
    index.index([text.split() for text in TEXTS], show_progress=False)
    known = [word for word in QUERY.split() if word in " ".join(TEXTS).split()]
    _check(ranking, index.get_scores(known).tolist()[:8])


def test_words_of_other_languages_have_their_stems() -> None:
    ranking = Reranker(language="de").rank("warme Stecker", ["der Zug", "des warmen Steckers", "ein Stecker"])
    assert [hit.key for hit in ranking.hits] == ["1", "2", "0"]
    assert ranking.ranked_by.startswith("bm25:k1=1.6,stem=german")
    assert [hit.key for hit in Reranker(language="th").rank("ปลั๊กร้อน", ["รถไฟสาย", "ปลั๊กร้อน"]).hits] == ["1", "0"]


def test_texts_without_words_come_last_and_places_are_those_of_words() -> None:
    ranking = Reranker().rank("warm plug", ["", "the train", None, "a warming plug"], highlight=True)
    assert [(hit.candidate, hit.wordless) for hit in ranking.hits] == [(3, False), (1, False), (0, True), (2, True)]
    assert [place.word for place in ranking.hits[0].highlights] == ["warming", "plug"]


def test_scores_of_the_engine_and_fields_may_be_terms() -> None:
    texts = [{"text": "plug", "votes": 1}, {"text": "plug", "votes": 9}]
    found = Reranker().rank("plug", texts, rank="bm25+prior:field=votes")
    assert [hit.candidate for hit in found.hits] == [1, 0]
    found = Reranker().rank("plug", texts, scores=[0.1, 0.7], rank="bm25:stem=english+vector")
    assert [hit.candidate for hit in found.hits] == [1, 0]


@pytest.mark.parametrize(
    ("what", "call"),
    [
        ("the ranking wmd", lambda: Reranker(rank="wmd")),
        ("the ranking bm25[+]cosine", lambda: Reranker(rank="bm25+cosine")),
        ("the ranking lsi", lambda: Reranker().rank("plug", TEXTS, rank="lsi")),
        ("the ranking wmd[+]bm25", lambda: Reranker().rank_many([], [], rank="wmd+bm25")),
        ("a passage", lambda: Reranker().rank("plug", TEXTS, passage=9)),
        ("evidence", lambda: Reranker().evidence("the plug is warm", TEXTS)),
        ("a comparison of versions", lambda: Reranker().changes("the plug is warm", "the plug is hot")),
        ("the property embedding", lambda: Reranker().embedding),
    ],
)
def test_what_needs_vectors_names_the_mend(what: str, call: Callable[[], Any]) -> None:
    with pytest.raises(UsageError, match=f"^{what} {NEEDED}"):
        call()


@pytest.fixture(scope="module")
def threads() -> list[dict[str, Any]]:
    """Return the threads of the demo, which share keys."""
    with threads_path().open(encoding="utf-8") as file:
        return [json.loads(line) | {"id": "one"} for line in file]


@pytest.mark.parametrize("options", [{}, {"gamma": 0.75, "rank": "pwmd", "stop_words": "none", "title_weight": 2}])
def test_learned_vectors_rank_as_a_collection_of_the_texts(
    threads: list[dict[str, Any]], options: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    documents = [replace(one, key=str(i)) for i, one in enumerate(candidate_documents(threads))]
    reranker = Reranker.learn(iter(threads), **options)
    assert not caplog.messages
    with Collection.create(tmp_path / "made.index", Settings(**options)) as made:
        made.index(documents)
        assert reranker.ranking == made.settings.specification
        assert reranker.embedding.fingerprint == made.embedding.fingerprint
        for query in ("mains plug gets hot", "a chain with worn gears", "a car in winter"):
            expected, found = made.search(query, k=len(documents), exact=True), reranker.rank(query, threads)
            assert not expected.respelled_words  # a search mends typing errors, too
            assert [str(hit.candidate) for hit in found.hits] == [hit.key for hit in expected.hits]
            for hit, other in zip(found.hits, expected.hits, strict=True):
                assert hit.score == pytest.approx(other.score, abs=1e-9)
                assert dict(hit.parts) == pytest.approx(dict(other.parts), abs=1e-9)
        some = reranker.rank("mains plug gets hot", threads[:3], rank="bm25:gamma=0")
        whole = made.rerank("mains plug gets hot", ["0", "1", "2"], rank="bm25:gamma=0")
        assert [dict(hit.parts) for hit in some.hits] == [pytest.approx(dict(hit.parts)) for hit in whole.hits]
    copied = pickle.loads(pickle.dumps(reranker))  # noqa: S301 - made here
    assert copied.rank("hot plug", threads).hits == reranker.rank("hot plug", threads).hits


def test_few_texts_are_reported_and_ranked_by_words(caplog: pytest.LogCaptureFixture) -> None:
    reranker = Reranker.learn(TEXTS)
    assert caplog.messages == [
        "30 texts are too few to learn word vectors from: they are ranked by bm25:k1=1.6,stem=english until there are "
        "50; Reranker.load(FILE) reads word vectors from a file"
    ]
    _check(reranker.rank(QUERY, TEXTS[:9]), _by_bm25s(QUERY, TEXTS[:9], TEXTS[9:]))
    assert reranker.rank("warm plug", TEXTS, rank="wmd").certified


def test_texts_without_words_leave_the_words_of_the_candidates(caplog: pytest.LogCaptureFixture) -> None:
    for texts in ([], ["", None], ["the and"] * 60):
        _check(Reranker.learn(texts).rank(QUERY, TEXTS), _by_bm25s(QUERY, TEXTS))
    notes = [record.getMessage() for record in caplog.records if record.name == "moverank"]
    assert len(notes) == 3
    assert all("the texts have too few words to learn word vectors from" in note for note in notes)


def test_the_language_of_texts_is_given_or_detected() -> None:
    texts = ["Der Stecker der Heizung wird warm.", "Der Zug kam wieder zu spät.", "Ein warmer Stecker schmilzt."] * 20
    for language in ("de", "auto"):
        assert "stem=german" in Reranker.learn(texts, language=language).ranking


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ("plug", {}, "texts must be a list, not 'plug'"),
        (["plug", 3], {}, "text 1 must be a string, a record or a Document, not 3"),
        ([{"id": 3}], {}, "text 0: a candidate needs the form"),
        (["plug"], {"rank": "nothing"}, "there is no ranking 'nothing'"),
        ([], {"rank": "wmd"}, "the ranking wmd needs word vectors"),
        (["plug"], {"weigths": "tf"}, r"there is no setting 'weigths' \(did you mean weights\?\)"),
    ],
)
def test_what_cannot_be_learned_is_named(texts: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Reranker.learn(texts, **options)


def test_texts_may_be_documents_by_key() -> None:
    texts: dict[str, Any] = {"a": Document("x", "Warm plug", (Part("The plug gets hot."),)), "b": "late train"}
    assert Reranker.learn(texts).rank("plug", texts).hits[0].key == "a"
