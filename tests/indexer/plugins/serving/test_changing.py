"""Documents are added, replaced and removed over HTTP; what was acknowledged is durable and is searched soon."""

import asyncio
import json
import os
import signal
import threading
import time
from concurrent.futures import Future
from http.client import HTTPException
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from moverank import Collection, Document, Part
from moverank.indexer.plugins.serving.documents_api import _committed
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.values.documents import Changes
from tests.indexer.plugins.serving.conftest import THREADS, make_collection
from tests.indexer.plugins.serving.pages_world import pages_server
from tests.indexer.plugins.serving.running import RunningServer, descendants
from tests.waiting import HUNG, wait_until

pytestmark = pytest.mark.store


def test_a_document_is_put_found_replaced_and_deleted(writable: RunningServer) -> None:
    path = "/collections/pets/documents/new/one"
    reply = writable.ask(path, {"title": "Plane", "text": "a plane", "label": "air", "year": 1999}, method="PUT")
    assert (reply.status, reply.json["added"], reply.json["revision"]) == (200, 1, 2)
    writable.wait_for("pets", 2)
    hit = writable.ask("/collections/pets/search", {"query": "plane", "k": 1}).json["hits"][0]
    assert (hit["key"], hit["label"], hit["metadata"]) == ("new/one", "air", {"year": 1999})
    assert writable.ask(path, {"text": "an apple"}, method="PUT").json["updated"] == 1
    assert writable.ask(path, {"text": "an apple"}, method="PUT").json["unchanged"] == 1
    assert writable.ask(path, method="DELETE").json["removed"] == 1
    assert writable.ask(path, method="DELETE").status == 404
    assert writable.ask("/collections/pets/documents?where=year=2021", method="DELETE").json["removed"] == 1


def test_a_change_that_is_waited_for_is_searched(writable: RunningServer) -> None:
    """Without `wait`, a search at once finds the state before in most cases."""
    documents, search = "/collections/pets/documents", "/collections/pets/search"
    for number in range(4):
        words, line = f"plane{' apple' * number}", json.dumps({"id": "line", "text": f"{'river ' * (number + 1)}"})
        put = writable.ask(f"{documents}/new?wait=true", {"text": words}, method="PUT").json
        assert writable.ask(search, {"query": words, "k": 1}).json["revision"] >= put["revision"]
        assert writable.ask(search, {"query": words, "k": 1, "full": True}).json["hits"][0]["text"] == words
        assert writable.ask(f"{documents}?wait=true", line.encode()).json["added"] == 1
        assert writable.ask(search, {"query": "river", "k": 1}).json["hits"][0]["key"] == "line"
        assert writable.ask(f"{documents}?where=key=line&wait=true", method="DELETE").json["removed"] == 1
        assert writable.ask(search, {"query": "river", "k": 1}).json["hits"][0]["key"] != "line"
    assert writable.ask("/collections/pets/document?key=new&wait=true", method="DELETE").json["removed"] == 1
    assert "new" not in [hit["key"] for hit in writable.ask(search, {"query": "plane"}).json["hits"]]


@pytest.mark.parametrize(
    ("problem", "limits", "reason"),
    [
        ("", Limits(change_seconds=0.2), "the time for a change is over"),
        ("it hangs at a place of this machine", Limits(seconds=0.2), "the database does not answer"),
    ],
)
def test_a_change_that_is_not_made_in_time_is_not_waited_for(problem: str, limits: Limits, reason: str) -> None:
    writing = Future[Changes]()
    served: Any = SimpleNamespace(problem=problem, write=lambda _: writing)

    async def change() -> None:
        await _committed(served, lambda _: Changes(), limits)

    with pytest.raises(HttpProblem, match=reason) as caught:
        asyncio.run(change())
    assert caught.value.status_code == 504
    writing.set_result(Changes())  # not cancelled: it may still be made


def test_a_change_that_is_not_searched_in_time_is_reported_as_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.indexer.plugins.serving.served_collection.ServedCollection.refresh", lambda _: None)
    with pages_server({"pets": make_collection(tmp_path)}, Limits(seconds=1)) as server:
        path = f"{server.url}/collections/pets/documents/t2?wait=true"
        with pytest.raises(HTTPError) as caught, urlopen(Request(path, method="DELETE"), timeout=HUNG):  # noqa: S310
            pass
        with caught.value:
            assert caught.value.code == 504
            assert "the change was made, but is not searched yet" in caught.value.read().decode()
    with Collection.open(tmp_path / "pets.index") as collection:
        assert len(collection) == 3


def test_a_parameter_that_would_have_no_effect_is_refused(writable: RunningServer) -> None:
    for method, path, known in (
        ("PUT", "/documents/t1?wiat=true", ": choose wait"),
        ("DELETE", "/documents/t1?where=label=none", ": choose wait"),
        ("DELETE", "/documents?where=label=pets&limit=1", ": choose where, wait"),
        ("GET", "/documents?key=t1", ": choose where, first, limit"),
        ("POST", "/search?k=3", ""),
        ("GET", "?k=3", ""),
    ):
        reply = writable.ask(f"/collections/pets{path}", {"query": "dog", "text": "dog"}, method=method)
        assert reply.status == 422
        assert reply.json["detail"].endswith(f" is no parameter of this URL{known}")
    assert len(writable.ask("/collections/pets/documents").json["documents"]) == len(THREADS)


