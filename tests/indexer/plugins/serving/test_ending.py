"""The server ends within the time that it states, whatever runs; a client that has left ends its work."""

import json
import os
import signal
import socket
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection, Document, Part
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.writer_process import WriterProcess, write_records
from moverank.rerank.errors import OutOfTime
from moverank.rerank.runtime.deadline import stopping
from tests.indexer.plugins.serving.conftest import make_collection
from tests.indexer.plugins.serving.pages_world import pages_server
from tests.indexer.plugins.serving.running import Reply, RunningServer, descendants
from tests.waiting import wait_until

PROGRAM = """
import signal, sys, time
from pathlib import Path
from moverank.indexer.plugins.serving import ending
from moverank.indexer.reranking.reranker import Reranker
from moverank.indexer.plugins.serving.limits import Limits
from moverank.rerank.runtime.deadline import check_time
ending.GRACE, ending.LAST = float(sys.argv[2]), 2
from moverank.indexer.values.search_options import ServeOptions
from moverank.indexer.plugins.serving.run_server import run_server

def end(*_):
    raise KeyboardInterrupt

def rank(self, queries, *arguments, **fields):
    while True:
        time.sleep(600 if "train" in str(queries) else 0.01)
        check_time()

Reranker.rank_many = rank
signal.signal(signal.SIGTERM, end)
limits = Limits(threads=2, seconds=1000.0)
run_server({"pets": Path(sys.argv[1])}, ServeOptions(port=0), limits, lambda url: print("serving at", url))
"""
BUSY, HUNG = "dog", "train"
"""Queries whose work never ends by itself: that of one checks the time, that of the other cannot."""


def _running(pets: Path, folder: Path, grace: float) -> RunningServer:
    return RunningServer(pets, str(grace), log=folder / "log", program=PROGRAM)


def _number(running: RunningServer, name: str) -> float:
    text = running.ask("/metrics").body.decode()
    return float(next(line.split()[-1] for line in text.splitlines() if line.startswith(f"moverank_{name} ")))


def _asked(running: RunningServer, query: str) -> tuple[threading.Thread, list[Reply]]:
    """Send a request that does not end, and return its thread once it runs, and its answer to come."""
    replies: list[Reply] = []

    def ask() -> None:
        try:
            replies.append(running.ask("/rerank", {"query": query, "texts": ["cat"]}))
        except OSError:  # the server has ended
            return

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: _number(running, "requests_running") >= 1)
    return thread, replies


def test_a_running_request_is_answered_when_the_server_ends(pets: Path, tmp_path: Path) -> None:
    running = _running(pets, tmp_path, 1)
    thread, replies = _asked(running, BUSY)
    assert running.stop() == 0
    thread.join()
    assert [reply.status for reply in replies] == [504]
    assert "the time was used up" in replies[0].json["detail"]
    log = running.log.read_text()
    assert "ending: requests that run have 1 s, and the server ends within 3 s" in log
    assert "given up" not in log
    assert "Traceback" not in log


def test_work_that_cannot_be_stopped_does_not_keep_the_server(pets: Path, tmp_path: Path) -> None:
    running = _running(pets, tmp_path, 0)
    thread, replies = _asked(running, HUNG)
    assert running.stop() == 1
    thread.join()
    assert "given up" in running.log.read_text()
    assert not replies


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_server_at_once(pets: Path, tmp_path: Path, number: signal.Signals) -> None:
    running = _running(pets, tmp_path, 1000)
    thread, _ = _asked(running, HUNG)
    running.process.send_signal(number)
    wait_until(lambda: "a second signal ends it" in running.log.read_text())
    assert running.stop(number) == -number
    thread.join()


def test_a_second_signal_ends_all_processes_at_once(pets: Path, tmp_path: Path) -> None:
    running = RunningServer("-i", pets, "--processes", "2", log=tmp_path / "log")
    children = descendants(running.process.pid)
    os.kill(children[0], signal.SIGSTOP)  # it ends by no signal
    running.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "a second signal ends it" in running.log.read_text())
    assert running.stop() == -signal.SIGTERM
    os.kill(children[0], signal.SIGCONT)
    wait_until(lambda: not any(Path(f"/proc/{child}/cmdline").exists() for child in children))


def test_work_for_clients_that_have_left_ends(pets: Path, tmp_path: Path) -> None:
    running = _running(pets, tmp_path, 1)
    body = json.dumps({"query": BUSY, "texts": ["cat"]}).encode()
    head = f"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    head += "Content-Type: application/json\r\n\r\n"
    host, port = running.url.removeprefix("http://").split(":")
    connections = [socket.create_connection((host, int(port))) for _ in range(5)]
    for connection in connections:
        connection.sendall(head.encode() + body)
    wait_until(lambda: _number(running, "requests_running") >= 2)
    for connection in connections:
        connection.close()
    wait_until(lambda: _number(running, "requests_running") == _number(running, "requests_waiting") == 0)
    assert running.stop() == 0


