"""Measures indexing 20 Newsgroups and searching it by the command, as whole processes.

The import of the vectors is measured by indexing a single line with them, and subtracted from the time of indexing all
documents. The second run repeats the same command, and finds every document unchanged. Memory is the peak resident set.
`CPU` adds up all threads, and is more reliable on a busy machine.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import (
    Run,
    argument_parser,
    median,
    median_cpu,
    real,
    run,
    show,
    show_table,
    span,
    vectors,
    verdict,
)

QUERIES = (
    "how do I mount a second hard disk under DOS",
    "the space shuttle launch was delayed by weather",
    "which goalie will win the cup this season",
    "encryption keys held by the government",
    "my car makes a rattling noise when I brake",
    "X window server crashes when the font is missing",
    "is there evidence for the resurrection",
    "doctor prescribed antibiotics for a sinus infection",
    "used motorcycle helmet for sale, shipping included",
    "gun control laws and the right to bear arms",
)
DOCUMENTS = 18_846
HEADS = ("20news, whole processes", "measured", "CPU", "target", "")


def indexing_rows(documents: Path, directory: Path) -> list[list[object]]:
    """Import the vectors, index a file of documents, index it again, and return the rows; `directory` is for files."""
    single, options = directory / "single.txt", ("--embedding", vectors(), "--json")
    single.write_text("a single line\n", encoding="utf-8")
    imported = run("index", single, "-i", directory / "single", *options)
    first = run("index", documents, "-i", directory / "NG", *options)
    second = run("index", documents, "-i", directory / "NG", *options)
    added, unchanged = first.objects[0]["added"], second.objects[0]["unchanged"]
    rate, cpu_rate = added / (first.seconds - imported.seconds), added / (first.cpu - imported.cpu)
    ratio, cpu_ratio = second.seconds / first.seconds, second.cpu / first.cpu
    gib = first.peak / 2**30
    return [
        ["import of the vectors, s", f"{imported.seconds:.2f}", f"{imported.cpu:.2f}", "", ""],
        ["first run, s", f"{first.seconds:.2f}", f"{first.cpu:.2f}", "", ""],
        ["documents added", added, "", DOCUMENTS, verdict(added == DOCUMENTS)],
        ["documents/s after the import", f"{rate:,.0f}", f"{cpu_rate:,.0f}", ">= 1,500", verdict(rate >= 1500)],
        ["peak memory, GiB", f"{gib:.2f}", "", "< 1.5", verdict(gib < 1.5)],
        ["second run, s", f"{second.seconds:.2f}", f"{second.cpu:.2f}", "", ""],
        ["documents unchanged", unchanged, "", DOCUMENTS, verdict(unchanged == DOCUMENTS)],
        ["second run / first run", f"{ratio:.3f}", f"{cpu_ratio:.3f}", "< 0.25", verdict(ratio < 0.25)],
    ]


def command_rows(collection: Path, repeats: int) -> list[list[object]]:
    """Run `search` and `--help` several times, and return the rows."""
    run("search", QUERIES[0], "-i", collection)  # pays for what is compiled once and then cached
    searches = [run("search", QUERIES[i % len(QUERIES)], "-i", collection) for i in range(repeats)]
    helps = [run("--help") for _ in range(repeats)]
    return [median_row("moverank search", searches, 2.5), median_row("moverank --help", helps, 0.3)]


def median_row(name: str, runs: list[Run], target: float) -> list[object]:
    """Return the row of the runs of a command, whose median should be below the target."""
    seconds = median(runs)
    name = f"{name}, median of {len(runs)} ({span(runs)}), s"
    return [name, f"{seconds:.2f}", f"{median_cpu(runs):.2f}", f"< {target}", verdict(seconds < target)]


def main() -> None:
    """Print a row for each figure."""
    parser = argument_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=10, help="runs of `search` and of `--help` (10)")
    repeats = parser.parse_args().repeats
    with TemporaryDirectory() as directory:
        rows = indexing_rows(real("data", "20news", "docs.jsonl.gz"), Path(directory))
        rows += command_rows(Path(directory, "NG"), repeats)
    show_table(HEADS, rows)
    show("The rate is the number of documents divided by the seconds of the first run less those of the import.")


if __name__ == "__main__":
    main()
