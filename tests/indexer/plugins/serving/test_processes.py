"""Several processes that answer at one address."""

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.indexer.plugins.serving.conftest import make_collection
from tests.indexer.plugins.serving.running import RunningServer, descendants
from tests.waiting import wait_until

_SEARCH = "/collections/pets/search"


def test_processes_answer_alike_share_their_counts_and_are_replaced(tmp_path: Path) -> None:
    index = make_collection(tmp_path)
    running = RunningServer("-i", index, "--processes", "2", log=tmp_path / "log")
    try:
        first = descendants(running.process.pid)
        assert len(first) == 2
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: running.ask(_SEARCH, {"query": "dog", "k": 2}).json["hits"], range(40)))
        assert all(answer == answers[0] for answer in answers)
        text = running.ask("/metrics").body.decode()
        counted = re.search(r'moverank_requests_total{.*{name}/search",status="200"} (\d+)', text)
        assert counted
        assert int(counted[1]) == 40
        assert 'moverank_revision{collection="pets"} 1.0' in text
        assert "moverank_resident_memory_bytes" in text
        assert running.ask("/collections/pets/documents/new", {"text": "dog"}, method="PUT").status == 200
        wait_until(lambda: all(running.ask("/collections/pets").json["revision"] == 2 for _ in range(20)))
        before = descendants(running.process.pid)  # with the process that writes
        os.kill(first[0], signal.SIGKILL)
        wait_until(lambda: first[0] not in descendants(running.process.pid))
        wait_until(lambda: set(descendants(running.process.pid)) - set(before))
        assert running.ask(_SEARCH, {"query": "dog"}).status == 200
    finally:
        assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


def test_processes_end_with_a_killed_parent(tmp_path: Path) -> None:
    running = RunningServer("-i", make_collection(tmp_path), "--processes", "2", log=tmp_path / "log")
    children = descendants(running.process.pid)
    running.stop(signal.SIGKILL)
    wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def test_a_missing_collection_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="there is no collection in"):
        RunningServer("-i", tmp_path / "none.index", "--processes", "2", log=tmp_path / "log")
    assert "Traceback" not in (tmp_path / "log").read_text()
