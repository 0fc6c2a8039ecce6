"""Rankings that must be fitted to all documents first are chosen by whoever starts the server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.indexer.commands.program import Call, program
from tests.indexer.plugins.serving.running import RunningServer

ALLOWED = "wmd+0.5*lsi:dim=2,gamma=0.5"

FITTED = [
    "fisher:k=1024,dim=200",
    "wmd+0.1*lda",
    "lsi:dim=3,gamma=0.5",
    "lsi:dim=2",
    "centroid",
    "translation",
    "bow+interpolation",
    "pwmd:proximity=gamma",
    "bm25:ngrams=4",
]
FREE = [
    "wmd",
    "pwmd:gamma=0.3,mu=9",
    "rwmd",
    "wcd",
    "chamfer+cover",
    "bm25:stem=german",
    "pl2",
    "tfidf",
    "bow+cosine",
    "auto",
]


@pytest.fixture(scope="module")
def allowing(pets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("allowing") / "log"
    running = RunningServer("-i", pets, "--read-only", "--allow-rank", ALLOWED, log=log)
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


def _requests(rank: str) -> list[tuple[str, Any]]:
    """Return requests of every kind by a ranking: path and body."""
    here, q = "/collections/pets", quote(rank)
    return [
        (f"{here}/search", {"query": "dog", "rank": rank}),
        (f"{here}/search?q=dog&rank={q}", None),
        (f"{here}/similar", {"key": "t1", "rank": rank}),
        (f"{here}/explain", {"query": "dog", "key": "t1", "rank": rank}),
        (f"{here}/why-not", {"query": "dog", "key": "t1", "rank": rank}),
        (f"{here}/rerank", {"query": "dog", "keys": ["t1", "t2"], "rank": rank}),
        ("/v1/rerank", {"query": "dog", "documents": ["cat wine", "bird"], "rank": rank}),
        (f"/?q=dog&rank={q}", None),
        (f"{here}/view/t1?q=dog&rank={q}", None),
        (f"{here}/view?q=dog&key=t1&why=1&rank={q}", None),
    ]


@pytest.mark.parametrize("rank", FITTED)
def test_fitted_rankings_are_refused_everywhere(allowing: RunningServer, rank: str) -> None:
    for path, body in _requests(rank):
        reply = allowing.ask(path, body)
        assert reply.status == 422, path
        assert "would have to be fitted to all documents first" in reply.body.decode(), path
        assert "--allow-rank" in reply.body.decode(), path


def test_another_gamma_is_another_fit(allowing: RunningServer) -> None:
    body = {"query": "dog", "rank": "lsi:dim=2", "gamma": 0.25}
    detail = allowing.ask("/collections/pets/search", body).json["detail"]
    assert detail.startswith("the ranking 'lsi:dim=2' with gamma 0.25 would have to be fitted")


@pytest.mark.parametrize("rank", [ALLOWED, "lsi:dim=2,gamma=0.5", "bm25+2*lsi:gamma=0.5,dim=2", *FREE])
def test_allowed_rankings_and_those_without_a_fit_are_answered(allowing: RunningServer, rank: str) -> None:
    for path, body in _requests(rank)[:3]:
        reply = allowing.ask(path, body)
        assert reply.status == 200, reply.body


def test_an_unknown_ranking_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pets: Path
) -> None:
    call: Call = program(monkeypatch, capsys)
    answer = call("serve", "-i", str(pets), "--port", "0", "--allow-rank", "fischer")
    assert answer.code == 2
    assert "--allow-rank fischer: there is no ranking 'fischer'" in answer.err
