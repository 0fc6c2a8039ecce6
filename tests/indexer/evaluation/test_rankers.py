"""Every ranker says what its definition, or the search of the collection, says."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from moverank import Collection, Document
from moverank.indexer.evaluation import distance_matrix
from moverank.indexer.evaluation.corpus import Corpus
from moverank.indexer.evaluation.counted_texts import Texts
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.method import Method, Trial, distances_of, parse_method
from moverank.indexer.progress import silent
from moverank.rerank.distance.mutual_proximity import Spread, empirical, fitted
from moverank.rerank.ranking import Distance
from moverank.rerank.scorers import SCORERS
from tests.indexer.world import TABLE, Twin, document
from tests.rerank.scorers.counted import Counted

QUERY = "cat dog dog lark quux zebra"


@pytest.fixture
def corpus(indexed: Collection) -> Corpus:
    return indexed.corpus([("q1", QUERY), ("q2", "ant"), ("nothing", "zebra")])


def ranked(
    method: str | Method, pool: Texts, questions: Texts, kept: DistanceCache | None = None
) -> NDArray[np.float64]:
    chosen = parse_method(method) if isinstance(method, str) else method
    own = np.array([pool.place.get(key, -1) for key in questions.keys])
    return distances_of(chosen, Trial(pool, questions, own, kept or DistanceCache(), silent))


@pytest.mark.parametrize("weights", ["tf", "tfidf"])
@pytest.mark.parametrize("distance", ["wmd", "pwmd", "rwmd", "wcd"])
def test_distances_are_those_of_the_definition(distance: str, weights: str, corpus: Corpus, twin: Twin) -> None:
    twin.weights = weights
    found = ranked(f"{distance}:weights={weights}", corpus.documents, corpus.questions)
    expected = twin.distances(QUERY, distance, 0.75 if distance == "pwmd" else 0.0)
    for key, place in corpus.documents.place.items():
        assert found[0, place] == (pytest.approx(expected[key]) if key in expected else np.inf)
    assert np.isinf(found[2]).all()


def test_documents_as_questions_leave_themselves_out(pool: Texts, indexed: Collection) -> None:
    found = ranked("wmd", pool, pool.take([3, 0]))
    assert np.isinf(found[0, 3])
    assert np.isinf(found[1, 0])
    hits = {hit.key: hit.distance for hit in indexed.similar("d3", k=20, distance="wmd").hits}
    assert {pool.keys[place]: found[0, place] for place in np.flatnonzero(np.isfinite(found[0]))} == pytest.approx(hits)


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("gamma", [0.0, 0.75])
def test_scores_are_those_of_the_scorer_over_all_words(
    name: str, gamma: float, corpus: Corpus, documents: list[Document]
) -> None:
    def counted(document: Document) -> dict[str, float]:
        found: dict[str, float] = {}
        for part in document.parts:
            for word in part.text.split():
                found[word] = found.get(word, 0.0) + (1 / (1 + part.rank)) ** gamma
        return found

    vectors = {word: vector.astype(np.float32) for word, vector in TABLE.items()}
    whole = Counted([counted(document) for document in documents], vectors)
    expected = whole.segment().score(name, {}, dict(Counter(QUERY.split())))
    found = ranked(f"{name}:gamma={gamma}", corpus.documents, corpus.questions)[0]
    assert corpus.documents.keys == tuple(document.key for document in documents)
    assert found == pytest.approx(expected if SCORERS[name].ascending else -expected, rel=1e-6)


def test_the_centroids_encoder_is_wcd(corpus: Corpus) -> None:
    for weights in ("tf", "tfidf"):
        encoded, exact = (
            ranked(f"{name}:weights={weights}", corpus.documents, corpus.questions) for name in ("centroid", "wcd")
        )
        assert encoded == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("name", ["centroid", "wcd", "lsi:dim=3"])
def test_vectors_compared_together_say_what_each_says_alone(
    name: str, indexed: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["ant bee", "zebra", "cat dog", "lark", QUERY, "zebra quux", "bee"]
    corpus = indexed.corpus([(str(i), text) for i, text in enumerate(texts)])
    monkeypatch.setattr("moverank.indexer.evaluation.rankers._BLOCK", 2)
    together = ranked(name, corpus.documents, corpus.questions)
    alone = [ranked(name, corpus.documents, corpus.questions.take([row]))[0] for row in range(len(texts))]
    assert np.isinf(together[[1, 5]]).all()
    assert np.isfinite(together[[0, 2, 3, 4, 6]]).any(axis=1).all()
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["wmd", "rwmd", "wcd", "bow", "bm25", "centroid", "random"])
def test_the_nearest_are_the_first_of_all(name: str, corpus: Corpus) -> None:
    ranker = parse_method(name).ranker(corpus.documents, DistanceCache())
    every = np.array(list(ranker.distances(corpus.questions, silent)))
    nearest = ranker.nearest(corpus.questions, 5, silent)
    for distances, places in zip(every, nearest, strict=True):
        there = places[places >= 0]
        assert len(there) == min(5, np.isfinite(distances).sum())
        assert distances[there] == pytest.approx(np.sort(distances)[: len(there)])


def test_distances_are_computed_once(pool: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, solved = DistanceCache(tmp_path / "kept"), list[int]()
    answer = distance_matrix._answer  # noqa: SLF001 - counts what is computed

    def counting(
        given: distance_matrix.Given, distance: Distance, task: distance_matrix.Task
    ) -> distance_matrix.Answer:
        solved.append(len(task[1]))
        return answer(given, distance, task)

    monkeypatch.setattr(distance_matrix, "_answer", counting)
    first = ranked("wmd", pool, pool, kept)
    n = len(pool) - 1
    assert sum(solved) == n * (n + 1) // 2
    assert np.array_equal(first, first.T)
    again = ranked("wmd", pool, pool, DistanceCache(tmp_path / "kept"))
    assert sum(solved) == n * (n + 1) // 2
    assert np.array_equal(first, again)
    near = parse_method("wmd").ranker(pool, kept)
    assert np.array_equal(near.nearest(pool, 3, silent), near.nearest(pool, 3, silent))


def test_a_file_that_was_cut_short_is_made_anew(pool: Texts, tmp_path: Path) -> None:
    expected = ranked("rwmd", pool, pool, DistanceCache(tmp_path))
    (file,) = tmp_path.glob("rwmd*.npy")
    file.write_bytes(file.read_bytes()[:50])
    assert np.array_equal(ranked("rwmd", pool, pool, DistanceCache(tmp_path)), expected)


def test_processes_say_the_same(pool: Texts, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ranked("wmd", pool, pool)
    monkeypatch.setattr(distance_matrix, "MANY", 0)
    monkeypatch.setattr(distance_matrix, "core_count", lambda: 2)
    assert np.array_equal(ranked("wmd", pool, pool), expected)


_KILLED = """
import multiprocessing, os, signal
import numpy as np
from moverank.indexer.evaluation import distance_matrix
from moverank.rerank.bags.bag import Bag, Bags

