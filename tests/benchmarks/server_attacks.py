"""Attacks a running server, and shows what each attack cost: memory, and how long another client waited.

The training part of 20 Newsgroups is served, each attack by a server of its own, while another client searches for
a few words, one search after another. The table has the answers to the attack, the memory of the server and its
processes above that of the idle one (MiB), the longest time that the other client waited, and how long the attack took
(seconds). With `--expensive`, the most expensive request of each endpoint is found instead, by changing one field after
another. A server that grows by more than `--most` GiB is killed. `--before PYTHON` attacks the server of another
environment, too, such as that of an older checkout. `--only` names attacks.
"""

import gzip
import http.client
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import argument_parser, gzip_records, real, show, show_table, vectors
from tests.indexer.plugins.serving.running import RunningServer, descendants

MEMORY, WAIT = 1024, 1.0
"""Targets: MiB above the idle server, and seconds that another client waits."""

LIMIT = 36.0
"""Seconds of a request: its 30, and those in which work is given up."""

PATIENCE = 240
"""Seconds after which an attack is given up."""

SEARCH = "/collections/news/search"
PROXIMITY = "wmd:proximity=empirical"
KEY = "train/alt.atheism/49960"
TOKEN = "the-token-of-the-benchmark"  # noqa: S105 - of a server of our own
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
JSON = {"Content-Type": "application/json"}


def resident(process: int) -> float:
    """Return the memory of a process and of those that it started in MiB, shared pages once each."""
    total = 0
    for one in [process, *descendants(process)]:
        with suppress(OSError, StopIteration):
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
            total += sum(
                int(line.split()[1]) for line in text.splitlines() if line.startswith(("Pss_Anon:", "Pss_Shmem:"))
            )
    return total / 1024


