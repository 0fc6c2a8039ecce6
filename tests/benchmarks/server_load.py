"""Loads a running server: clients that search all the time, and a writer that adds documents.

20 Newsgroups: the training part is served, documents of the test part are added one by one, the queries are subjects of
others. One client alone comes first, then all of them with the writer. Every answer names its revision; some are
compared with those of a new collection to which the same documents were added up to that revision. Shows throughput,
latencies, refused requests (429), errors, wrong answers, and the memory of the server over time. With --kill the server
is killed at the end, and all acknowledged documents must be in the collection.
"""

import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection
from moverank.indexer.plugins.serving.record_lines import document_of_record
from tests.benchmarks.common import argument_parser, gzip_records, real, show, show_table, vectors
from tests.indexer.plugins.serving.running import RunningServer, descendants

NAME, CHECKED = "news", 30


@dataclass
class Tally:
    """What the clients saw."""

    seconds: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    samples: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    broken: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, query: str, status: int, taken: float, answer: dict[str, Any] | None) -> None:
        """Count one answer."""
        with self.lock:
            self.statuses[status] = self.statuses.get(status, 0) + 1
            if status == 200 and answer is not None:
                self.seconds.append(taken)
                self.samples.append((query, answer))


def client(url: str, queries: list[str], until: float, tally: Tally, seed: int) -> None:
    """Search over one connection until the time is over; after a 429, wait as long as it says."""
    rng, address = random.Random(seed), url.removeprefix("http://")  # noqa: S311 - a choice of queries
    connection = http.client.HTTPConnection(address, timeout=60)
    while time.monotonic() < until:
        query = rng.choice(queries)
        began = time.perf_counter()
        try:
            body = json.dumps({"query": query, "k": 10})
            connection.request("POST", f"/collections/{NAME}/search", body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            content = reply.read()
        except (OSError, http.client.HTTPException):
            with tally.lock:
                tally.broken += 1
            connection.close()
            continue
        answer = json.loads(content) if reply.status == 200 else None
        tally.add(query, reply.status, time.perf_counter() - began, answer)
        if reply.status == 429:
            time.sleep(float(reply.headers["Retry-After"]))


def writer(url: str, records: list[dict[str, Any]], rate: float, until: float, written: list[tuple[int, int]]) -> None:
    """Add one document after another, `rate` a second; remember the revision of each."""
    connection, began = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60), time.monotonic()
    for number, record in enumerate(records):
        pause = began + number / rate - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        if time.monotonic() > until:
            return
        headers = {"Content-Type": "application/json"}
        try:
            connection.request("PUT", f"/collections/{NAME}/documents/{record['id']}", json.dumps(record), headers)
            reply = connection.getresponse()
            content = json.loads(reply.read())
        except (OSError, http.client.HTTPException, ValueError):
            return
        if reply.status == 200:
            written.append((number, content["revision"]))


def memory(process: int) -> float:
    """Return the memory of a process and of those that it started in MiB; what they share counts once."""
    total = 0.0
    for one in [process, *descendants(process)]:
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
            total += int(next(line for line in text.splitlines() if line.startswith("Pss:")).split()[1]) / 1024
    return total


def run(
    url: str, process: int, clients: int, seconds: float, queries: list[str], tally: Tally, extra: Any = None
) -> list[float]:
    """Run so many clients for so long, and return the server's memory, measured each second."""
    until, used = time.monotonic() + seconds, []
    threads = [threading.Thread(target=client, args=(url, queries, until, tally, i)) for i in range(clients)]
    if extra:
        threads.append(threading.Thread(target=extra, args=(until,)))
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        used.append(memory(process))
        time.sleep(1)
    return used


def wrong_answers(
    copy: Path, records: list[dict[str, Any]], written: list[tuple[int, int]], tally: Tally
) -> tuple[int, int]:
    """Return how many of some answers differ from those of the same revision, and how many were compared."""
    rng = random.Random(0)  # noqa: S311 - a choice of samples
    samples = rng.sample(tally.samples, min(CHECKED, len(tally.samples)))
    samples.sort(key=lambda each: each[1]["revision"])
    wrong, added = 0, 0
    with Collection.open(copy) as collection:
        for query, answer in samples:
            while added < len(written) and written[added][1] <= answer["revision"]:
                record = records[written[added][0]]
                collection.index([document_of_record(record, record["id"])], strict=True, upkeep=False)
                added += 1
            ranking = collection.search(query, k=10)
            expected = ranking.to_dict()["hits"]
            same = [hit["key"] for hit in expected] == [hit["key"] for hit in answer["hits"]]
            near = all(
                abs(one["total"] - two["total"]) < 1e-9 for one, two in zip(expected, answer["hits"], strict=False)
            )
            wrong += not (same and near)
    return wrong, len(samples)