@pytest.mark.parametrize("record", [{"id": "other", "text": "a plane"}, {"key": 7, "parts": [{"text": "a plane"}]}])
def test_a_document_is_put_under_the_key_of_its_address(writable: RunningServer, record: dict[str, Any]) -> None:
    assert writable.ask("/collections/pets/documents/mine", record, method="PUT").json["added"] == 1
    writable.wait_for("pets", 2)
    stored = writable.ask("/collections/pets/documents/mine").json
    assert (stored["key"], stored["metadata"]) == ("mine", {})
    assert writable.ask("/collections/pets/documents/other").status == 404


def test_many_documents_are_added_or_none(writable: RunningServer) -> None:
    lines = [{"id": f"n{i}", "text": "red wine"} for i in range(50)] + [{"id": "th", "title": "Car", "comments": []}]
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    assert writable.ask("/collections/pets/documents", body).json["added"] == 51
    bad = writable.ask("/collections/pets/documents", body.replace(b"wine", b"bread") + b'{"id": "x"}\n')
    assert bad.status == 422
    assert "the body:52: there is no field for the text" in bad.json["detail"]
    writable.wait_for("pets", 2)
    assert writable.ask("/collections/pets").json["revision"] == 2
    assert writable.ask("/collections/pets/documents/n1").json["parts"] == [{"text": "red wine", "rank": 0}]
    for wrong, detail in (
        (b"", "the body is empty"),
        (b'{"text": "a"}\n', "a record needs a key"),
        (b"[1]", "JSON object"),
    ):
        reply = writable.ask("/collections/pets/documents", wrong)
        assert reply.status == 422
        assert detail in reply.json["detail"]


def test_a_read_only_server_changes_nothing(server: RunningServer) -> None:
    for path, method in (("/a", "PUT"), ("/a", "DELETE"), ("", "POST"), ("?where=year=1", "DELETE")):
        reply = server.ask(f"/collections/pets/documents{path}", {"text": "dog"}, method=method)
        assert (reply.status, reply.json["detail"]) == (403, "this server is read-only")


def test_changes_by_another_process_are_searched(writable: RunningServer, tmp_path: Path) -> None:
    with Collection.open(tmp_path / "pets.index") as collection:
        collection.index([Document("other", parts=(Part("blue river"),))])
    writable.wait_for("pets", 2)
    assert writable.ask("/collections/pets/search", {"query": "blue river", "k": 1}).json["hits"][0]["key"] == "other"


def test_a_killed_writer_is_replaced_and_one_without_a_server_ends(writable: RunningServer) -> None:
    path = "/collections/pets/documents/a"
    assert writable.ask(path, {"text": "red wine"}, method="PUT").status == 200
    first = descendants(writable.process.pid)
    os.kill(first[0], signal.SIGKILL)
    statuses = [writable.ask(path, {"text": f"red wine {number}"}, method="PUT").status for number in range(3)]
    assert statuses[-1] == 200
    assert set(statuses) <= {200, 503}
    second = descendants(writable.process.pid)
    assert len(second) == 1
    assert second != first
    writable.stop(signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{second[0]}").exists())


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    index = make_collection(tmp_path)
    running, acknowledged = RunningServer("-i", index, log=tmp_path / "log"), []

    def write(number: int) -> None:
        for i in range(20):
            key = f"w{number}-{i}"
            try:
                reply = running.ask(f"/collections/pets/documents/{key}", {"text": "dog river"}, method="PUT")
            except (OSError, HTTPException):
                return
            if reply.status == 200:
                acknowledged.append(key)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while len(acknowledged) < 10:
        threads[0].join(0.01)
    running.stop(signal.SIGKILL)
    for thread in threads:
        thread.join()
    with Collection.open(index) as collection:
        assert all(key in collection for key in acknowledged)


def test_a_signal_ends_running_requests_first(tmp_path: Path) -> None:
    running = RunningServer("-i", make_collection(tmp_path), log=tmp_path / "log")
    body = "".join(json.dumps({"id": f"n{i}", "text": "red wine"}) + "\n" for i in range(1000)).encode()
    replies = []
    thread = threading.Thread(target=lambda: replies.append(running.ask("/collections/pets/documents", body)))
    thread.start()
    while (
        'moverank_writes_waiting{collection="pets"} 1.0' not in running.ask("/metrics").body.decode()
        and thread.is_alive()
    ):
        time.sleep(0.01)
    assert running.stop(signal.SIGINT) == 0
    thread.join()
    assert replies[0].status == 200
    with Collection.open(tmp_path / "pets.index") as collection:
        assert len(collection) == 1004


@pytest.mark.parametrize("count", [8])
def test_many_clients_get_the_answer_of_one(server: RunningServer, count: int) -> None:
    body = {"query": "dog wine train", "k": 3}
    expected = server.ask("/collections/pets/search", body).json["hits"]
    answers: list[object] = []

    def ask() -> None:
        answers.extend(server.ask("/collections/pets/search", body).json["hits"] for _ in range(10))

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 10 * count
    assert all(answer == expected for answer in answers)
