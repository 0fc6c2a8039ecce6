"""Exact search returns the same as brute force with POT, on real texts."""

import math
from collections.abc import Iterator

import pytest

from tests.oracle import FILES, GAMMAS, RELATIVE, SHARED, VECTORS, Oracle, Problem, Sample

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (VECTORS.is_file() and all((SHARED / "data" / name / file).is_file() for name, file in FILES.items())),
        reason="the real data (../shared) are missing",
    ),
]

# Brute force takes longer for longer documents. More than 256 documents make a snapshot and a tail.
SIZES = {"r8": 300, "bbcsport": 60, "twinfilms": 60}
STORED, FREE, K = 3, 3, 10


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle()


@pytest.fixture(scope="module", params=list(SIZES))
def problem(
    request: pytest.FixtureRequest, oracle: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Problem]:
    name = request.param
    directory = tmp_path_factory.mktemp(name) / "problem"
    with Problem.opened(oracle, Sample.of(name, seed=20), SIZES[name], directory) as opened:
        yield opened


@pytest.mark.slow
def test_similar_is_brute_force(problem: Problem) -> None:
    for key in list(problem.documents)[:STORED]:
        verdicts = list(problem.similar(key, K))
        assert len(verdicts) == len(GAMMAS)
        assert all(verdict.holds for verdict in verdicts), (key, verdicts)


def test_search_is_brute_force(problem: Problem) -> None:
    for text in problem.texts[:FREE]:
        verdicts = list(problem.search(text, K))
        assert len(verdicts) == len(GAMMAS)
        assert all(verdict.holds for verdict in verdicts), (text, verdicts)


@pytest.mark.slow
def test_every_document_is_ranked_when_k_is_the_collection_size(problem: Problem) -> None:
    assert all(verdict.holds for verdict in problem.search(problem.texts[-1], len(problem.documents)))


def test_distances_equal_those_of_gensim(problem: Problem, oracle: Oracle) -> None:
    finite = 0
    for text in [*problem.texts[:2], next(iter(problem.stored.values()))]:
        for hit in problem.collection.search(text, k=12, exact=True, gamma=0.0).hits:
            words = oracle.words(text), oracle.words(problem.stored[hit.key])
            distance = oracle.keyed.wmdistance(*words, norm=False)
            if math.isfinite(distance):
                finite += 1
                assert hit.distance == pytest.approx(distance, rel=RELATIVE, abs=1e-9)
    assert finite > 20
