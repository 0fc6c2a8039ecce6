"""Shows what a full disk leaves: the same work again and again, each time with a little more room, until it succeeds.

As root, the room is a small file system in memory that grows by 4 KiB each time, so that every write fails in turn.
Else (or with --limit) no file may grow beyond a length, which grows. Afterwards there is room again: the collection
must hold what it held before, or all of the change; find what a new collection of the same documents finds; and there
must be no temporary file. What failed must have been said in one sentence.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.hard_life import answers, documents, forked, from_scratch, made, prepare  # isort: split

from moverank import Collection, Document, IndexerError
from moverank.indexer.maintenance.backup import backup
from tests.benchmarks.common import show_table, verdict
from tests.indexer.world import Workshop

_FIRST = 40
_PAGE = 4096
HEADS = ("work", "tries", "failed", "in one sentence", "wrong afterwards", "left over", "")

BEFORE = documents(range(_FIRST), 0)
AFTER = documents(range(_FIRST, 3 * _FIRST), 1)


def change(place: Path) -> None:
    """Add documents."""
    with Collection.open(place) as collection:
        collection.index(AFTER)


def take(place: Path) -> None:
    """Remove documents."""
    with Collection.open(place) as collection:
        collection.remove([f"d{i}" for i in range(0, _FIRST, 2)])


def fit(place: Path) -> None:
    """Write the snapshot again."""
    with Collection.open(place) as collection:
        collection.refit()


def copy(place: Path) -> None:
    """Make a backup beside the collection."""
    backup(place, place / "copy")


def create(place: Path) -> None:
    """Make a new collection beside it."""
    Collection.create(place / "other", Workshop(place.parent).settings()).close()


WORK: dict[str, tuple[Callable[[Path], None], list[Document]]] = {
    "index": (change, [*BEFORE, *AFTER]),
    "remove": (take, [found for i, found in enumerate(BEFORE) if i % 2]),
    "refit": (fit, BEFORE),
    "backup": (copy, BEFORE),
    "create": (create, BEFORE),
}


def tried(work: Callable[[Path], None], place: Path, limit: int) -> str:
    """Work with little room, and return how it went."""
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        work(place)
    except (IndexerError, OSError) as error:
        return f"refused {'sentence' if len(str(error).splitlines()) == 1 else repr(error)}"
    return "done"


def judge(place: Path, empty: Path, could_be: list[list[Document]]) -> str:
    """Return what is wrong with what is left."""
    left = [path.name for path in place.iterdir() if path.name.startswith((".", "new-", "lock.owner"))]
    with Collection.open(place) as collection:
        found = answers(collection)
    if found not in [from_scratch(empty, state) for state in could_be]:
        return "wrong"
    return f"left {left}" if left else ""


@contextmanager
def room(folder: Path, base: Path, size: int) -> Iterator[Path]:
    """Give a copy of a collection on a file system with `size` bytes to spare; afterwards it has more."""
    folder.mkdir(exist_ok=True)
    used = sum(-(-path.stat().st_size // _PAGE) * _PAGE for path in base.rglob("*"))
    _run("mount", "-t", "tmpfs", "-o", f"size={used + size}", "tmpfs", str(folder))
    try:
        yield shutil.copytree(base, folder / "c")
    finally:
        _run("umount", str(folder))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def once(name: str, folder: Path, base: Path, empty: Path, size: int, *, limit: bool) -> tuple[str, str]:
    """Work with `size` bytes of room; return how it went, and what is wrong afterwards."""
    work, after = WORK[name]
    if limit:
        place = shutil.copytree(base, folder / "c")
        went = forked(lambda: tried(work, place, size))
        said = forked(lambda: judge(place, empty, [BEFORE, after]))
        shutil.rmtree(place)
        return went, said
    with room(folder / "room", base, size) as place:
        went = forked(lambda: tried(work, place, 0))
        _run("mount", "-o", "remount,size=200m", str(folder / "room"))
        return went, forked(lambda: judge(place, empty, [BEFORE, after]))


def swept(name: str, folder: Path, base: Path, empty: Path, step: int, *, limit: bool) -> list[object]:
    """Do one kind of work with ever more room until it succeeds, and return its row."""
    tally: Counter[str] = Counter()
    size = step
    while not tally["done"] and size < 2_000_000:
        went, said = once(name, folder, base, empty, size, limit=limit)
        tally[went.split(" ")[0]] += 1
        tally["sentence"] += went == "refused sentence"
        tally["wrong"] += said.startswith(("wrong", "!")) or went.startswith("!")
        tally["left"] += said.startswith("left")
        if said or went.startswith("!"):
            sys.stderr.write(f"{name}, {size} bytes: {went} {said}\n")
        size += step
    good = tally["done"] and tally["sentence"] == tally["refused"] and not tally["wrong"] + tally["left"]
    counts = [tally["refused"] + tally["done"], tally["refused"], tally["sentence"], tally["wrong"], tally["left"]]
    return [name, *counts, verdict(bool(good))]


def main() -> None:
    """Print a row for each kind of work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=_PAGE, help="how much the room grows each time (4096)")
    parser.add_argument("--limit", action="store_true", help="limit the length of files instead of the disk")
    parser.add_argument("--work", choices=WORK, help="only this kind")
    given = parser.parse_args()
    prepare()
    with TemporaryDirectory() as name:
        folder = Path(name)
        base, empty = made(folder, "base", BEFORE), made(folder, "empty", [])
        limit = given.limit or os.geteuid() != 0
        names = [given.work] if given.work else list(WORK)
        rows = [swept(kind, folder, base, empty, given.step, limit=limit) for kind in names]
    show_table(HEADS, rows)
    sys.exit(any(row[-1] != "ok" for row in rows))


if __name__ == "__main__":
    main()
