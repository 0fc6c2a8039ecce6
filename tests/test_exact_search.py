"""Exact search returns the same as brute force with POT, on real texts."""

import math
from collections.abc import Iterator

import pytest

from tests.oracle import FILES, GAMMAS, RELATIVE, SHARED, VECTORS, Oracle, Problem, Sample

pytestmark = pytest.mark.skipif(
    not (VECTORS.is_file() and all((SHARED / "data" / name / file).is_file() for name, file in FILES.items())),
    reason="the real data (../shared) are missing",
)

# Brute force takes longer for longer documents. More than 256 documents make a snapshot and a tail.
SIZES = {"r8": 400, "bbcsport": 100, "twinfilms": 100}
STORED, FREE, K = 4, 4, 10


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


def test_every_document_is_ranked_when_k_is_the_collection_size(problem: Problem) -> None:
    assert all(verdict.holds for verdict in problem.search(problem.texts[-1], len(problem.documents)))


@pytest.mark.parametrize("name", FILES)
def test_distances_equal_those_of_gensim(name: str, oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> None:
    sample, _ = Sample.of(name, seed=21).split(12)
    texts = {key: "\n".join(text for text, _ in parts) for key, parts in sample.parts().items()}
    finite = 0
    with sample.indexed(tmp_path_factory.mktemp(name) / "gensim") as collection:
        for text in [text for text in texts.values() if oracle.words(text)][:3]:
            for hit in collection.search(text, k=len(texts), exact=True, gamma=0.0).hits:
                distance = oracle.keyed.wmdistance(oracle.words(text), oracle.words(texts[hit.key]), norm=False)
                if math.isfinite(distance):
                    finite += 1
                    assert hit.distance == pytest.approx(distance, rel=RELATIVE, abs=1e-9)
    assert finite > 20
