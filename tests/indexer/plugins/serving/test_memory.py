"""No request takes the server's memory."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.indexer.plugins.serving.running import Reply, RunningServer

PROGRAM = """
import signal, sys
from pathlib import Path
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.values.search_options import ServeOptions
from moverank.indexer.plugins.serving.run_server import run_server
def end(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, end)
run_server({"docs": Path(sys.argv[1])}, ServeOptions(port=0), Limits(seconds=600), lambda url: print("serving at", url))
"""
"""A server that answers however slow the machine is."""

MOST = 1024
"""MiB above the idle server."""

WORDS = [f"w{i:05}" for i in range(32000)]
ONE, OTHER = " ".join(WORDS[:16000]), " ".join(WORDS[16000:])
FEW = " ".join(WORDS[:40])


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server of a collection with 60 short documents, and with one of 16,000 distinct words, `long`."""
    texts = {f"d{i}": " ".join(WORDS[i * 30 : i * 30 + 50]) for i in range(60)} | {"long": OTHER}
    running = served(tmp_path_factory.mktemp("large"), texts)
    running.ask("/rerank", {"query": FEW, "texts": [FEW, " ".join(WORDS[:1000])]})
    assert running.ask("/collections/docs/search", {"query": FEW}).status == 200
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


def served(folder: Path, texts: Mapping[str, str]) -> RunningServer:
    """Return a server of a collection with these texts by key, which has been searched."""
    rows = (f"{word} {i % 97} {i % 89} {i % 83} {i / 32000}" for i, word in enumerate(WORDS))
    (folder / "words.txt").write_text(f"{len(WORDS)} 4\n" + "\n".join(rows) + "\n")
    (folder / "docs.jsonl").write_text("".join(f'{{"id": "{key}", "text": "{text}"}}\n' for key, text in texts.items()))
    command = "index docs.jsonl -i docs.index --embedding words.txt".split()  # noqa: SIM905
    subprocess.run([sys.executable, "-m", "moverank", *command], cwd=folder, check=True, capture_output=True)
    running = RunningServer(folder / "docs.index", log=folder / "log", program=PROGRAM)
    assert running.ask("/collections/docs/search", {"query": FEW, "rank": "bm25", "k": 1}).status == 200
    return running


def grown(server: RunningServer, work: Callable[[], Reply]) -> tuple[Reply, float]:
    """Return the answer to a request, and the most memory of the server during it above that before, in MiB."""
    process = Path(f"/proc/{server.process.pid}")
    (process / "clear_refs").write_text("5")  # the peak begins again
    before, reply = _peak(process), work()
    return reply, _peak(process) - before


def _peak(process: Path) -> float:
    found = re.search(r"VmHWM:\s+(\d+)", (process / "status").read_text())
    assert found
    return int(found[1]) / 1024


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/rerank", {"query": ONE, "texts": [OTHER]}),
        ("/v1/rerank", {"query": ONE, "documents": [FEW, OTHER], "rank": "wmd"}),
        ("/v2/rerank", {"query": OTHER, "documents": [ONE, FEW]}),
        ("/collections/docs/explain", {"query": ONE, "key": "long"}),
        ("/collections/docs/why-not", {"query": ONE, "key": "long"}),
        ("/collections/docs/rerank", {"query": ONE, "keys": ["long"]}),
        ("/collections/docs/search", {"query": ONE, "k": 62, "rank": "wmd", "exact": True}),
        ("/collections/docs/search", {"query": ONE, "where": {"key": "long"}, "rank": "wmd", "explain": True}),
        ("/collections/docs/search", {"queries": [ONE, ONE], "k": 62, "rank": "wmd", "exact": True}),
    ],
)
def test_16000_words_against_16000_others_are_refused(large: RunningServer, path: str, body: dict[str, object]) -> None:
    reply, memory = grown(large, lambda: large.ask(path, body))
    assert reply.status == 413
    assert reply.json["error"] == "TooLarge"
    assert re.search(
        r"16,000 and 16,000 distinct words .* 256,000,000 cells, and the limit is 25", reply.json["detail"]
    )
    assert memory < MOST
    assert large.ask("/collections/docs/search", {"query": FEW}).json["certified"]