def main() -> None:
    """Measure, and print the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="of the server, as its option")
    parser.add_argument("--kill", action="store_true")
    arguments = parser.parse_args()
    every = list(gzip_records(real("data", "20news", "docs.jsonl.gz")))
    train = [one for one in every if one.get("split") == "train"]
    test = [one for one in every if one.get("split") == "test"]
    records = [
        {"id": one["id"], "title": one.get("title", ""), "text": one["text"]} for one in test if one["text"].strip()
    ]
    queries = [one["title"] for one in test if len(one.get("title", "")) > 12][:2000]
    with tempfile.TemporaryDirectory(prefix="moverank-load-") as name:
        folder = Path(name)
        (folder / "train.jsonl").write_text("".join(json.dumps(one) + "\n" for one in train))
        index = folder / f"{NAME}.index"
        command = [
            sys.executable,
            "-m",
            "moverank",
            "index",
            folder / "train.jsonl",
            "-i",
            index,
            "--embedding",
            vectors(),
        ]
        subprocess.run(list(map(str, command)), check=True)
        copy = Path(shutil.copytree(index, folder / "copy.index"))
        server = RunningServer("-i", index, "--processes", str(arguments.processes), log=folder / "log")
        process = server.process.pid
        alone, together, written = Tally(), Tally(), list[tuple[int, int]]()
        run(server.url, process, 1, 5, queries, Tally())  # warm
        run(server.url, process, 1, arguments.seconds / 4, queries, alone)

        def write(until: float) -> None:
            writer(server.url, records, arguments.rate, until, written)

        used = run(server.url, process, arguments.clients, arguments.seconds, queries, together, write)
        if arguments.kill:
            kill(server, index, records[len(written) :], queries)
        else:
            server.stop(signal.SIGTERM)
        report(alone, together, arguments.seconds, written, used)
        wrong, compared = wrong_answers(copy, records, written, together)
        show(f"{wrong} of {compared} answers differ from those of a new collection of the same revision")


def kill(server: RunningServer, index: Path, records: list[dict[str, Any]], queries: list[str]) -> None:
    """Kill the server while clients search and write; show whether an acknowledged document is lost."""
    written, tally = list[tuple[int, int]](), Tally()
    until = time.monotonic() + 8
    threads = [threading.Thread(target=client, args=(server.url, queries, until, tally, i)) for i in range(8)]
    threads.append(threading.Thread(target=writer, args=(server.url, records, 50.0, until, written)))
    for thread in threads:
        thread.start()
    time.sleep(4)
    server.stop(signal.SIGKILL)
    for thread in threads:
        thread.join()
    with Collection.open(index) as collection:
        lost = [records[number]["id"] for number, _ in written if records[number]["id"] not in collection]
    show(f"killed after {len(written)} acknowledged documents: {len(lost)} lost")


def report(
    alone: Tally,
    together: Tally,
    seconds: float,
    written: list[tuple[int, int]],
    used: list[float],
) -> None:
    """Print what was measured."""
    rows = []
    for name, tally, time_ in (("1 client", alone, seconds / 4), ("all clients, a writer", together, seconds)):
        ordered = sorted(tally.seconds)
        p50, p99 = statistics.median(ordered), ordered[int(0.99 * (len(ordered) - 1))]
        refused = tally.statuses.get(429, 0)
        others = {status: number for status, number in sorted(tally.statuses.items()) if status != 200}
        if others or tally.broken:
            show(f"{name}: statuses {others}, {tally.broken} broken connections")
        errors = sum(number for status, number in tally.statuses.items() if status not in (200, 429)) + tally.broken
        rows.append([name, f"{len(ordered) / time_:.1f}", f"{p50 * 1e3:.0f}", f"{p99 * 1e3:.0f}", refused, errors])
    show_table(["", "searches a second", "p50 ms", "p99 ms", "refused", "errors"], rows)
    ratio = (len(together.seconds) / seconds) / (len(alone.seconds) / (seconds / 4))
    show(f"throughput of all against one: {ratio:.2f}")
    revisions = {answer["revision"] for _, answer in together.samples}
    show(f"{len(written)} documents written, answers of {len(revisions)} revisions")
    quarter = len(used) // 4
    means = [statistics.mean(used[start : start + quarter]) for start in range(0, 4 * quarter, quarter)]
    show(f"memory of the server, MiB, means of quarters of the time: {', '.join(f'{mean:.0f}' for mean in means)}")


if __name__ == "__main__":
    main()
