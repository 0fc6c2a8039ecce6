"""The log: every request with its id, defects with their traceback under it, and never a text or a token."""

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.indexer.plugins.serving.running import Reply, RunningServer
from tests.waiting import HUNG, wait_until

TOKEN = "the-token-of-this-test"  # noqa: S105 - of the test
SECRET = "zyxsecret"  # noqa: S105 - a text of a client, which nobody may read in the log

DEFECTS = """
import signal, sys
from pathlib import Path
from moverank.indexer.plugins.serving import search_api
from moverank.indexer.values.search_options import ServeOptions
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.run_server import run_server
def end(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, end)
def fails(text, *_):
    try:
        {}[text]
    except KeyError as error:
        raise ValueError(f"cannot read {text}") from error
search_api.as_query = fails
options = ServeOptions(port=0, log=sys.argv[2])
run_server({"pets": Path(sys.argv[1])}, options, Limits(), lambda url: print("serving at", url))
"""

PATIENT = """
import signal, sys, threading
from pathlib import Path
from moverank.indexer.plugins.serving import documents_api, guard, rerank_api, search_api
from moverank.indexer.values.search_options import ServeOptions
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.run_server import run_server
def end(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, end)
answered = threading.Event()
def waiting(work):
    def waits(*arguments):
        answered.clear()
        print("reads", flush=True)
        if not answered.wait(20):
            raise TimeoutError
        return work(*arguments)
    return waits
for module, name in ((rerank_api, "as_query"), (search_api, "as_query"), (documents_api, "document_of_record")):
    setattr(module, name, waiting(getattr(module, name)))
log_request = guard.log_request
def logged(method, path, *rest):
    log_request(method, path, *rest)
    if path == "/health":
        answered.set()
guard.log_request = logged
run_server({"pets": Path(sys.argv[1])}, ServeOptions(port=0), Limits(), lambda url: print("serving at", url))
"""

Start = Callable[..., RunningServer]


@pytest.fixture
def start(pets: Path, tmp_path: Path) -> Iterator[Start]:
    """Start a server with a token, whose log has a format."""
    started = list[RunningServer]()
    (tmp_path / "token").write_text(f"{TOKEN}\n")

    def server(form: str, *options: str) -> RunningServer:
        with_token = ("--token-file", tmp_path / "token")
        started.append(RunningServer("-i", pets, *with_token, "--log", form, *options, log=tmp_path / "log"))
        return started[-1]

    yield server
    for one in started:
        one.stop()
        assert "Traceback" not in one.log.read_text()


def _lines(server: RunningServer, *found: str) -> list[str]:
    """Return the lines of the log once these are in it: an answer is logged after it is sent."""
    wait_until(lambda: all(one in server.log.read_text() for one in found), server.log.read_text)
    return server.log.read_text().splitlines()


def _ask_much(server: RunningServer) -> dict[str, Reply]:
    """Return answers of several statuses by the path in the log."""
    with_token = {"Authorization": f"Bearer {TOKEN}"}
    asked: dict[str, tuple[Any, dict[str, str]]] = {
        f"/collections/pets/search?q=dog+{SECRET}": (None, with_token),
        "/collections/pets/similar": ({"key": SECRET}, with_token),
        "/rerank": ({"query": f"dog {SECRET}", "texts": [SECRET]}, with_token),
        f"/collections?{SECRET}": (None, {"Authorization": f"Bearer {SECRET}"}),
        f"/nowhere%0A%1B%5B31m?{SECRET}": (None, with_token),
        "/health": (None, {"Host": f"{SECRET}.example"}),
        "/v1/rerank": (None, with_token | {"Content-Length": str(9 * 2**20)}),
    }
    replies = {path: server.ask(path, body, headers=headers) for path, (body, headers) in asked.items()}
    return {path.partition("?")[0]: reply for path, reply in replies.items()}


@pytest.mark.parametrize("processes", [1, 2])
def test_every_request_is_logged_as_an_object_without_texts_and_tokens(start: Start, processes: int) -> None:
    server = start("json", "--processes", str(processes))
    replies = _ask_much(server)
    lines = _lines(server, *(f'"{path}"' for path in replies))
    assert SECRET not in "".join(lines)
    assert TOKEN not in "".join(lines)
    objects = [json.loads(line) for line in lines]
    assert objects[0]["message"] == f"serving at {server.url}/"
    requests = {one["path"]: one for one in objects if "path" in one}
    assert {path: one["status"] for path, one in requests.items()} == {
        "/collections/pets/search": 200,
        "/collections/pets/similar": 404,
        "/rerank": 200,
        "/collections": 401,
        "/nowhere%0A%1B%5B31m": 404,
        "/health": 421,
        "/v1/rerank": 413,
    }
    assert len({one["id"] for one in requests.values()}) == len(requests)
    for path, reply in replies.items():
        logged = requests[path]
        assert list(logged) == ["time", "level", "id", "method", "path", "client", "status", "seconds"]
        assert (logged["level"], logged["client"], logged["seconds"] >= 0) == ("info", "127.0.0.1", True)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", logged["time"])
        assert reply.headers["X-Request-ID"] == logged["id"]
        assert reply.status == 200 or reply.json["request_id"] == logged["id"]
    (wrong,) = [one for one in objects if "wrong token" in one.get("message", "")]
    assert (wrong["level"], wrong["id"]) == ("warning", requests["/collections"]["id"])


