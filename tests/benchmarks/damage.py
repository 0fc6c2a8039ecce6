"""Checks that damage is detected: flipped bits, overwritten bytes and truncation in all regions of all derived files.

Each sample damages one file of a fresh copy of a small collection: of the snapshot, of what searches cache of it, or of
the word vectors. Damage is detected if a search reports it (by a logged note, or by an error for word vectors) or, of
what is cached, replaces it, and if `check` does. A search that succeeds must return what it returned before.
"""

import logging
import random
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.small_collection import answers, create, documents, prepare  # isort: split

from moverank import Collection, IndexerError
from moverank.indexer.files.directory import CACHED, remove_cached
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.maintenance.check_snapshot import is_cache_intact
from tests.benchmarks.child_process import FAILED, run_in_child
from tests.benchmarks.common import any_missed, argument_parser, show, show_table, verdict
from tests.indexer.world import WORDS

HEADS = ("file", "samples", "detected by search", "detected by check", "wrong results", "")
_REGIONS = 8


class LogRecorder(logging.Handler):
    """Records the messages that the library logs."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Record a message."""
        self.messages.append(record.getMessage())


def damage(path: Path, region: int, rng: random.Random) -> None:
    """Flip a bit, overwrite bytes, or truncate, at a random position in one of the regions of a file."""
    data = bytearray(path.read_bytes())
    position = min(len(data) - 1, int((region % _REGIONS + rng.random()) * len(data) / _REGIONS))
    kind = rng.choice(["flip", "overwrite", "truncate"])
    if kind == "flip":
        data[position] ^= 1 << rng.randrange(8)
    elif kind == "overwrite":
        end = min(len(data), position + rng.randrange(1, 200))
        data[position:end] = bytes(byte ^ 0x5A for byte in data[position:end])
    else:
        del data[position:]
    path.write_bytes(data)


def examine(path: Path, expected: str, file: Path) -> str:
    """Search a collection with a damaged `file`, and check it.

    Returns three flags: detected by search, detected by check, and results other than `expected`.
    """
    recorder = LogRecorder()
    logging.getLogger("moverank").addHandler(recorder)
    checked = bool(check_collection(path).sentences())
    try:
        with Collection.open(path) as collection:
            wrong = search_all(collection) != expected
            searched = is_cache_intact(file) if _is_cached(file) else bool(recorder.messages)
    except IndexerError:
        wrong, searched = False, True
    return f"{int(searched)} {int(checked)} {int(wrong)}"


def _is_cached(file: Path) -> bool:
    return file.name.startswith(CACHED)


def search_all(collection: Collection) -> str:
    """Return results of searches which read every file: by another gamma, with every word, and by a scorer."""
    searches = (
        collection.search("ant bee", k=200, gamma=3.0),
        collection.search(" ".join(WORDS), k=200),
        collection.search("ant bee", k=200, distance="bm25"),
    )
    results = [[(hit.key, round(hit.distance, 9)) for hit in ranking.hits] for ranking in searches]
    return repr((answers(collection), results, collection.coverage))


def intact_results(path: Path) -> str:
    """Return the results of the undamaged collection."""
    with Collection.open(path) as collection:
        return search_all(collection)


def main() -> None:
    """Print a row for each file; exit with 1 if damage was not detected, or a result is wrong."""
    parser = argument_parser(__doc__)
    parser.add_argument("--samples", type=int, default=200, help="number of damaged copies (200)")
    parser.add_argument("--seed", type=int, default=0, help="of the damage (0)")
    arguments = parser.parse_args()
    prepare()
    rng = random.Random(arguments.seed)  # noqa: S311 - a sample, no secret
    tally: dict[str, list[int]] = {}
    with TemporaryDirectory() as name:
        base = create(Path(name), "base", documents(range(40), 0))
        expected = run_in_child(lambda: intact_results(base))
        every = sorted(path for path in base.rglob("*") if path.is_file() and (path.parent != base or _is_cached(path)))
        files = [path for path in every if path.stat().st_size]  # an array may be empty
        rng.shuffle(files)  # few samples are of other files for each seed
        for sample in range(arguments.samples):
            copy = shutil.copytree(base, base.with_name("sample"))
            file = files[sample % len(files)].relative_to(base)
            if not _is_cached(file):
                remove_cached(copy)  # else the files that it was computed from are not read
            elif file.name != f"{CACHED}coverage.json":
                (copy / f"{CACHED}coverage.json").unlink()  # it is computed from another cache
            damage(copy / file, sample % len(files) + sample // len(files), rng)
            flags = run_in_child(lambda copy=copy, file=file: examine(copy, expected, copy / file))  # type: ignore[misc]  # mypy infers no type
            if flags.startswith(FAILED):
                sys.stderr.write(f"{file}: {flags}\n")
                flags = "0 0 1"
            folder = f"{file.parent.name.split('-')[0]}/".lstrip("/")
            counts = tally.setdefault(f"{folder}{file.name}", [0, 0, 0, 0])
            for i, count in enumerate((1, *map(int, flags.split()))):
                counts[i] += count
            shutil.rmtree(copy)
    rows = [[file, *counts, verdict(counts[:3] == [counts[0]] * 3 and not counts[3])] for file, counts in tally.items()]
    show_table(HEADS, rows)
    total = [sum(counts[i] for counts in tally.values()) for i in range(4)]
    show(f"{total[0]} samples: {total[1]} detected by search, {total[2]} by check, {total[3]} wrong results")
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
