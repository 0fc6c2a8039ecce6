"""Measures `moverank check` now and in a git revision, in turns, each on a collection that this version has made.

A run is a process. That of a collection of a single line is subtracted, which is that of starting the program. The
collection is 20 Newsgroups, or with `--documents` that many synthetic documents. `now / before` is the median of the
ratios of the pairs of runs, since the speed of a machine drifts; CPU adds up all threads, and is more reliable on a
busy machine. That damage is found is tested by `damage.py`, and by the tests of maintenance.
"""

import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import Run, any_missed, real, show_table, vectors, verdict
from tests.benchmarks.revisions import comparing_parser, in_turns, median_ratio, run_version, show_compared, versions
from tests.benchmarks.synthetic_documents import SyntheticDocuments, write_json_lines

HEADS = ("moverank check", "before", "now", "now / before", "target", "")
SHARE = 0.5
"""Target: CPU seconds now, divided by those before."""


def create(root: Path, documents: Path, collection: Path) -> None:
    """Index documents with the package below `root`."""
    run_version(root, ["-m", "moverank", "index", documents, "-i", collection, "--embedding", vectors(), "--json"])


def check(root: Path, collection: Path) -> Run:
    """Check a collection with the package below `root`; exit if anything is wrong."""
    return run_version(root, ["-m", "moverank", "check", "-i", collection])


def main() -> None:
    """Print the table; exit with 1 if the target is missed."""
    parser = comparing_parser(__doc__)
    parser.add_argument("--documents", type=int, help="synthetic documents (20 Newsgroups)")
    arguments = parser.parse_args()
    with TemporaryDirectory() as directory, versions(arguments.before) as roots:
        line, documents = Path(directory, "line.txt"), real("data", "20news", "docs.jsonl.gz")
        line.write_text("a single line\n", encoding="utf-8")
        if arguments.documents:
            texts = SyntheticDocuments(1).texts(arguments.documents)
            documents = write_json_lines(Path(directory, "documents.jsonl"), "synthetic", texts)
        for version, root in roots.items():
            create(root, line, Path(directory, f"{version}-line"))
            create(root, documents, Path(directory, version))

        def both(version: str, _: int) -> list[Run]:
            return [check(roots[version], Path(directory, f"{version}{end}")) for end in ("", "-line")]

        before, now = in_turns(roots, range(arguments.pairs), both)
    rows: list[list[object]] = []
    for name in ("cpu", "seconds"):
        old, new = ([getattr(long, name) - getattr(short, name) for long, short in each] for each in (before, now))
        share = median_ratio(new, old)
        target = (f"<= {SHARE}", verdict(share <= SHARE)) if name == "cpu" else ("", "")
        label = "CPU, s" if name == "cpu" else "s"
        rows.append([label, f"{statistics.median(old):.2f}", f"{statistics.median(new):.2f}", f"{share:.2f}", *target])
    peaks = [statistics.median(long.peak for long, _ in each) / 2**20 for each in (before, now)]
    rows.append(["peak, MiB", *(f"{peak:.0f}" for peak in peaks), f"{peaks[1] / peaks[0]:.2f}", "", ""])
    show_compared(arguments)
    show_table(HEADS, rows)
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
