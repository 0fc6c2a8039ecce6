"""Server-sent events: each event once and in order, from a number on, until the client or the server ends."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from moverank.indexer.documents import Event
from moverank.indexer.server import event_streams
from moverank.indexer.server.event_streams import EventStreams
from moverank.indexer.server.limits import Limits
from tests.indexer.server.conftest import index_planes
from tests.indexer.server.pages_world import pages_server
from tests.indexer.server.running import RunningServer
from tests.waiting import HUNG, wait_until

httpx = pytest.importorskip("httpx", reason="the extra `clients` is not installed")

STREAM = "/collections/pets/events/stream"
WATCHES = "/collections/pets/watches"


def _put(running: RunningServer, *keys: str) -> None:
    lines = "".join(json.dumps({"id": key, "text": "a plane"}) + "\n" for key in keys)
    assert running.ask("/collections/pets/documents", lines.encode()).json["events"] == len(keys)


@contextmanager
def _events(url: str, **options: Any) -> Iterator[Iterator[dict[str, Any]]]:
    """Open a stream, and yield its events as they come: fields by name, `data` as an object."""
    with httpx.Client(timeout=HUNG) as client, client.stream("GET", url, **options) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")

        def read() -> Iterator[dict[str, Any]]:
            fields = dict[str, Any]()
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if line and not line.startswith(":"):
                    fields[name] = json.loads(value) if name == "data" else value
                elif fields:
                    yield fields
                    fields = {}

        yield read()


def _status(url: str) -> int:
    """Return the status of a stream, and close it."""
    with httpx.Client() as client, client.stream("GET", url) as answer:
        return int(answer.status_code)


def _keys(events: Iterator[dict[str, Any]], count: int) -> list[str]:
    return [next(events)["data"]["document"] for _ in range(count)]


def _open_streams(running: RunningServer) -> float:
    lines = running.ask("/metrics").body.decode().splitlines()
    return float(next(line.split()[-1] for line in lines if line.startswith("moverank_event_streams ")))


def test_events_arrive_as_they_are_committed_and_from_a_number_on(watched: Path, tmp_path: Path) -> None:
    running = RunningServer("-i", watched, log=tmp_path / "log")
    try:
        _put(running, "a", "b")
        with _events(running.url + STREAM) as events:
            first = next(events)
            listed = running.ask("/collections/pets/events").json["events"]
            assert first == {"id": str(listed[0]["number"]), "event": "watch", "data": listed[0]}
            assert _keys(events, 1) == ["b"]
            _put(running, "c")
            assert _keys(events, 1) == ["c"]
            index_planes(watched, "d", "e")  # another process
            assert _keys(events, 2) == ["d", "e"]
            assert running.ask("/collections/pets/search", {"query": "dog"}).status == 200
        numbers = [event["number"] for event in running.ask("/collections/pets/events").json["events"]]
        with _events(f"{running.url}{STREAM}?after={numbers[1]}") as events:
            assert _keys(events, 3) == ["c", "d", "e"]
        with _events(f"{running.url}{STREAM}?after=0", headers={"Last-Event-ID": str(numbers[3])}) as events:
            assert _keys(events, 1) == ["e"]
        wait_until(lambda: _open_streams(running) == 0)  # the clients have left
        with _events(running.url + STREAM) as one, _events(running.url + STREAM) as other:
            assert _keys(one, 5) == _keys(other, 5) == list("abcde")
            assert running.stop() == 0
            assert [list(one), list(other)] == [[], []]  # ended, not broken
    finally:
        running.stop()
    log = running.log.read_text()
    assert "Traceback" not in log
    assert "stopped" not in log


def test_streams_of_several_processes_follow_each_other(watched: Path, tmp_path: Path) -> None:
    running = RunningServer("-i", watched, "--processes", "2", log=tmp_path / "log")
    try:
        urls = [running.url + STREAM] * 4
        with _events(urls[0]) as a, _events(urls[1]) as b, _events(urls[2]) as c, _events(urls[3]) as d:
            for key in "xyz":
                _put(running, key)
                assert [_keys(one, 1) for one in (a, b, c, d)] == [[key]] * 4
    finally:
        assert running.stop() == 0


def test_what_is_no_stream_is_a_problem(watched: Path, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("a-secret-of-the-test\n")
    running = RunningServer("-i", watched, "--read-only", "--token-file", secret, log=tmp_path / "log")
    right = {"Authorization": "Bearer a-secret-of-the-test"}
    try:
        assert running.ask(STREAM).status == 401
        assert running.ask("/collections/other/events/stream", headers=right).status == 404
        for query in ("?after=-1", "?after=x", f"?after={2**63}", "?before=1"):
            assert running.ask(STREAM + query, headers=right).status == 422
        for number in ("-1", "x", str(2**63)):
            assert running.ask(STREAM, headers=right | {"Last-Event-ID": number}).status == 422
        head = running.ask(STREAM, headers=right, method="HEAD")
        assert (head.status, head.headers.get_content_type(), head.body) == (200, "text/event-stream", b"")
        with _events(running.url + STREAM, headers=right) as events:  # of a read-only server, from another process
            index_planes(watched, "a")
            assert _keys(events, 1) == ["a"]
    finally:
        assert running.stop() == 0


def test_the_number_of_streams_is_limited(watched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "_QUIET", 0.1)
    with pages_server({"pets": watched}, tmp_path, Limits(streams=2, seconds=0.3)) as pages:
        url = pages.url + STREAM
        with httpx.Client() as client, client.stream("GET", url) as one, client.stream("GET", url) as two:
            refused = client.get(url)
            assert (refused.status_code, refused.json()["title"]) == (429, "too many requests")
            assert refused.headers["retry-after"] == "5"
            assert client.get(f"{pages.url}/collections/pets").status_code == 200
            for answer in (one, two):  # nothing happens; a stream has no time limit
                comments = answer.iter_raw()
                assert [next(comments) for _ in range(6)] == [b":\n\n"] * 6
        wait_until(lambda: _status(url) == 200)  # the clients have left


class _Source:
    """A collection whose events are in a list; `reads` counts how often they were read."""

    name = "pets"

    def __init__(self, count: int) -> None:
        self.numbers, self.reads = list(range(1, count + 1)), 0
        self.fault: Exception | None = None

    def read(self, work: Callable[[Any], Any]) -> Any:
        self.reads += 1
        if self.fault:
            raise self.fault
        return work(SimpleNamespace(events=self._events))

    def _events(self, after: int, limit: int) -> list[Event]:
        return [Event(number, "w", f"d{number}", 0.0, 1) for number in self.numbers if number > after][:limit]

    def on_commit(self, listener: Callable[[], None]) -> None:
        self.listener = listener


def _numbers(frame: bytes) -> list[int]:
    return [int(line[4:]) for line in frame.decode().splitlines() if line.startswith("id: ")]


def test_streams_at_the_same_number_share_what_is_read() -> None:
    async def run() -> None:
        source, streams = _Source(2500), EventStreams(Limits())
        opened: list[Any] = [streams.after(source, 0).body_iterator for _ in range(50)]  # type: ignore[arg-type]
        for first, last in ((1, 1000), (1001, 2000), (2001, 2500)):
            frames = await asyncio.gather(*map(anext, opened))
            assert [_numbers(frame) for frame in frames] == [list(range(first, last + 1))] * 50
        waiting = [asyncio.ensure_future(anext(one)) for one in opened]
        await asyncio.sleep(0.1)
        reads = source.reads
        source.numbers.append(2501)
        source.listener()
        assert [_numbers(frame) for frame in await asyncio.gather(*waiting)] == [[2501]] * 50
        assert reads <= 4 < source.reads + 1 <= reads + 2
        streams.close()
        assert await asyncio.gather(*(anext(one, b"ended") for one in opened)) == [b"ended"] * 50

    asyncio.run(run())


def test_a_stream_ends_when_the_events_cannot_be_read(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        source, streams = _Source(1), EventStreams(Limits())
        stream: Any = streams.after(source, 0).body_iterator  # type: ignore[arg-type]
        assert _numbers(await anext(stream)) == [1]
        source.fault = OSError("no descriptor is left")
        assert await anext(stream, b"ended") == b"ended"
        streams.close()

    asyncio.run(run())
    assert "pets: a stream of events ends" in caplog.text
