"""What the scripts about crashes and damage share: a small made collection, and work done in processes of its own.

Import this first: a process with threads of its own must not be forked.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"

import contextlib
import faulthandler
import logging
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, Document
from moverank.indexer.snapshot import compaction
from tests.indexer.world import WORDS, Workshop, document

QUERIES = ("ant bee cat", "dog elk fox gnu", "hen ibis", "jay kiwi lark ant")
PATIENCE = 600.0  # a process may be held up by others for minutes; a hang is longer


def prepare() -> None:
    """Let every change end in a new snapshot, and notes go nowhere."""
    compaction.SMALL_TAIL = 3
    logging.getLogger("moverank").addHandler(logging.NullHandler())


def text(i: int, turn: int) -> str:
    """Return the text of document i in a turn: other words in another turn."""
    n = len(WORDS)
    return " ".join(WORDS[(i * step + turn * (1 + i % 5)) % n] for step in (1, 3, 5, 7))


def documents(numbers: Sequence[int], turn: int) -> list[Document]:
    """Return documents as they are in a turn, which their titles name."""
    return [document(f"d{i}", text(i, turn), text(i + 1, turn), title=str(turn)) for i in numbers]


def answers(collection: Collection) -> list[list[tuple[str, float]]]:
    """Return what a collection finds, by every stage, to be compared with another's."""
    found = []
    for query in QUERIES:
        for options in ({"k": 200}, {"k": 5, "depth": 9}):
            hits = collection.search(query, **options).hits  # type: ignore[arg-type]  # options by name
            found.append(sorted((hit.key, round(hit.distance, 9)) for hit in hits) if "depth" not in options else [])
            nearest = [round(hit.distance, 9) for hit in hits]
            found[-1].append(("sorted", float(nearest == sorted(nearest))))
    return found


def from_scratch(empty: Path, state: Sequence[Document]) -> list[list[tuple[str, float]]]:
    """Return what a new collection of the same documents finds; `empty` is one without any."""
    place = empty.with_name(f"scratch-{os.getpid()}")
    shutil.copytree(empty, place)
    try:
        with Collection.open(place) as collection:
            collection.index(state)
            return answers(collection)
    finally:
        shutil.rmtree(place)


def made(folder: Path, name: str, state: Sequence[Document]) -> Path:
    """Make a collection of documents in a folder, and return its place."""
    return Path(forked(lambda: _made(folder, name, state)))


def _made(folder: Path, name: str, state: Sequence[Document]) -> str:
    workshop = Workshop(folder)
    with Collection.create(folder / name, workshop.settings()) as collection:
        collection.index(state)
    return str(folder / name)


def forked(work: Callable[[], str], patience: float = PATIENCE) -> str:
    """Do some work in a process of its own, and return what it says; what went wrong begins with "!"."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            os.close(read)
            faulthandler.dump_traceback_later(0.8 * patience)  # where it hangs, if it does
            said = _said(work)
            os.write(write, said.encode()[:60_000])
        os._exit(0)
    os.close(write)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, patience)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    signal.setitimer(signal.ITIMER_REAL, 0)
    _, status = os.waitpid(child, 0)
    return said if status == 0 else f"! it was killed after {patience} s, or fell over: {status}"


def _said(work: Callable[[], str]) -> str:
    try:
        return work()
    except BaseException:  # noqa: BLE001 - told, whatever it is
        return f"! {traceback.format_exc(limit=-6)}"


def killed(work: Callable[[Callable[[str], None]], None], after: float) -> list[str]:
    """Do some work in a process of its own, kill that after some seconds, and return what it had acknowledged."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            os.close(read)
            _tell(write, _said(lambda: _for_ever(work, write)))
        os._exit(0)
    os.close(write)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read().decode()
    os.waitpid(child, 0)
    return told.splitlines()


def _for_ever(work: Callable[[Callable[[str], None]], None], descriptor: int) -> str:
    work(lambda line: _tell(descriptor, line))
    while True:  # all done before the kill
        signal.pause()


def _tell(descriptor: int, line: str) -> None:
    os.write(descriptor, f"{line}\n".encode())
