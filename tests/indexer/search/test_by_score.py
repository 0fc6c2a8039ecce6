"""Scorers rank a collection as they rank its texts from scratch, whatever has happened to it."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from moverank import Collection, Document, Settings, UsageError
from moverank.indexer.ranking_spec import ScorerChoice
from moverank.indexer.snapshot.translation_cache import cached_normalisers
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Ranking
from moverank.rerank.scorers import SCORERS, WordVectors
from tests.indexer.world import NO_VECTOR, STOP_WORDS, TABLE, WORDS, Twin, check_exact, document, snapshots
from tests.naive_scorers import score as naive_score

Make = Callable[..., Collection]
QUERIES = ("ant bee zorp", "elk elk fox", "quux nowhere gnu", "lark")
CASES = ["bow", "bow:norm=l2", "tfidf", "bm25", "bm25:k1=0.6,b=0.1", "pl2", "translation", "interpolation"]
_VECTORS = {word: vector.tolist() for word, vector in TABLE.items()}


def _documents(first: int, last: int) -> list[Document]:
    """Documents of one or two parts, with words that have no vector among them; every ninth has no other."""
    rng, found = np.random.default_rng(5), []
    for i in range(last):
        texts = [" ".join(rng.choice([*WORDS, *NO_VECTOR], 4)), " ".join(rng.choice(WORDS, 3))]
        chosen = ["zorp quux"] if i % 9 == 4 else texts[: 1 + i % 2]
        found.append(document(f"d{i}", *chosen, label="red" if i % 3 else "blue"))
    return found[first:]


def _counts(found: Document, gamma: float) -> dict[str, float]:
    counts: dict[str, float] = {}
    for part in found.parts:
        for word, count in Counter(part.text.split()).items():
            if word not in STOP_WORDS:
                counts[word] = counts.get(word, 0.0) + count * (1 + part.rank) ** -gamma
    return counts


def _expected(twin: Twin, typed: str, query: Mapping[str, float], gamma: float = 0.0) -> dict[str, float]:
    """The scores of all documents by key, by the loops of the slow twin."""
    name, _, rest = typed.partition(":")
    options = dict(option.split("=") for option in rest.split(",") if option)
    counts = [_counts(found, gamma) for found in twin.documents.values()]
    return dict(zip(twin.documents, naive_score(name, options, query, counts, _VECTORS), strict=True))


def _check(ranking: Ranking, twin: Twin, typed: str, query: str | Document, gamma: float = 0.0, k: int = 99) -> None:
    """Every hit has the score of the slow twin, and nothing better is missing."""
    asked = Counter(query.split()) if isinstance(query, str) else _counts(query, gamma)
    expected = _expected(twin, typed, asked, gamma)
    if not isinstance(query, str):
        del expected[query.key]
    distance = SCORERS[typed.partition(":")[0]].ascending
    found = {hit.key: hit.distance if distance else hit.score for hit in ranking.hits}
    assert found == pytest.approx({key: expected[key] for key in found}, rel=1e-9, abs=1e-9)
    assert ranking.certified
    assert list(found.values()) == sorted(found.values(), reverse=not distance)
    assert all(math.isnan(hit.distance) != distance for hit in ranking.hits)
    by_meaning = typed.partition(":")[0] in ("translation", "interpolation")
    for key in [*expected]:
        words = _counts(twin.documents[key], 0).keys()
        if not (words if by_meaning else words & asked.keys()):
            del expected[key]
    best = sorted(expected.values(), reverse=not distance)[:k]
    assert list(found.values()) == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.fixture
def twin() -> Twin:
    made = Twin()
    made.add(_documents(0, 60))
    return made


@pytest.fixture
def filled(make: Make, twin: Twin, monkeypatch: pytest.MonkeyPatch) -> Collection:
    """A snapshot of 50 documents, some of which are gone or others since, and a tail."""
    collection = make(gamma=0.75)
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0)
    collection.index([*_documents(0, 50), document("gone", "kiwi zorp zorp only")])
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 99)
    changed = [document("d3", "gnu gnu quux new"), document("d7", "ant", "of the bee"), document("empty", "of the")]
    twin.add(changed)
    collection.index([*_documents(50, 60), *changed])
    collection.remove(["gone"])
    return collection


@pytest.mark.parametrize("typed", CASES)
@pytest.mark.parametrize("gamma", [0.0, 0.75])
def test_scores_are_those_of_all_texts_from_scratch(filled: Collection, twin: Twin, typed: str, gamma: float) -> None:
    for query in QUERIES:
        _check(filled.search(query, k=99, distance=typed, gamma=gamma), twin, typed, query, gamma)
    _check(filled.search(QUERIES[0], k=4, distance=typed, gamma=gamma), twin, typed, QUERIES[0], gamma, 4)
    for key in ("d1", "d3", "d4"):
        ranking = filled.similar(key, k=99, distance=typed, gamma=gamma)
        _check(ranking, twin, typed, twin.documents[key], gamma)


@pytest.mark.parametrize("typed", CASES)
def test_many_questions_have_the_answers_that_each_has_alone(filled: Collection, typed: str) -> None:
    together = [*filled.search_many([*QUERIES, "of the"], k=5, distance=typed)]
    alone = [filled.search(query, k=5, distance=typed) for query in QUERIES]
    assert [ranking.problem is None for ranking in together] == [True] * 4 + [False]
    for one, other in zip(together, alone, strict=False):
        assert [(hit.key, hit.score) for hit in one.hits] == [(hit.key, hit.score) for hit in other.hits]


def test_documents_without_any_vector_are_found_by_their_words(filled: Collection) -> None:
    assert "d4" in {hit.key for hit in filled.search("quux", k=60, distance="bm25").hits}
    assert not filled.search("nowhere", distance="bm25").hits
    with pytest.raises(NoKnownWords):
        filled.search("of the", distance="bm25")
    with pytest.raises(NoKnownWords, match="has no word"):
        filled.similar("empty", distance="bm25")


def test_a_filter_and_a_depth_limit_what_is_scored(filled: Collection, twin: Twin) -> None:
    red = filled.search("ant bee", k=60, distance="bm25", where={"label": ["red"]})
    assert {twin.documents[hit.key].label for hit in red.hits} == {"red"}
    assert red.certified
    some = filled.search("ant bee", k=3, distance="bm25", depth=6)
    assert (some.certified, some.scope, some.counts.candidates) == (False, "candidates", 6)
    assert filled.search("ant bee", k=3, distance="bm25", depth=6, exact=True).certified
    assert filled.search("ant bee", k=3, distance="bm25", depth=600).certified


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"distance": "bm25", "blend": "pl2"}, "bm25 ranks by itself"),
        ({"distance": "bm25", "budget": 1.0}, "bm25 ranks by itself"),
        ({"distance": "bm26"}, "there is no distance 'bm26'"),
        ({"blend": "wmd=0.5"}, "a blend is SCORER=SHARE"),
    ],
)
def test_what_contradicts_itself_is_refused(filled: Collection, options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        filled.search("ant", **options)
    with pytest.raises(UsageError, match=r"only a distance has bounds"):
        filled.why_not("ant", "d1", distance="bm25")


def test_a_blend_joins_a_distance_and_a_score(filled: Collection, twin: Twin) -> None:
    query, k = "ant bee zorp", 5
    distances = twin.distances("ant bee", gamma=0.75)
    scores = _expected(twin, "bm25", Counter(query.split()), 0.75)
    near = {key: 1 - (far - min(distances.values())) / np.ptp([*distances.values()]) for key, far in distances.items()}
    counted = {key: value for key, value in scores.items() if key in distances or value}
    spans = {key: (value - min(counted.values())) / np.ptp([*counted.values()]) for key, value in counted.items()}
    joint = {key: 0.7 * near.get(key, 0.0) + 0.3 * spans[key] for key in counted}
    ranking = filled.search(query, k=k, blend="bm25=0.3")
    assert (ranking.certified, ranking.scope) == (False, "candidates")
    assert [hit.score for hit in ranking.hits] == pytest.approx(sorted(joint.values(), reverse=True)[:k])
    for hit in ranking.hits:
        assert hit.score == pytest.approx(joint[hit.key])
        assert dict(hit.parts) == pytest.approx(
            {"pwmd": distances.get(hit.key, math.nan), "bm25": scores[hit.key]}, nan_ok=True
        )
        assert hit.distance == pytest.approx(distances.get(hit.key, math.nan), nan_ok=True)


def test_a_blend_of_all_or_nothing_is_one_of_both(filled: Collection) -> None:
    def keys(**options: Any) -> list[str]:
        return [hit.key for hit in filled.search("elk fox gnu quux", k=8, **options).hits]

    assert keys(blend="bm25=0") == keys()
    assert keys(blend="bm25=1") == keys(distance="bm25")
    by_ranks = filled.search("elk fox gnu quux", k=3, blend="tfidf")
    assert all(1 / 161 < hit.score <= 2 / 61 for hit in by_ranks.hits)
    assert [hit.key for hit in filled.similar("d1", k=3, blend="bm25=1").hits] == [
        hit.key for hit in filled.similar("d1", k=3, distance="bm25").hits
    ]


@pytest.mark.usefixtures("always_compact")
def test_a_joined_first_stage_keeps_who_has_the_rare_word(make: Make) -> None:
    twin = Twin()
    twin.add(_documents(0, 60))
    twin.add([document("rare", "lark lark lark zebra"), document("same", "ant bee ant bee")])
    collection = make(first_stage="centroid+bm25")
    collection.index(twin.documents.values())
    plain = make()
    plain.index(twin.documents.values())
    query = "ant bee zebra"
    joined, vectors = (c.search(query, k=2, depth=2, explained=False) for c in (collection, plain))
    assert "rare" in {hit.key for hit in joined.hits} - {hit.key for hit in vectors.hits}
    assert not joined.certified
    check_exact(collection.search(query, k=3, depth=4, exact=True), twin.distances(query), 3)
    check_exact(collection.search(query, k=3), twin.distances(query), 3)
    assert collection.similar("d1", k=2, depth=3).hits
    assert collection.why_not(query, "d1", k=2, depth=2).stage != "hit"


def test_another_scorer_is_joined_without_a_new_snapshot(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0)
    collection = make()
    collection.index(_documents(0, 20))
    before = snapshots(collection)
    collection.change_settings(first_stage="centroid+pl2")
    assert collection.settings.joined_scorer() == ScorerChoice("pl2")
    assert collection.search("ant", depth=12).hits
    assert snapshots(collection) == before


@pytest.mark.parametrize("first_stage", ["centroid+bm26", "centroid+", "bm25", "bm25+centroid"])
def test_a_first_stage_that_there_is_not(make: Make, first_stage: str) -> None:
    with pytest.raises(UsageError, match="first stage"):
        make(first_stage=first_stage)


def test_normalisers_are_kept_and_made_again_where_they_are_damaged(filled: Collection) -> None:
    filled.search("ant", distance="translation")
    kept = filled.path / "normalisers"
    before = kept.read_bytes()
    words = WordVectors(np.eye(3, dtype=np.float32), np.ones(3, bool))
    expected = cached_normalisers(None, words)
    for damage in (before, b"", before[:-30], b"nothing"):
        kept.write_bytes(damage)
        assert cached_normalisers(filled.path, words).tolist() == expected.tolist()
        assert cached_normalisers(filled.path, words).tolist() == expected.tolist()
    assert cached_normalisers(filled.path / "nowhere", words).tolist() == expected.tolist()
    flipped = bytearray(kept.read_bytes())
    for place in range(0, len(flipped), 7):
        flipped[place] ^= 16
        kept.write_bytes(flipped)
        assert cached_normalisers(filled.path, words).tolist() == expected.tolist()
        flipped[place] ^= 16


def test_settings_tell_the_encoder_from_the_scorer() -> None:
    assert Settings(first_stage="fisher+bm25").encoder == "fisher"
    assert Settings(first_stage="fisher").joined_scorer() is None
