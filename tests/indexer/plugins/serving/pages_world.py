"""A server of the pages in a thread of the test's process, over its own socket, and what it serves."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np
import uvicorn

from moverank import Collection, Document, Part, Settings
from moverank.indexer.plugins.serving.application import application
from moverank.indexer.plugins.serving.guard import Access
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.metrics import Metrics
from moverank.indexer.plugins.serving.run_server import served_collections
from moverank.indexer.plugins.serving.state import ServerState
from moverank.indexer.plugins.serving.workers import Workers
from tests.waiting import HUNG

WORDS = "plug socket mains heater hot warm cat dog train bus late early wine bread cheese river".split()  # noqa: SIM905
SCRIPT = "<script>document.title='broken'</script>"
LONG = " ".join(["plug", *(blake2b(bytes([i, 0])).hexdigest() for i in range(99))])
"""A text that is too long for an address, even if it is compressed."""
IMAGE = "\"><img src=x onerror=document.title='broken'>"


def thread(key: str, title: str, *texts: str, label: str | None = None, **metadata: Any) -> Document:
    """Return a thread of these posts."""
    return Document(key, title, tuple(Part(text, rank) for rank, text in enumerate(texts)), label, metadata)


THREADS = [
    thread("t1", "Warm plug", "The plug of the heater gets hot.", "Replace the socket.", label="home", year=2019),
    thread("t2", "Late train", "The train was late again.", "Take the bus, it is early.", label="travel", year=2021),
    thread("t3", "Late bus", "The train was late again.", "Take the bus, it is early.", label="travel", year=2022),
    thread(
        "t4", "Dinner", "Bread, cheese and wine at the river.", label="food", year=2020, url="https://a.example/?b=1&c"
    ),
    thread("a/b c?d#e", "Pets", "The dog and the cat.", year=2018, tags=["dog", "cat"]),
    thread("odd", "Nothing known", "zzz qqq"),
    thread("titled", "Heater", label="home"),
    thread(IMAGE, f"{SCRIPT} wine", f"{IMAGE} cheese", f"</mark></p>{SCRIPT} bread", label=IMAGE, note=SCRIPT),
]


@dataclass(frozen=True)
class Reply:
    """The status, the headers and the body of an answer."""

    status: int
    headers: HTTPMessage
    text: str

    @property
    def json(self) -> Any:
        """Return the JSON value of the body."""
        return json.loads(self.text)


@dataclass(frozen=True)
class PagesServer:
    """A running server at an address."""

    url: str

    def get(self, path: str, **fields: Any) -> Reply:
        """Return the answer to a GET with some fields."""
        return self._ask("GET", f"{path}?{urlencode(fields, doseq=True)}" if fields else path)

    def post(self, path: str, fields: Mapping[str, Any] | bytes) -> Reply:
        """Return the answer to a form, or that of the address that it leads to."""
        body = fields if isinstance(fields, bytes) else urlencode(fields, doseq=True).encode()
        reply = self._ask("POST", path, body, {"Content-Type": "application/x-www-form-urlencoded"})
        return self.get(reply.headers["Location"].partition("#")[0]) if reply.status == 303 else reply

    def api(self, path: str, value: Any) -> Any:
        """Return the JSON answer to a JSON body."""
        return self._ask("POST", path, json.dumps(value).encode(), {"Content-Type": "application/json"}).json

    def upload(self, path: str, body: bytes) -> Reply:
        """Return the answer to an upload of documents."""
        return self._ask("POST", path, body, {"Content-Type": "application/x-ndjson"})

    def browsed(self, path: str, method: str = "GET", **headers: str) -> Reply:
        """Return the answer to what a browser sends."""
        return self._ask(method, path, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"} | headers)

    def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = MappingProxyType({})
    ) -> Reply:
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=HUNG)
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read().decode())
        finally:
            connection.close()


def make_forum(directory: Path, threads: Sequence[Document] = THREADS) -> Path:
    """Index threads in a new collection, and return its directory."""
    vectors = directory / "vectors.txt"
    rows = np.random.default_rng(3).standard_normal((len(WORDS), 6)).round(3)
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(WORDS, rows.tolist(), strict=True)]
    vectors.write_text(f"{len(WORDS)} 6\n" + "\n".join(lines) + "\n")
    settings = Settings(embedding=str(vectors), stop_words=("the", "and", "of", "is"), rank="", gamma=0.75)
    with Collection.create(directory / "forum.index", settings) as forum:
        forum.index(threads)
        return forum.path


@contextmanager
def pages_server(
    places: Mapping[str, Path],
    limits: Limits | None = None,
    root_path: str = "",
    *,
    read_only: bool = False,
) -> Iterator[PagesServer]:
    """Serve collections during the block."""
    limits = limits or Limits()
    state = ServerState(served_collections(dict(places), limits), Workers(limits), limits, Metrics(), read_only)
    config = uvicorn.Config(
        application(state, Access(), root_path), port=0, log_level="error", access_log=False, ws="none"
    )
    server = uvicorn.Server(config)
    runner = threading.Thread(target=server.run, name="pages")
    runner.start()
    try:
        while not server.started and runner.is_alive():
            runner.join(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield PagesServer(f"http://localhost:{port}")
    finally:
        server.should_exit = True
        runner.join()