def test_stored_documents_of_16000_words_are_refused_too(tmp_path: Path) -> None:
    running = served(tmp_path, {"long": OTHER, "other": ONE, "few": FEW})
    docs = "/collections/docs"
    form = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
    for path, body, headers in (
        ("search", {"query": ONE, "k": 3, "rank": "wmd", "exact": True}, {}),
        ("similar", {"key": "long", "k": 2, "rank": "wmd", "exact": True}, {}),
        ("explain", {"similar": "other", "key": "long"}, {}),
        ("why-not", {"similar": "other", "key": "long", "rank": "wmd"}, {}),
        ("view/long?similar=other&rank=wmd", None, form),
        ("view?key=long&similar=other&rank=wmd", None, form),
        ("view/long", urlencode({"q": ONE, "rank": "wmd"}).encode(), form),
        ("view/long", urlencode({"body": ONE, "rank": "wmd"}).encode(), form),
    ):
        reply, memory = grown(running, partial(running.ask, f"{docs}/{path}", body, headers=headers))
        assert reply.status == 413, (path, reply.body[:500])
        assert b"16,000 and 16,000 distinct words" in reply.body
        assert memory < MOST
    assert running.ask(f"{docs}/search", {"query": FEW, "k": 1}).json["hits"][0]["key"] == "few"
    assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


def test_records_that_lack_many_fields_get_short_problems(large: RunningServer) -> None:
    """Each record named all fields: a body of a MiB had an answer of 236 MB."""
    texts: list[object] = [{"text": "a"}] * 299 + [FEW]
    body = {"query": FEW, "documents": texts, "rank_fields": [f"f{i:05}" for i in range(100_000)]}
    reply, memory = grown(large, lambda: large.ask("/v1/rerank", body))
    assert (reply.status, reply.json["detail"][:36]) == (422, "rank_fields: has more than 100 items")
    assert memory < 100
    body["rank_fields"] = [f"{i:05}" * 10_000 for i in range(100)]
    reply, memory = grown(large, lambda: large.ask("/v1/rerank", body))
    assert reply.status == 200
    assert len(reply.body) < 300_000
    sentence = f"document 0 has none of the rank_fields {20 * '0'}, "
    assert reply.json["results"][1]["problem"].startswith(sentence)
    assert memory < 100


def test_a_long_query_is_answered_where_no_distance_beyond_the_limit_is_needed(large: RunningServer) -> None:
    for path, body in (
        ("search", {"query": ONE, "k": 2, "rank": "rwmd"}),
        ("search", {"query": " ".join(WORDS[:5000]), "k": 2}),
        ("search", {"query": FEW, "k": 61}),
        ("similar", {"key": "long", "k": 2, "rank": "cover"}),
    ):
        reply, memory = grown(large, lambda path=path, body=body: large.ask(f"/collections/docs/{path}", body))  # type: ignore[misc]
        assert reply.status == 200, reply.json
        assert memory < MOST


def test_a_budget_is_that_of_all_queries_of_a_request(large: RunningServer) -> None:
    """A text of 1,500 words is compared with 61 documents in seconds, so half a second is over after a few of 20."""
    queries = [" ".join(WORDS[i * 100 : i * 100 + 1500]) for i in range(20)]
    body = {"queries": queries, "k": 61, "rank": "wmd", "exact": True, "budget": 0.5}
    reply = large.ask("/collections/docs/search", body)
    assert reply.status == 504 or "time was used up" in reply.json["answers"][-1]["problem"]


