"""Measures indexing 20 Newsgroups, now and in a git revision, in turns, and compares what both have written.

A run is a process. The import of the vectors is measured by indexing a single line with them, and subtracted. The same
command again finds every document unchanged; of that, the time of a second run on the single line is subtracted, which
is that of starting the program. `before / now` is the median of the ratios of the pairs of runs, since the speed of a
machine drifts; CPU adds up all threads, and is more reliable on a busy machine. All rows of both databases are
compared, but for the random tokens of revisions, and the files of both snapshots.
"""

import filecmp
import sqlite3
import statistics
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import Run, any_missed, real, rotated, show, show_table, vectors, verdict
from tests.benchmarks.revisions import comparing_parser, median_ratio, run_version, show_compared, versions

HEADS = ("20news, vectors imported", "before", "now", "before / now", "by CPU", "target", "")
RATIOS = {"indexing, s": 3.0, "all documents unchanged, s": 2.0}
"""Targets: the time before, divided by the time now."""
MEMORY = 1.5
"""Target: the peak memory now, divided by that before."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """The runs of one version on new collections: of a single line, and of all documents, each twice."""

    line: Run
    line_again: Run
    documents: Run
    documents_again: Run

    def times(self) -> list[tuple[float, float]]:
        """Return the seconds and the CPU seconds of indexing and of comparing all documents."""
        pairs = (self.documents, self.line), (self.documents_again, self.line_again)
        return [(long.seconds - short.seconds, long.cpu - short.cpu) for long, short in pairs]


def index(root: Path, documents: Path, directory: Path) -> Indexed:
    """Index a line and the documents, each twice, with the package below `root`; `directory` is for collections."""
    line = directory / "line.txt"
    line.write_text("a single line\n", encoding="utf-8")
    runs = [
        run_version(root, ["-m", "moverank", "index", path, "-i", directory / name, "--embedding", vectors(), "--json"])
        for path, name in ((line, "line"), (documents, "documents"))
        for _ in range(2)
    ]
    return Indexed(*runs)


_OLD_SETTINGS = ("tokenizer_version", "first_stage_in")


def rows(collection: Path) -> Iterator[tuple[Any, ...]]:
    """Yield every row of a collection's database, with the name of its table.

    The version of the schema is left out, the tokens of revisions, and settings that only earlier versions have.
    """
    with closing(sqlite3.connect(collection / "collection.db")) as database:
        for (table,) in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'alembic_version' ORDER BY name"
        ).fetchall():
            names = [name for _, name, *_ in database.execute(f'PRAGMA table_info("{table}")') if name != "token"]
            listed = ", ".join(f'"{name}"' for name in names)
            order = "name" if table == "sqlite_sequence" else "rowid"
            for row in database.execute(f'SELECT {listed} FROM "{table}" ORDER BY {order}'):  # noqa: S608 - our tables
                if row[0] not in _OLD_SETTINGS:
                    yield table, *row


def compare(before: Path, now: Path) -> int:
    """Return the number of rows of two collections; exit with the first that differ, or with files that do."""
    count = 0
    for old, new in zip(rows(before), rows(now), strict=True):
        count += 1
        if old != new:
            sys.exit(f"a row differs: {old!r}, {new!r}")
    first, second = (next(collection.glob("snapshot-*")) for collection in (before, now))
    common = {path.name for path in first.iterdir()} & {path.name for path in second.iterdir()}
    _, *others = filecmp.cmpfiles(first, second, common - {"meta.json"}, shallow=False)  # it has a random token
    if any(others):
        sys.exit(f"files of the snapshots differ: {others}")
    return count


def table(before: list[Indexed], now: list[Indexed]) -> list[list[object]]:
    """Return the rows of the table."""
    lines: list[list[object]] = []
    for part, (name, target) in enumerate(RATIOS.items()):
        old, new = ([one.times()[part] for one in each] for each in (before, now))
        ratio, by_cpu = (median_ratio([a[i] for a in old], [b[i] for b in new]) for i in (0, 1))
        seconds = (f"{statistics.median(time for time, _ in each):.2f}" for each in (old, new))
        lines.append([name, *seconds, f"{ratio:.2f}", f"{by_cpu:.2f}", f">= {target}", verdict(ratio >= target)])
    peaks = [statistics.median(one.documents.peak for one in each) / 2**20 for each in (before, now)]
    met = verdict(peaks[1] <= MEMORY * peaks[0])
    return [*lines, ["peak, MiB", *(f"{peak:.0f}" for peak in peaks), f"{peaks[0] / peaks[1]:.2f}", "", ">= 0.67", met]]


def main() -> None:
    """Print the table; exit with 1 if a target is missed."""
    parser = comparing_parser(__doc__)
    arguments = parser.parse_args()
    documents, compared = real("data", "20news", "docs.jsonl.gz"), 0
    with versions(arguments.before) as roots:
        runs: dict[str, list[Indexed]] = {version: [] for version in roots}
        for turn in range(arguments.pairs):
            with TemporaryDirectory() as directory:
                folders = {version: Path(directory, version) for version in roots}
                for version in rotated(list(roots), turn):
                    folders[version].mkdir()
                    runs[version].append(index(roots[version], documents, folders[version]))
                compared = compare(*(folder / "documents" for folder in folders.values()))
    lines = table(*runs.values())
    show_compared(arguments)
    show_table(HEADS, lines)
    show(f"{compared:,} rows of the databases are the same, and the files of the snapshots.")
    sys.exit(any_missed(lines))


if __name__ == "__main__":
    main()