def test_the_change_that_runs_is_made_before_the_writer_ends(tmp_path: Path) -> None:
    pipes = [tmp_path / name for name in ("one.jsonl", "two.jsonl", "three.jsonl")]
    for pipe in pipes:
        os.mkfifo(pipe)
    writer = WriterProcess(make_collection(tmp_path), 300.0, 10**6)
    running, *waiting = [writer.submit(partial(write_records, str(pipe), 10)) for pipe in pipes]
    with pipes[0].open("w") as body:  # the change has begun
        writer.stop(running=False)
        closing = threading.Thread(target=writer.close)
        closing.start()
        for one in waiting:
            with pytest.raises(HttpProblem, match="the change was not made"):
                one.result(30)
        assert closing.is_alive()
        body.write('{"id": "n1", "text": "red wine"}\n')
    assert running.result(30).added == 1
    closing.join(30)
    assert not closing.is_alive()


def test_a_change_that_runs_for_long_is_not_made_when_the_server_ends(pets: Path, tmp_path: Path) -> None:
    """It is answered, the exit code is 0, and no document of it is stored."""
    running = _running(pets, tmp_path, 1)
    records = [{"id": f"n{i}", "text": "red wine " * 200} for i in range(200_000)]
    body = "\n".join(map(json.dumps, records)).encode()
    replies = list[Reply]()
    upload = threading.Thread(target=lambda: replies.append(running.ask("/collections/pets/documents", body)))
    upload.start()
    wait_until(lambda: 'moverank_writes_waiting{collection="pets"} 1' in running.ask("/metrics").body.decode())
    assert running.stop() == 0
    upload.join()
    assert (replies[0].status, replies[0].json["title"]) == (503, "service unavailable")
    assert "the change was not made" in replies[0].json["detail"]
    assert "Traceback" not in running.log.read_text()
    with Collection.open(pets) as collection:
        assert "n0" not in collection


@pytest.mark.parametrize(
    ("records", "limits", "sentence"),
    [
        (5, {"records": 4}, "at most 4 records are allowed in an upload: nothing was changed; send it in parts"),
        (20_000, {"work_seconds": 0.2}, "the time for a change, 0.2 seconds, was over: nothing was changed"),
    ],
)
def test_a_change_has_a_limit_of_work(tmp_path: Path, records: int, limits: dict[str, Any], sentence: str) -> None:
    place = make_collection(tmp_path)
    body = "\n".join(json.dumps({"id": f"n{i}", "text": "red wine " * 99}) for i in range(records)).encode()
    with pages_server({"pets": place}, Limits(**limits)) as server:
        reply = server.upload("/collections/pets/documents", body)
        assert (reply.status, sentence in reply.json["detail"]) == (413, True)
        assert server.upload("/collections/pets/documents", b'{"id": "one", "text": "red"}').status == 200
    with Collection.open(place) as collection:
        assert "n0" not in collection
        assert "one" in collection


@pytest.mark.plugin("watching")
def test_watches_that_take_too_long_refuse_the_documents_and_name_the_longest(tmp_path: Path) -> None:
    place = make_collection(tmp_path)
    with Collection.open(place) as collection:
        for i in range(50):
            collection.watch(f"w{i}", "dog " + "cat wine bread " * (i == 7), 9.0)
        assert collection._run_followers(collection.settings)  # noqa: SLF001 - it counts the words of the watches
        with (
            stopping(lambda: True),
            pytest.raises(OutOfTime, match=r"the 50 watches take too long .* nothing was changed; .* longest is 'w7'"),
        ):
            collection.index([Document("new", parts=(Part("dog cat"),))], upkeep=False)
        assert "new" not in collection


def test_a_server_that_has_changed_documents_leaves_no_semaphores(writable: RunningServer) -> None:
    assert writable.ask("/collections/pets/documents/n1", {"text": "red wine"}, method="PUT").status == 200
    (tracker,) = [one for one in Path("/proc").glob("[0-9]*") if _tracks(one, writable.process.pid)]
    assert writable.stop() == 0
    wait_until(lambda: not _tracks(tracker))  # it reports what was left
    assert "leaked" not in writable.log.read_text()


def _tracks(process: Path, parent: int | None = None) -> bool:
    """Return whether a process is a resource tracker, started by `parent` if that is given."""
    with suppress(OSError):
        started_by = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
        return b"resource_tracker" in (process / "cmdline").read_bytes() and parent in (None, started_by)
    return False