if __name__ == "__main__":
    distance_matrix.cores = lambda: 2
    bags = Bags.of([Bag(np.array([0], np.int32), np.ones(1))])
    with distance_matrix._solver((bags, bags, np.ones((1, 2), np.float32)), distance_matrix.MANY) as answers:
        list(answers("wmd", [(0, np.array([0]))] * 4))
        print(*[child.pid for child in multiprocessing.active_children()], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def _ended(pid: str) -> bool:
    """Whether a process is gone, or waits only for somebody to ask how it ended."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_killed_process_leaves_none_behind(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(_KILLED)
    begun = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, check=False)
    children = begun.stdout.decode().split()
    assert children
    deadline = time.monotonic() + 60
    while not all(map(_ended, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert all(map(_ended, children))


def test_proximity_is_that_of_the_distances(pool: Texts) -> None:
    questions = pool.take([1, 4])
    plain, among = ranked("bow", pool, questions), ranked("bow", pool, pool)
    assert np.array_equal(ranked("bow:proximity=empirical", pool, questions), empirical(plain, among))
    spread = Spread.of(among)
    for kind in ("gaussian", "gamma"):
        found = ranked(f"bow:proximity={kind}", pool, questions)
        assert found == pytest.approx(fitted(plain, Spread.of(plain), spread, kind))


def test_a_blend_adds_up_standardised_distances(corpus: Corpus) -> None:
    one, other = (ranked(name, corpus.documents, corpus.questions)[:1] for name in ("bm25", "wcd"))
    found = ranked("0.25*bm25 + 2*wcd", corpus.documents, corpus.questions)[0]
    there = np.isfinite(other[0])
    parts = [
        (each - each[np.isfinite(each)].mean()) / each[np.isfinite(each)].std(ddof=1) for each in (one[0], other[0])
    ]
    assert found[there] == pytest.approx((0.25 * parts[0] + 2 * parts[1])[there])
    assert found[~there] == pytest.approx(0.25 * parts[0][~there] + 2 * parts[1][there].max())


def test_a_corpus_is_the_same_after_changes(make: Callable[..., Collection], documents: list[Document]) -> None:
    at_once, bit_by_bit = make(), make()
    at_once.index(documents[3:])
    bit_by_bit.index(documents[:6])
    bit_by_bit.index(documents[6:])
    bit_by_bit.remove(["d0", "d1", "d2"])
    tables = [
        ranked("pwmd:weights=tfidf", texts, texts) for texts in (c.corpus().documents for c in (at_once, bit_by_bit))
    ]
    assert tables[0] == pytest.approx(tables[1])


def test_only_what_is_wanted_is_computed(pool: Texts, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = list[int]()
    answer = distance_matrix._answer  # noqa: SLF001 - counts what is computed

    def counting(
        given: distance_matrix.Given, distance: Distance, task: distance_matrix.Task
    ) -> distance_matrix.Answer:
        solved.append(len(task[1]))
        return answer(given, distance, task)

    monkeypatch.setattr(distance_matrix, "_answer", counting)
    wanted = np.zeros((2, len(pool)), bool)
    wanted[0, [2, 5]] = wanted[1, 7] = True
    trial = Trial(pool, pool.take([0, 1]), np.array([0, 1]), DistanceCache(), silent, wanted)
    found = distances_of(parse_method("wmd"), trial)
    assert sum(solved) == 3
    assert np.array_equal(np.isfinite(found), wanted)
    every = ranked("wmd", pool, pool.take([0, 1]))
    assert found[wanted] == pytest.approx(every[wanted])
    assert np.array_equal(np.isfinite(distances_of(parse_method("bow:proximity=gaussian"), trial)), wanted)


@pytest.mark.parametrize("method", ["wmd", "pwmd:gamma=0.75", "rwmd", "pwmd:proximity=gamma"])
def test_documents_that_come_later_cost_their_own_distances_only(
    method: str, indexed: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved = list[int]()

    def counted(given: distance_matrix.Given, distance: Distance, task: distance_matrix.Task) -> distance_matrix.Answer:
        solved.append(len(task[1]))
        return answer(given, distance, task)

    answer = distance_matrix._answer  # noqa: SLF001 - counts what is really computed
    monkeypatch.setattr(distance_matrix, "_answer", counted)
    kept = tmp_path / "kept"
    before = indexed.corpus().documents
    ranked(method, before, before, DistanceCache(kept))
    first = sum(solved)
    # "aardvark" comes before all words that there are: every word gets another number.
    indexed.index([document("late", "aardvark bee", "cat"), document("later", "dog")])
    indexed.remove(["d5"])
    now = indexed.corpus().documents
    solved.clear()
    found = ranked(method, now, now, DistanceCache(kept))
    with_bag = len(now.bags(0, None)[0])
    assert 0 < sum(solved) <= 2 * with_bag * (2 if "proximity" in method else 1) < first
    np.testing.assert_allclose(found, ranked(method, now, now), rtol=1e-12)


def test_some_questions_known_before_leave_no_gaps_among_all(pool: Texts, tmp_path: Path) -> None:
    ranked("wmd", pool, pool.take([1, 4, 7]), DistanceCache(tmp_path))
    np.testing.assert_allclose(
        ranked("wmd", pool, pool, DistanceCache(tmp_path)), ranked("wmd", pool, pool), rtol=1e-12
    )


def test_damaged_tables_are_not_copied_from(pool: Texts, tmp_path: Path) -> None:
    expected = ranked("wmd", pool.take([0, 1, 2]), pool)
    ranked("wmd", pool, pool, DistanceCache(tmp_path))
    (about,) = tmp_path.glob("*.bags.npz")
    for content in (b"", b"nonsense", about.read_bytes()[:100]):
        about.write_bytes(content)
        found = ranked("wmd", pool.take([0, 1, 2]), pool, DistanceCache(tmp_path))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        for other in tmp_path.glob("*"):
            if other.stem.split(".")[0] != about.name.split(".bags")[0].split(".")[0]:
                other.unlink()
