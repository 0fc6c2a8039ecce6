import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance import transport
from moverank.rerank.distance.cell_limit import limit_cells, most_cells, reserved_cells
from moverank.rerank.distance.explain import bounds_of, explain_distance
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.distance.transport import solve_vectors
from moverank.rerank.errors import OptionError, OutOfTime, TooLarge
from moverank.rerank.ranking import Distance
from moverank.rerank.runtime.deadline import stopping
from tests import naive
from tests.rerank.problems import make_vectors, make_weights

pytestmark = pytest.mark.slow

SHAPE = 1000, 1000

ATTACK = """
import re
from pathlib import Path
import numpy as np
from moverank import Collection, Document, Embedding, Part, Reranker, SearchOptions, Settings, TooLarge

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

words = [f"w{i:05}" for i in range(24000)]
vectors = np.random.default_rng(0).standard_normal((24000, 16)).astype(np.float32)
Path("words.bin").write_bytes(
    b"24000 16\\n" + b"".join(f"{word} ".encode() + row.tobytes() for word, row in zip(words, vectors, strict=True))
)
one, other, few = (" ".join(some) for some in (words[:12000], words[12000:], words[:40]))
texts = [few, *(" ".join(words[i : i + 50]) for i in range(0, 2000, 50))]
reranker = Reranker(Embedding.of(words, vectors))
reranker.rank(few, texts, k=3)
with Collection.create("made", Settings(embedding="words.bin")) as made:
    made.index([Document(str(i), "", (Part(text),)) for i, text in enumerate([*texts, other])])
    made.search(few, SearchOptions(k=3))
    before = peak()
    for work in (
        lambda: reranker.rank(one, [other]),
        lambda: reranker.rank(one, [other, *texts]),
        lambda: made.explain(one, key=str(len(texts))),
        lambda: made.why_not(one, key=str(len(texts))),
        lambda: made.search(one, SearchOptions(k=len(texts) + 1)),
    ):
        try:
            work()
        except TooLarge as error:
            assert "12,000 and 12,000 distinct words" in str(error)
            assert "144,000,000 cells" in str(error)
        else:
            raise SystemExit("not refused")
    # What needs no such distance is answered: the large document neither is near nor has to be compared.
    assert len(made.search(one, SearchOptions(k=2)).hits) == 2
    assert made.search(few, SearchOptions(k=len(texts) + 1)).certified
    assert reranker.rank(one, [other], rank="rwmd").certified
    print(peak() - before)
"""


@pytest.fixture(autouse=True)
def _limit_as_before() -> Iterator[None]:
    before = most_cells()
    yield
    limit_cells(before)


def test_no_limit_below_1() -> None:
    with pytest.raises(OptionError, match="must be 1 or more, not 0"):
        limit_cells(0)


def test_12000_words_against_12000_others_take_less_than_half_a_gigabyte(tmp_path: Path) -> None:
    """The exact distance would take 3 GB; 10 minutes are far more than all of them take."""
    run = [sys.executable, "-c", ATTACK]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 512


def _two(n: int, m: int) -> tuple[Bag, Bag, np.ndarray[tuple[int, int], np.dtype[np.float32]]]:
    """Return bags of `n` and `m` different words, and the vectors of all."""
    rng = np.random.default_rng(n)
    vectors = make_vectors(rng, n + m, 6, "normal", 1.0)
    one = Bag.of(np.arange(n), make_weights(rng, n, "normal"))
    return one, Bag.of(np.arange(n, n + m), make_weights(rng, m, "normal")), vectors


def test_the_limit_counts_words_that_only_one_text_has() -> None:
    one, other, vectors = _two(20, 30)
    query = QueryBag(one, vectors[one.words])
    limit_cells(20 * 30)
    exact = nearest(query, Bags.of([other]), vectors, 1).distances[0]
    assert exact == pytest.approx(naive.wmd(one, query.vectors, other, vectors), rel=1e-9)
    limit_cells(20 * 30 - 1)
    for work in (
        lambda: nearest(query, Bags.of([other]), vectors, 1),
        lambda: bounds_of(query, other, vectors),
        lambda: explain_distance(one, other, (query.vectors, vectors[other.words]), (["a"] * 20, ["b"] * 30)),
    ):
        with pytest.raises(TooLarge, match=r"20 and 30 distinct words.* 600 cells, and the limit is 599; shorten"):
            work()
    assert nearest(query, Bags.of([one]), vectors, 1).distances[0] == 0  # no word has to move


@pytest.mark.parametrize("distance", ["wmd", "rwmd", "cover", "chamfer"])
def test_a_document_beyond_the_limit_is_searched_past_unless_it_is_needed(distance: Distance) -> None:
    rng = np.random.default_rng(7)
    vectors = make_vectors(rng, 300, 6, "normal", 1.0)
    vectors[200:] += 9  # the words of the long document are far from all others
    bags = [Bag.of(rng.choice(200, 8, replace=False), np.ones(8)) for _ in range(40)]
    bags.insert(5, Bag.of(np.arange(200, 300), np.ones(100)))
    query = QueryBag(bags[0], vectors[bags[0].words])
    expected = nearest(query, Bags.of(bags), vectors, 41, distance)
    limit_cells(8 * 20)
    found = nearest(query, Bags.of(bags), vectors, 10, distance)
    assert found.rows.tolist() == expected.rows[:10].tolist()
    assert found.distances.tolist() == pytest.approx(expected.distances[:10].tolist(), rel=1e-12)
    if distance == "wmd":
        with pytest.raises(TooLarge, match="8 and 100 distinct words"):
            nearest(query, Bags.of(bags), vectors, 41, distance)
    else:  # computed in portions
        assert nearest(query, Bags.of(bags), vectors, 41, distance).rows.tolist() == expected.rows.tolist()


def test_a_plan_that_is_summed_in_portions_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, vectors = _two(90, 70)
    whole = solve_vectors(one.weights, other.weights, vectors[:90], vectors[90:])
    monkeypatch.setattr(transport, "_PORTION", 200)
    portions = solve_vectors(one.weights, other.weights, vectors[:90], vectors[90:])
    assert portions.distance == pytest.approx(whole.distance, rel=1e-14)
    np.testing.assert_array_equal(portions.mass, whole.mass)


def test_threads_wait_until_there_is_room_for_their_cells() -> None:
    limit_cells(2_500_000)
    together, most, lock = 0, 0, threading.Lock()

    def work() -> None:
        nonlocal together, most
        for _ in range(20):
            with reserved_cells(*SHAPE):
                with lock:
                    together += 1
                    most = max(most, together)
                threading.Event().wait(0.001)
                with lock:
                    together -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (together, most) == (0, 2)


def test_a_thread_that_waits_for_room_ends_when_its_work_has_to() -> None:
    limit_cells(1_500_000)
    reserved, done, ended = threading.Event(), threading.Event(), list[type]()

    def hold() -> None:
        with reserved_cells(*SHAPE):
            reserved.set()
            done.wait(60)

    def wait() -> None:
        try:
            with stopping(lambda: True), reserved_cells(*SHAPE):
                pass
        except OutOfTime as error:
            ended.append(type(error))

    holder, waiter = threading.Thread(target=hold), threading.Thread(target=wait)
    holder.start()
    assert reserved.wait(60)
    waiter.start()
    waiter.join(60)
    done.set()
    holder.join(60)
    assert ended == [OutOfTime]
    with reserved_cells(*SHAPE):  # nothing is left reserved
        pass
