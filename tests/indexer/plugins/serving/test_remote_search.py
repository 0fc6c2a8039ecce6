"""`search --server` prints what `search` prints, without what a search has to import."""

import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.indexer.commands.program import Call, program
from tests.indexer.plugins.serving.running import RunningServer

HEAVY = ("faiss", "gensim", "numba", "ot", "scipy", "sqlalchemy")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return program(monkeypatch, capsys)


def _without_time(text: str) -> str:
    return re.sub(r'\d+\.\d+ s|"seconds": [\d.e-]+', "", text)


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "dog wine"),
        ("search", "dog wine", "--explain", "-k", "2", "--gamma", "0.5"),
        ("search", "dog wine", "--json", "--where", "year>=2020"),
        ("search", "dog", "--rank", "bm25"),
        ("search", "dog", "--rank", "bm25", "--json"),
        ("search", "dog", "--full"),
        ("search", "dog wine", "--highlight", "--explain", "--full", "--json"),
        ("search", "dog wine", "--passage", "3"),
        ("similar", "t1", "--passage", "3", "--highlight", "--json"),
        ("search", "dog wine", "--full", "--format", "csv"),
        ("search", "xyzzy"),
        ("search", "dog", "--rank", "nope"),
        ("similar", "t1"),
        ("similar", "t1", "gone", "--json"),
        ("similar", "gone"),
    ],
)
def test_the_output_is_that_of_a_local_search(
    call: Call, pets: Path, server: RunningServer, arguments: tuple[str, ...]
) -> None:
    here, there = call(*arguments, "-i", pets), call(*arguments, "-i", pets, "--server", server.url)
    assert (there.code, there.err) == (here.code, here.err)
    assert _without_time(there.out) == _without_time(here.out)


def test_files_threads_and_many_queries(call: Call, pets: Path, server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "queries").write_text('{"id": "q1", "title": "Dog", "text": "wine"}\n{"id": "q2", "text": "xyzzy"}\n')
    (tmp_path / "thread.jsonl").write_text('{"title": "Cat", "body": "bird", "comments": [{"text": "wine"}]}\n')
    for option, name in (("--queries", "queries"), ("--thread", "thread.jsonl"), ("--file", "queries")):
        given = ("search", option, tmp_path / name, "--json")
        here, there = call(*given, "-i", pets), call(*given, "--server", server.url)
        assert _without_time(there.out) == _without_time(here.out)
        assert (there.code, there.err) == (here.code, here.err)


def test_the_server_may_be_named_by_the_environment(
    call: Call, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOVERANK_SERVER", server.url + "/")
    assert call("search", "dog", "--json").json["hits"][0]["key"] == "t1"


@pytest.mark.parametrize(
    ("url", "code", "sentence"),
    [
        ("localhost:8080", 2, "'localhost:8080' is not the URL of a server: it begins with http:// or https://"),
        ("http://127.0.0.1:9", 1, "the server at http://127.0.0.1:9 does not answer: [Errno 111] Connection refused"),
    ],
)
def test_a_server_that_does_not_answer(call: Call, url: str, code: int, sentence: str) -> None:
    found = call("search", "dog", "--server", url)
    assert (found.code, found.sentence) == (code, sentence)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("place", ["http://localhost:{}/x\x1b[2J", "//localhost:{}/", "/elsewhere"])
def test_no_redirect_gets_the_token(call: Call, monkeypatch: pytest.MonkeyPatch, status: int, place: str) -> None:
    asked = list[str]()

    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Location", place.format(server.server_port))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setenv("MOVERANK_TOKEN", "secret of sixteen")
    with HTTPServer(("127.0.0.1", 0), Redirecting) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        found = call("search", "dog", "--server", url)
        server.shutdown()
    assert (found.code, asked) == (1, ["/collections"])
    assert found.sentence.startswith(f"the server at {url}/collections redirects to http://")
    assert found.sentence.isprintable()


def test_another_collection_and_another_server(call: Call, server: RunningServer) -> None:
    found = call("search", "dog", "-i", "none", "--server", server.url)
    assert (found.code, found.sentence) == (1, "there is no collection 'none': choose pets")
    found = call("search", "dog", "--server", f"{server.url}/health")
    assert (found.code, found.sentence) == (1, "Not Found")


def test_nothing_heavy_is_imported(server: RunningServer) -> None:
    program = (
        "import sys; from moverank import cli; sys.argv = ['moverank', 'search', 'dog', '--server', sys.argv[1]]\n"
        "try: cli.main()\nexcept SystemExit: pass\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    found = subprocess.run([sys.executable, "-c", program, server.url], capture_output=True, text=True, check=True)
    assert not set(found.stderr.split()) & {*HEAVY, "numpy"}