def test_endless_variations_of_a_cheap_ranking_take_no_more_memory(large: RunningServer) -> None:
    """Each has counts and a scorer of its own, here about a MiB."""

    def vary(first: int, last: int) -> None:
        for number in range(first, last):
            rank = f"pwmd:gamma=0.{number}7,mu={number}+bm25:k1={number},gamma=0.{number}7+cosine"
            assert large.ask("/collections/docs/search", {"query": FEW, "rank": rank, "k": 1}).status == 200

    vary(100, 200)
    process = Path(f"/proc/{large.process.pid}")
    (process / "clear_refs").write_text("5")
    before = _peak(process)
    vary(200, 600)
    assert _peak(process) - before < 100


def test_flows_and_texts_of_many_hits_are_refused(tmp_path: Path) -> None:
    """300 documents of 200 KB each, and 300 bags of 8,000 words."""
    text = " ".join(WORDS[100:8100]) + " filler" * 21_000
    running = served(tmp_path, {str(i): f"{i} {text}" for i in range(300)})
    plain = {"query": " ".join(WORDS[100:103]), "rank": "bm25", "k": 300}
    assert running.ask("/collections/docs/search", {**plain, "k": 1}).status == 200
    for path, body in (
        ("search", {**plain, "full": True}),
        ("search", {**plain, "rank": "pwmd", "explain": True}),
        ("similar", {"key": "7", "k": 299, "full": True, "rank": "bm25"}),
        ("rerank", {"query": "w00001", "keys": [str(i) for i in range(300)], "full": True}),
    ):
        reply, memory = grown(running, lambda path=path, body=body: running.ask(f"/collections/docs/{path}", body))  # type: ignore[misc]
        assert reply.status == 413, reply.json
        assert "would have more than 32,000,000 characters" in reply.json["detail"]
        assert memory < MOST
    several = {"queries": [WORDS[100]] * 50, "k": 5, "full": True, "rank": "bm25"}
    reply = running.ask("/collections/docs/search", several)
    assert reply.status == 413
    assert "more than 640,000 characters" in reply.json["detail"]
    assert running.ask("/collections/docs/search", {**several, "queries": [WORDS[100]] * 20}).status == 200
    assert len(running.ask("/collections/docs/search", plain).json["hits"]) == 300
    assert running.stop() == 0


@pytest.mark.parametrize("path", ["/collections/docs/view/documents", "/compare/documents", "/rerank/documents"])
def test_no_body_has_the_limit_of_uploads_but_theirs(large: RunningServer, path: str) -> None:
    body = repeat(b"q=" + b"a" * 2**20, 60)
    reply, memory = grown(large, lambda: large.send(path, body))
    assert reply.status in (404, 405, 413)
    assert memory < 100


def test_an_upload_goes_to_a_file(large: RunningServer) -> None:
    body = chain(repeat(b" " * (2**20 - 1) + b"\n", 200), [b'{"id": "no text"}'])
    reply, memory = grown(large, lambda: large.send("/collections/docs/documents", body))
    assert (reply.status, "no field for the text" in reply.json["detail"]) == (422, True)
    assert memory < 50


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 8_000_000,
        b'{"query": "w00001", "where": ' + b'{"a": ' * 1_000_000,
        b'{"query": "w00001", "texts": [' + b"[]," * 2_600_000 + b"[]]}",
        b'{"query": "w00001", "texts": [' + b'"",' * 2_600_000 + b'""]}',
        b'{"query": {"text": "w00001", "comments": [' + b'{"text":"a"},' * 600_000 + b'{}]}, "texts": ["a"]}',
        b'{"query": "w00001", "documents": [' + b'"a",' * 2_000_000 + b'"a"]}',
        b'{"query": "w00001", "texts": ["a"], "rank": "' + b"wmd+" * 2_000_000 + b'wmd"}',
        b'{"query": "w00001", "where": [' + b'"a=1",' * 1_300_000 + b'"a=1"]}',
    ],
)
def test_bodies_of_many_or_deep_values_are_refused(large: RunningServer, body: bytes) -> None:
    reply, memory = grown(large, lambda: large.ask("/rerank", body))
    assert reply.status in (400, 413, 422)
    assert memory < MOST
    assert len(reply.body) < 10_000