def test_by_default_the_log_has_lines(start: Start) -> None:
    server = start("text")
    replies = _ask_much(server)
    lines = _lines(server, *replies)
    assert SECRET not in "".join(lines)
    identity = replies["/nowhere%0A%1B%5B31m"].headers["X-Request-ID"]
    (line,) = [line for line in lines if identity in line]
    assert re.fullmatch(rf"\S+Z {identity} GET /nowhere%0A%1B%5B31m 127\.0\.0\.1 404 \d+\.\d+", line)


def test_what_is_no_http_is_a_problem_in_the_log(start: Start) -> None:
    server = start("json")
    host, port = server.url.removeprefix("http://").split(":")
    head = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01 no http\r\n\r\n", head + b"zz\r\n"):
        with socket.create_connection((host, int(port)), timeout=HUNG) as connection:
            connection.sendall(garbage)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        start_line, _, body = answer.partition(b"\r\n\r\n")
        assert start_line.startswith(b"HTTP/1.1 400 ")
        assert b"content-type: application/problem+json" in start_line
        problem = json.loads(body)
        assert problem["detail"] == "this is no valid HTTP request"
        (logged,) = [line for line in _lines(server, problem["request_id"]) if problem["request_id"] in line]
        assert (json.loads(logged)["status"], json.loads(logged)["client"]) == (400, "127.0.0.1")
    assert server.ask("/health").status == 200


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_defect_is_a_problem_whose_traceback_is_in_the_log(pets: Path, tmp_path: Path, form: str) -> None:
    server = RunningServer(pets, form, log=tmp_path / "log", program=DEFECTS)
    try:
        reply = server.ask("/collections/pets/search", {"query": SECRET})
        page = server.ask("/collections/pets/search", {"query": SECRET}, headers={"Accept": "text/html"})
    finally:
        assert server.stop() == 0
    assert (reply.status, reply.headers["Content-Type"]) == (500, "application/problem+json")
    assert reply.json["detail"] == "the server failed: its log has the reason"
    assert (page.status, page.headers["Content-Type"]) == (500, "text/html; charset=utf-8")
    identity, text = reply.json["request_id"], server.log.read_text()
    assert reply.headers["X-Request-ID"] == identity
    assert SECRET not in text
    if form == "json":
        (error,) = [json.loads(line) for line in text.splitlines() if identity in line and "traceback" in line]
        assert (error["level"], error["message"]) == ("error", "a request failed")
        trace = error["traceback"]
    else:
        trace = text.partition(f" {identity} a request failed\n")[2].partition(f" {identity} POST ")[0]
    first, _, second = trace.partition("KeyError\n\n")
    assert first.startswith("Traceback (most recent call last):")
    assert "in fails" in second
    assert "ValueError\n" in f"{second}\n"


def test_others_are_answered_while_a_long_body_becomes_documents(tmp_path: Path, pets: Path) -> None:
    """The texts of a body are read where no other client waits: here, reading ends when another was answered."""
    server = RunningServer(pets, log=tmp_path / "patient", program=PATIENT)
    bodies: list[tuple[str, Any, str]] = [
        ("/rerank", {"query": "dog", "texts": ["cat"]}, "POST"),
        ("/collections/pets/search", {"query": "dog"}, "POST"),
        ("/collections/pets/explain", {"query": "dog", "key": "t1"}, "POST"),
        ("/collections/pets/why-not", {"query": "dog", "key": "t1"}, "POST"),
        ("/collections/pets/rerank", {"query": "dog", "keys": ["t1"]}, "POST"),
        ("/collections/pets/documents/n1", {"text": 5}, "PUT"),  # refused: the collection is shared
    ]
    try:
        for path, body, method in bodies:
            seen, replies = server.log.read_text().count("reads"), list[Reply]()

            def ask(path: str = path, body: Any = body, method: str = method, to: list[Reply] = replies) -> None:
                to.append(server.ask(path, body, method=method))

            client = threading.Thread(target=ask)
            client.start()
            while client.is_alive():
                if server.log.read_text().count("reads") > seen:
                    assert server.ask("/health").status == 200
                time.sleep(0.02)
            client.join()
            assert replies[0].status == (200 if method == "POST" else 422), (path, replies[0].body)
    finally:
        server.stop()
