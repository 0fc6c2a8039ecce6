"""Checks what a full disk leaves: an operation is repeated, each time with a little more space, until it succeeds.

As root, the collection is on a small file system in memory which grows by 4 KiB each time, so that every write fails
once. Otherwise (or with --limit) the size of files is limited, by a limit which grows. Afterwards space is available
again: the collection must have its previous state or all of the change, return what a new collection of the same
documents returns, and contain no temporary file. The error must be one sentence.
"""

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

from tests.benchmarks.small_collection import (  # isort: split
    answers,
    answers_from_scratch,
    create,
    documents,
    prepare,
    temporary_files,
)

from moverank import Collection, Document, IndexerError
from moverank.indexer.maintenance.backup import back_up
from tests.benchmarks.child_process import FAILED, run_in_child
from tests.benchmarks.common import any_missed, argument_parser, show_table, verdict
from tests.indexer.world import CollectionFactory

_FIRST = 40
_PAGE = 4096
_MOST = 2_000_000  # bytes with which every operation succeeds
HEADS = ("operation", "attempts", "failed", "in one sentence", "wrong afterwards", "files left", "")

BEFORE = documents(range(_FIRST), 0)
ADDED = documents(range(_FIRST, 3 * _FIRST), 1)


def index(path: Path) -> None:
    """Add documents."""
    with Collection.open(path) as collection:
        collection.index(ADDED)


def remove(path: Path) -> None:
    """Remove documents."""
    with Collection.open(path) as collection:
        collection.remove([f"d{i}" for i in range(0, _FIRST, 2)])


def refit(path: Path) -> None:
    """Write a new snapshot."""
    with Collection.open(path) as collection:
        collection.refit()


def make_backup(path: Path) -> None:
    """Make a backup on the same file system."""
    back_up(path, path / "copy")


def create_another(path: Path) -> None:
    """Create another collection on the same file system."""
    Collection.create(path / "other", CollectionFactory(path.parent).settings()).close()


OPERATIONS: dict[str, tuple[Callable[[Path], None], list[Document]]] = {
    "index": (index, [*BEFORE, *ADDED]),
    "remove": (remove, [one for i, one in enumerate(BEFORE) if i % 2]),
    "refit": (refit, BEFORE),
    "backup": (make_backup, BEFORE),
    "create": (create_another, BEFORE),
}
"""The operations, with the documents after success."""


def attempt(operation: Callable[[Path], None], path: Path, limit: int) -> str:
    """Run an operation with files of at most `limit` bytes, 0 for no limit; return "done", or "refused" and how."""
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        operation(path)
    except (IndexerError, OSError) as error:
        return f"refused {'sentence' if len(str(error).splitlines()) == 1 else repr(error)}"
    return "done"


def fault(path: Path, empty: Path, valid: list[list[Document]]) -> str:
    """Return what is wrong with a collection, "" for nothing: it must be in one of the `valid` states.

    `empty` is a collection without documents.
    """
    left = temporary_files(path)
    with Collection.open(path) as collection:
        results = answers(collection)
    if results not in [answers_from_scratch(empty, state) for state in valid]:
        return "wrong"
    return f"left {left}" if left else ""


@contextmanager
def small_file_system(folder: Path, base: Path, size: int) -> Iterator[Path]:
    """Mount a file system with a copy of a collection and `size` free bytes, and return the path of the copy."""
    folder.mkdir(exist_ok=True)
    used = sum(-(-path.stat().st_size // _PAGE) * _PAGE for path in base.rglob("*"))
    _run("mount", "-t", "tmpfs", "-o", f"size={used + size}", "tmpfs", str(folder))
    try:
        yield shutil.copytree(base, folder / "c")
    finally:
        _run("umount", str(folder))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def attempt_once(name: str, base: Path, empty: Path, size: int, *, limit: bool) -> tuple[str, str]:
    """Run the operation `name` on a copy of `base` with `size` free bytes.

    `limit`: limit the size of files instead of the disk. Returns the outcomes of `attempt` and `fault`.
    """
    operation, after = OPERATIONS[name]
    if limit:
        path = shutil.copytree(base, base.with_name("c"))
        outcome = run_in_child(lambda: attempt(operation, path, size))
        problem = run_in_child(lambda: fault(path, empty, [BEFORE, after]))
        shutil.rmtree(path)
        return outcome, problem
    folder = base.with_name("mounted")
    with small_file_system(folder, base, size) as path:
        outcome = run_in_child(lambda: attempt(operation, path, 0))
        _run("mount", "-o", "remount,size=200m", str(folder))
        return outcome, run_in_child(lambda: fault(path, empty, [BEFORE, after]))


def row(name: str, base: Path, empty: Path, step: int, *, limit: bool) -> list[object]:
    """Repeat an operation with `step` more bytes each time until it succeeds, and return its row."""
    tally: Counter[str] = Counter()
    size = step
    while not tally["done"] and size < _MOST:
        outcome, problem = attempt_once(name, base, empty, size, limit=limit)
        tally[outcome.split(" ")[0]] += 1
        tally["sentence"] += outcome == "refused sentence"
        tally["wrong"] += problem.startswith(("wrong", FAILED)) or outcome.startswith(FAILED)
        tally["left"] += problem.startswith("left")
        if problem or outcome.startswith(FAILED):
            sys.stderr.write(f"{name}, {size} bytes: {outcome} {problem}\n")
        size += step
    good = tally["done"] and tally["sentence"] == tally["refused"] and not tally["wrong"] + tally["left"]
    counts = [tally["refused"] + tally["done"], tally["refused"], tally["sentence"], tally["wrong"], tally["left"]]
    return [name, *counts, verdict(bool(good))]


def main() -> None:
    """Print a row for each operation; exit with 1 if one has a fault."""
    parser = argument_parser(__doc__)
    parser.add_argument("--step", type=int, default=_PAGE, help="bytes by which the space grows each time (4096)")
    parser.add_argument("--limit", action="store_true", help="limit the size of files instead of the disk")
    parser.add_argument("--work", choices=OPERATIONS, help="run only this operation")
    arguments = parser.parse_args()
    prepare()
    limit = arguments.limit or os.geteuid() != 0
    with TemporaryDirectory() as name:
        base, empty = create(Path(name), "base", BEFORE), create(Path(name), "empty", [])
        names = [arguments.work] if arguments.work else list(OPERATIONS)
        rows = [row(operation, base, empty, arguments.step, limit=limit) for operation in names]
    show_table(HEADS, rows)
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