@dataclass
class Attack:
    """A running attack: the server, the words of the collection, and what was answered."""

    server: RunningServer
    words: list[str]
    folder: Path
    answers: Counter[str] = field(default_factory=Counter)

    @property
    def address(self) -> tuple[str, int]:
        """Return the host and the port of the server."""
        host, port = self.server.url.removeprefix("http://").split(":")
        return host, int(port)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: dict[str, str] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """Send a request, and count the status of its answer; leave after some seconds of `patience`."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        with closing(http.client.HTTPConnection(*self.address, timeout=patience)) as connection:
            try:
                connection.request(method, path, content, JSON | (headers or {}))
                reply = connection.getresponse()
                reply.read()
                self.answers[str(reply.status)] += 1
            except (OSError, http.client.HTTPException) as error:
                self.answers[type(error).__name__] += 1

    def at_once(self, works: Sequence[Callable[[], None]]) -> None:
        """Run functions in threads, and wait for all."""
        threads = [threading.Thread(target=work) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def text(self, first: int, count: int) -> str:
        """Return a text of distinct words."""
        return " ".join(self.words[first : first + count])


# --- who may come in


def foreign_images(attack: Attack) -> None:
    """Pages of another site start searches by images."""
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors"}
    query = urlencode({"q": attack.text(0, 700), "exact": "true", "k": 1000, "explain": "true"})
    attack.at_once([lambda: attack.ask("GET", f"{SEARCH}?{query}", headers=headers)] * 4)


def guessed_tokens(attack: Attack) -> None:
    """A stranger tries 2,000 tokens by 20 connections."""

    def guess() -> None:
        for i in range(100):
            attack.ask("GET", "/collections", headers={"Authorization": f"Bearer wrong-token-{i}"})

    attack.at_once([guess] * 20)


# --- memory


def fitted_ranking(attack: Attack) -> None:
    """One GET chooses a ranking that is fitted on the whole collection."""
    attack.ask("GET", f"{SEARCH}?q=dog&rank=fisher:k=1024,dim=200")


def fitted_rankings(attack: Attack) -> None:
    """25 small fitted rankings, one after another."""
    for i in range(25):
        attack.ask("GET", f"{SEARCH}?q=dog&rank=fisher:k={2 + i},dim=16")


def many_words_rerank(attack: Attack) -> None:
    """A query of 16,000 distinct words, and a text of as many others."""
    attack.ask("POST", "/rerank", {"query": attack.text(0, 16_000), "texts": [attack.text(16_000, 16_000)]})


def many_words_explain(attack: Attack) -> None:
    """The flows of a query of thousands of distinct words."""
    body = {"query": attack.text(0, 38_000), "key": KEY}
    attack.ask("POST", "/collections/news/explain", body)


def full_answers(attack: Attack) -> None:
    """A batch of searches for 1,000 hits each, with texts and flows."""
    body = {"queries": [attack.text(50 * i, 40) for i in range(100)], "k": 1000, "full": True, "explain": True}
    attack.at_once([lambda: attack.ask("POST", SEARCH, body)] * 2)


def long_body(attack: Attack) -> None:
    """A body of a gigabyte where a path only ends like that of an upload, or is one."""
    for path in ("/rerank/documents", "/collections/news/search/documents", "/collections/news/documents"):
        _send_chunks(attack, path, b"[" + b"0," * 2**19, 1000)
    _send_chunks(attack, "/collections/news/view/documents", b"q=" + b"a" * 2**20, 1000)


def many_bodies(attack: Attack) -> None:
    """300 bodies of nearly 8 MiB each, of which the last byte does not come."""
    head = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % 2**23
    with ExitStack() as stack:
        for _ in range(300):
            with suppress(OSError):
                connection = stack.enter_context(socket.create_connection(attack.address, timeout=5))
                connection.sendall(head + b" " * (2**23 - 1))
        time.sleep(5)


def half_sent_bodies(attack: Attack) -> None:
    """1,100 requests with one byte of a body each, for rerankings, then uploads, and a byte every 12 seconds."""
    begun = b"POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n \r\n"
    for path in (b"/rerank", b"/collections/news/documents"):
        with ExitStack() as stack:
            connections = list[socket.socket]()
            for _ in range(1100):
                with suppress(OSError):
                    connections.append(stack.enter_context(socket.create_connection(attack.address, timeout=5)))
                    connections[-1].sendall(begun % path)
            for connection in connections * 3:
                with suppress(OSError):
                    connection.sendall(b"1\r\n \r\n")
                time.sleep(12 / 1100)


def many_uploads(attack: Attack) -> None:
    """Forty uploads at a time, of one endless line each."""
    attack.at_once([lambda: _send_chunks(attack, "/collections/news/documents", b"x" * 2**20, 100)] * 40)


def abandoned_uploads(attack: Attack) -> None:
    """1,000 clients that leave during an upload; the log does not grow."""
    head = b"POST /collections/news/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
    for _ in range(1000):
        with suppress(OSError), socket.create_connection(attack.address, timeout=5) as connection:
            connection.sendall(head)
    attack.answers[f"log of {attack.server.log.stat().st_size // 1024} KiB"] += 1


def zipped_body(attack: Attack) -> None:
    """A gzip body that is a thousand times as long when it is unpacked."""
    packed = BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:  # a copy of 512 MiB would hold up others
        for piece in (b'{"id": "x", "text": "', *[b"a " * 2**14] * 2**14, b'"}'):
            file.write(piece)
    bomb = packed.getvalue()
    for path in ("/collections/news/documents", "/rerank"):
        attack.ask("POST", path, bomb, {"Content-Encoding": "gzip"})
        attack.ask("POST", path, bomb)


def small_members(attack: Attack) -> None:
    """An upload of 200,000 gzip members of a byte each, and one of as many empty ones."""
    for text in (b" ", b""):
        attack.ask("POST", "/collections/news/documents", gzip.compress(text) * 200_000)


def zipped_records(attack: Attack) -> None:
    """An upload of half a MiB that unzips to many short records, and one that stays within the ratio."""
    for repeats in (30_000_000, 400_000):
        lines = "".join(f'{{"id":"{i % 97}","text":"dog"}}\n' for i in range(97)) * (repeats // 97 // 20)
        attack.ask("POST", "/collections/news/documents", gzip.compress(lines.encode()))


def many_watches(attack: Attack) -> None:
    """Forty watches of as many words as are allowed, then a document of 20,000 words."""
    for i in range(40):
        body = {"query": attack.text(20 * i, 1000), "within": 9, "rank": "wmd"}
        attack.ask("PUT", f"/collections/news/watches/w{i}", body)
    attack.ask("PUT", "/collections/news/watches/long", {"query": attack.text(0, 2500), "within": 9})
    attack.ask("PUT", "/collections/news/documents/x", {"text": attack.text(0, 20_000)})


def many_rank_fields(attack: Attack) -> None:
    """299 records that have none of 100,000 fields, all of which a problem of each would name."""
    fields, documents = [f"f{i:06}" for i in range(100_000)], [*([{"text": "a"}] * 299), "dog"]
    attack.ask("POST", "/v1/rerank", {"query": "dog", "documents": documents, "rank_fields": fields})


def many_values(attack: Attack) -> None:
    """Bodies of 8 MiB with millions of texts, records, comments, fields or conditions."""
    for path, head, item, tail in (
        ("/v1/rerank", b'{"query": "dog", "documents": [', b'"a",', b'"a"]}'),
        ("/rerank", b'{"query": "dog", "texts": [', b'"a",', b'"a"]}'),
        ("/v1/rerank", b'{"query": "dog", "documents": [', b'{"text":"a"},', b'"a"]}'),
        (SEARCH, b'{"query": {"text": "dog", "comments": [', b'{"text":"a"},', b'{"text":"a"}]}}'),
        (SEARCH, b'{"query": "dog", "where": [', b'"a=1",', b'"a=1"]}'),
    ):
        attack.ask("POST", path, head + item * (8_000_000 // len(item)) + tail)
    record = b'{"text": "dog",' + b",".join(b'"%d":0' % i for i in range(600_000)) + b"}"
    attack.ask("POST", "/v1/rerank", b'{"query": "dog", "documents": ["cat",' + record + b"]}")


def long_ranking(attack: Attack) -> None:
    """A ranking of a million terms."""
    attack.ask("POST", "/rerank", {"query": "dog", "texts": ["cat"], "rank": "wmd+" * 1_000_000 + "wmd"})


def _send_chunks(attack: Attack, path: str, chunk: bytes, count: int) -> None:
    with closing(http.client.HTTPConnection(*attack.address, timeout=PATIENCE)) as connection:
        try:
            connection.request("POST", path, (chunk for _ in range(count)), JSON, encode_chunked=True)
        except OSError as error:
            attack.answers[type(error).__name__] += 1
        with suppress(OSError, http.client.HTTPException):
            attack.answers[str(connection.getresponse().status)] += 1


# --- time


def short_budget(attack: Attack) -> None:
    """A search for 38,000 distinct words, with a budget of a second."""
    attack.ask("POST", SEARCH, {"query": attack.text(0, 38_000), "budget": 1, "exact": True})


def long_search(attack: Attack) -> None:
    """Four searches for 38,000 distinct words each, without a budget."""
    attack.at_once([lambda: attack.ask("POST", SEARCH, {"query": attack.text(0, 38_000), "k": 1000})] * 4)


def abandoned(attack: Attack) -> None:
    """Forty clients ask for a reranking of long texts, and leave."""
    texts = [attack.text(90 * i, 3000) for i in range(200)]
    body = json.dumps({"query": attack.text(5000, 2500), "texts": texts}).encode()
    head = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    for _ in range(40):
        with suppress(OSError), socket.create_connection(attack.address, timeout=PATIENCE) as connection:
            connection.sendall(head % len(body) + body)
            time.sleep(0.05)
    attack.ask("POST", "/rerank", {"query": "dog", "texts": ["cat"]})


def alternatives(attack: Attack) -> None:
    """A filter of 100,000 alternatives."""
    where = {"label": [f"value {i}" for i in range(100_000)]}
    attack.ask("POST", SEARCH, {"query": "dog", "where": where})


def conditions(attack: Attack) -> None:
    """A filter of 20,000 conditions."""
    attack.ask("POST", SEARCH, {"query": "dog", "where": [f"label!=value {i}" for i in range(20_000)]})


def proximity(attack: Attack) -> None:
    """Four rankings by mutual proximity of long queries."""
    body = {"query": attack.text(0, 2000), "rank": PROXIMITY, "exact": True, "budget": 2}
    attack.at_once([lambda: attack.ask("POST", SEARCH, body)] * 4)


def termination(attack: Attack) -> None:
    """SIGTERM while long requests run."""
    body = {"query": attack.text(0, 38_000), "k": 1000, "exact": True}
    threads = [threading.Thread(target=attack.ask, args=("POST", SEARCH, body), daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    began = time.perf_counter()
    attack.server.process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        attack.server.process.wait(PATIENCE)
    attack.answers[f"ended in {time.perf_counter() - began:.0f} s"] += 1


# --- connections and files


def termination_of_a_change(attack: Attack) -> None:
    """SIGTERM while a long upload is written."""
    lines = "".join(json.dumps({"id": f"x{i}", "text": attack.text(i % 70_000, 60)}) + "\n" for i in range(400_000))
    upload = threading.Thread(
        target=attack.ask, args=("POST", "/collections/news/documents", lines.encode()), daemon=True
    )
    upload.start()
    time.sleep(8)
    attack.server.process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        attack.server.process.wait(PATIENCE)
    upload.join(PATIENCE)
    attack.answers[f"exit code {attack.server.process.poll()}"] += 1


def ambiguous_requests(attack: Attack) -> None:
    """Requests that a proxy would divide otherwise."""
    hidden = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for lines in (
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"X: y\n\r\n",
        b"X: y\r\n z\r\n\r\n",
    ):
        with socket.create_connection(attack.address, timeout=PATIENCE) as connection:
            connection.sendall(b"POST /rerank HTTP/1.1\r\nHost: localhost\r\n" + lines + hidden)
            received = b"".join(iter(partial(connection.recv, 1 << 16), b""))
        attack.answers[" ".join(str(part[1:4], "ascii") for part in received.split(b"HTTP/1.1")[1:]) or "closed"] += 1


def invented_methods(attack: Attack) -> None:
    """3,000 methods that nobody has heard of."""
    for i in range(3000):
        attack.ask(f"METHOD{i}" + "X" * 1000, f"/nowhere/{i}")


def idle_connections(attack: Attack) -> None:
    """2,000 connections that send half a line."""
    with ExitStack() as stack:
        for _ in range(2000):
            with suppress(OSError):
                connection = stack.enter_context(socket.create_connection(attack.address, timeout=5))
                connection.sendall(b"GET / HT")
        time.sleep(20)


def no_descriptors(attack: Attack) -> None:
    """More connections than the server has descriptors."""
    resource.prlimit(attack.server.process.pid, resource.RLIMIT_NOFILE, (150, 150))
    processor = _processor_seconds(attack.server.process.pid)
    with ExitStack() as stack:
        for _ in range(400):
            with suppress(OSError):
                stack.enter_context(socket.create_connection(attack.address, timeout=5))
        time.sleep(10)
        used = _processor_seconds(attack.server.process.pid) - processor
    attack.answers[f"{used:.1f} s of processor time"] += 1
    attack.answers[f"log of {attack.server.log.stat().st_size // 1024} KiB"] += 1


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def duplicate_searches(attack: Attack) -> None:
    """Forty searches for near-duplicates, each with another distance; those that take longer are left unfinished."""
    for i in range(40):
        attack.ask("GET", f"/duplicates?collection=news&within=0.{i:02}1", patience=4)
    files = sum(1 for _ in attack.folder.rglob("pairs-*"))
    attack.answers[f"{files} files"] += 1


ATTACKS: Sequence[Callable[[Attack], None]] = [
    work
    for work in list(vars().values())
    if getattr(work, "__annotations__", None) == {"attack": Attack, "return": None}
]


# --- the most expensive request


Choices = dict[str, Sequence[Any]]
"""The values of each field of a request, the smallest first."""


def _requests(attack: Attack) -> dict[str, tuple[str, str, Choices]]:
    """Return method, path and choices of the endpoints that compute."""
    texts = [attack.text(0, n) for n in (5, 300, 5000, 100_000)]
    options: Choices = {
        "k": [1, 100, 1000],
        "rank": ["bm25", "wmd", "wmd:weights=tfidf+cover+2*bm25+cosine", "chamfer"],
    }
    options |= {"exact": [False, True], "explain": [False, True], "full": [False, True], "highlight": [False, True]}
    options |= {"percentile": [False, True], "passage": [None, 20, 10_000], "group_by": [None, "label"]}
    candidates = [[attack.text(n * i, n) for i in range(m)] for n, m in ((5, 10), (300, 1000), (5000, 100))]
    claims: Choices = {"claim": texts, "sources": [texts[:1], texts[1:3], [texts[2]] * 20]}
    return {
        "search": ("POST", SEARCH, {"query": texts} | options),
        "search, queries": ("POST", SEARCH, {"queries": [texts[:1] * 10, texts[1:2] * 100]} | options),
        "similar": ("POST", "/collections/news/similar", {"key": [KEY]} | options),
        "explain": ("POST", "/collections/news/explain", {"query": texts, "key": [KEY], "rank": options["rank"]}),
        "why-not": ("POST", "/collections/news/why-not", {"query": texts, "key": [KEY], "k": [1, 1000]}),
        "rerank": ("POST", "/rerank", {"query": texts, "texts": candidates}),
        "compare": ("POST", "/collections/news/compare", claims),
        "changes": ("POST", "/collections/news/changes", {"old": texts, "new": [text[::-1] for text in texts]}),
        "put document": ("PUT", "/collections/news/documents/x", {"text": [*texts, texts[-1] * 2]}),
        "put watch": ("PUT", "/collections/news/watches/w", {"query": texts, "within": [0.1, 99]}),
    }


def expensive(python: str, index: Path, words: list[str], tries: int, only: Sequence[str]) -> list[list[object]]:
    """Return the most expensive of `tries` requests of each endpoint, found by changing one field after another.

    A field keeps the value by which a request took longest; refused requests count, too.
    """
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory(prefix="moverank-expensive-") as name:
        server = RunningServer("-i", index, log=Path(name) / "log", python=python)
        attack = Attack(server, words, index)
        try:
            for endpoint, (method, path, choices) in _requests(attack).items():
                if only and endpoint not in only:
                    continue
                body, worst, asked = {field: values[0] for field, values in choices.items()}, (0.0, "", 0.0), 0
                with watched(server, 1 << 20) as (other, peak):
                    for field_name, values in [*choices.items()] * 2:
                        for value in values:
                            if asked >= tries:
                                break
                            given = body | {field_name: value}
                            attack.answers.clear()
                            began = time.perf_counter()
                            attack.ask(method, path, {name: one for name, one in given.items() if one is not None})
                            taken, asked = time.perf_counter() - began, asked + 1
                            if taken > worst[0]:
                                worst, body = (taken, next(iter(attack.answers), "-"), peak[0]), given
                shown = ", ".join(f"{name} {_short(one)}" for name, one in body.items() if one)
                met = worst[0] < LIMIT and peak[0] < MEMORY and other.longest < WAIT
                rows.append(
                    [endpoint, asked, worst[1], f"{worst[0]:.1f}", f"{peak[0]:.0f}", f"{other.longest:.2f}", shown, met]
                )
                show(f"  {' | '.join(map(str, rows[-1]))}")
        finally:
            server.stop(signal.SIGKILL)
    return rows


def _short(value: object) -> str:
    if isinstance(value, str) and len(value) > 60:
        return f"of {len(value.split()):,} words"
    if isinstance(value, list):
        return f"{len(value)} of {max(len(one.split()) for one in value):,} words"
    return str(value)


@dataclass
class Other:
    """Another client, which searches all the time; `longest` is the longest time that it waited, in seconds."""

    address: tuple[str, int]
    longest: float = 0.0
    refused: int = 0

    def search(self, done: threading.Event) -> None:
        """Search until `done`."""
        while not done.is_set():
            began = time.perf_counter()
            try:
                with closing(http.client.HTTPConnection(*self.address, timeout=PATIENCE)) as connection:
                    connection.request("GET", f"{SEARCH}?q=" + quote("dog food"), headers=AUTHORIZED)
                    reply = connection.getresponse()
                    reply.read()
                    self.refused += reply.status != 200
            except (OSError, http.client.HTTPException):
                self.refused += 1
                if done.wait(0.2):
                    return
            if not done.is_set() or time.perf_counter() - began > WAIT:
                self.longest = max(self.longest, time.perf_counter() - began)
            done.wait(0.05)


def peak_above(process: int, idle: float, most: float, done: threading.Event, peak: list[float]) -> None:
    """Keep the peak of the memory above the idle server in MiB in `peak`; kill the server beyond `most`."""
    while not done.is_set():
        peak[0] = max(peak[0], resident(process) - idle)
        if peak[0] > most:
            os.kill(process, signal.SIGKILL)
            return
        done.wait(0.05)


@contextmanager
def watched(server: RunningServer, most: float) -> Iterator[tuple[Other, list[float]]]:
    """Search as another client, and measure the memory, during the block."""
    host, port = server.url.removeprefix("http://").split(":")
    done, peak, other = threading.Event(), [0.0], Other((host, int(port)))
    warm = Other(other.address)
    quiet = threading.Event()
    timer = threading.Timer(3, quiet.set)
    timer.start()
    warm.search(quiet)
    idle = resident(server.process.pid)
    threads = [
        threading.Thread(target=other.search, args=(done,), daemon=True),
        threading.Thread(target=peak_above, args=(server.process.pid, idle, most, done, peak), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield other, peak
    finally:
        time.sleep(1)
        done.set()
        for thread in threads:
            thread.join(PATIENCE)


def attacked(work: Callable[[Attack], None], python: str, index: Path, words: list[str], most: float) -> list[object]:
    """Return the row of one attack on a server of its own."""
    with tempfile.TemporaryDirectory(prefix="moverank-attack-") as name:
        folder = Path(name)
        options: list[str | Path] = ["-i", index]
        if work is guessed_tokens:
            (folder / "token").write_text(TOKEN)
            options += ["--token-file", folder / "token"]
        if work is proximity:
            options += ["--allow-rank", PROXIMITY]
        server = RunningServer(*options, log=folder / "log", python=python)
        attack = Attack(server, words, index)
        try:
            with watched(server, most * 1024) as (other, peak):
                began = time.perf_counter()
                finished = threading.Thread(target=work, args=(attack,), daemon=True)
                finished.start()
                finished.join(PATIENCE)
                taken, given_up = time.perf_counter() - began, finished.is_alive()
                answers = dict(attack.answers)  # those that come later are about the end of the server
        finally:
            died = server.process.poll() not in (None, 0)
            server.stop(signal.SIGKILL)
        counted = ", ".join(f"{number} x {what}" if number > 1 else what for what, number in answers.items())
        state = "killed: " if died else "given up: " if given_up else ""
        ended = work in (termination, termination_of_a_change)
        waited = "-" if ended else f"{other.longest:.2f}"
        met = not (died or given_up) and peak[0] < MEMORY and (ended or other.longest < WAIT)
        return [work.__name__.replace("_", " "), state + counted, f"{peak[0]:.0f}", waited, f"{taken:.1f}", met]


def collection(folder: Path, python: str) -> Path:
    """Index the training part of 20 Newsgroups, and return the directory."""
    index, file = folder / "news.index", folder / "train.jsonl"
    with file.open("w") as out:
        records = gzip_records(real("data", "20news", "docs.jsonl.gz"))
        out.writelines(json.dumps(record) + "\n" for record in records if record["split"] == "train")
    command = [python, "-m", "moverank", "index", file, "-i", index, "--embedding", vectors()]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return index


def known_words() -> list[str]:
    """Return the words that have a vector."""
    from gensim.models import KeyedVectors

    every = KeyedVectors.load_word2vec_format(str(vectors()), binary=True).index_to_key
    return [word for word in every if word.isalpha() and len(word) > 2]


def main() -> None:
    """Attack, and print the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("--before", metavar="PYTHON", help="the interpreter of an environment with another version")
    parser.add_argument("--only", nargs="*", default=[], help="names of attacks, or of endpoints")
    parser.add_argument(
        "--tries", type=int, default=40, help="requests of each endpoint, to find its most expensive (40)"
    )
    parser.add_argument("--expensive", action="store_true", help="only find the most expensive requests")
    parser.add_argument("--most", type=float, default=4.0, help="GiB above the idle server at which it is killed")
    arguments = parser.parse_args()
    chosen = [work for work in ATTACKS if not arguments.only or work.__name__ in arguments.only]
    words, missed = known_words(), False
    for name, python in (("before", arguments.before), ("now", sys.executable)):
        if python is None:
            continue
        with tempfile.TemporaryDirectory(prefix="moverank-attacks-") as directory:
            index = collection(Path(directory), python)
            show(f"{name}: {len(words):,} words have a vector")
            if arguments.expensive:
                rows = [
                    [*cells, "ok" if met else "MISSED"]
                    for *cells, met in expensive(python, index, words, arguments.tries, arguments.only)
                ]
                heads = ["endpoint", "asked", "answer", "s", "MiB above idle", "another waits s", "request", "target"]
                show_table(heads, rows)
                missed = name == "now" and any("MISSED" in row for row in rows)
                continue
            rows = []
            for work in chosen:
                *cells, met = attacked(work, python, index, words, arguments.most)
                show(f"  {' | '.join(map(str, cells))}")
                rows.append([*cells, "ok" if met else "MISSED"])
            show_table(["attack", "answers", "MiB above idle", "another waits s", "takes s", "target"], rows)
            missed = name == "now" and any("MISSED" in row for row in rows)
    sys.exit(missed)


if __name__ == "__main__":
    main()
