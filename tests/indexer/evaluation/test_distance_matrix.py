import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from moverank.indexer.evaluation import distance_matrix
from moverank.indexer.reranking.counted_texts import Texts
from tests.indexer.evaluation.ranked import ranked


def test_processes_compute_the_same_distances(pool: Texts, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ranked("wmd", pool, pool)
    monkeypatch.setattr(distance_matrix, "MANY", 0)
    monkeypatch.setattr(distance_matrix, "core_count", lambda: 2)
    assert np.array_equal(ranked("wmd", pool, pool), expected)


def test_the_number_of_distances_is_reported_before_a_long_run(
    pool: Texts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ranked("wmd", pool, pool)
    assert caplog.messages == []
    monkeypatch.setattr(distance_matrix, "LONG", 1)
    ranked("wmd", pool, pool)
    n = len(pool) - 1  # one has no word with a vector
    assert caplog.messages == [f"{n * (n + 1) // 2:,} distances by WMD are to be computed"]


_KILLED = """
import multiprocessing, os, signal
import numpy as np
from moverank.indexer.evaluation import distance_matrix
from moverank.rerank.bags.bag import Bag, Bags

if __name__ == "__main__":
    distance_matrix.core_count = lambda: 2
    bags = Bags.of([Bag(np.array([0], np.int32), np.ones(1))])
    with distance_matrix._solver((bags, bags, np.ones((1, 2), np.float32)), distance_matrix.MANY) as solve:
        list(solve("wmd", [(0, np.array([0]))] * 4))
        print(*[child.pid for child in multiprocessing.active_children()], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def _ended(pid: str) -> bool:
    """Return whether a process is gone, or a zombie."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_killed_process_leaves_no_workers_behind(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(_KILLED)
    killed = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, check=False)
    children = killed.stdout.decode().split()
    assert children
    deadline = time.monotonic() + 60
    while not all(map(_ended, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert all(map(_ended, children))
