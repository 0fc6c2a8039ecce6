"""Writes the table of speed targets in `measured.md`: what the benchmarks with targets measure.

Each benchmark is a process of its own; the table is written after each of them. Rows of others stay, so that an
interrupted run is resumed, and `--only NAME` measures one again.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import MISSED, ROOT, argument_parser, show

PAGE = ROOT / "tests" / "benchmarks" / "measured.md"
SECTION = "## Speed targets\n"
HEADS = ("what", "before", "now", "ratio", "target", "by")
BEFORE = "514819c"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A script with arguments, what its rows are about, and the heads of the columns that the table takes from it.

    The first column of its own table names the row; "" stands for a column that it does not have.
    """

    about: str
    before: str
    now: str
    ratio: str
    target: str = "target"
    arguments: tuple[str, ...] = ()

    def rows(self, tables: list[dict[str, list[list[str]]]]) -> Iterator[list[str]]:
        """Yield the rows with a target, without the name of the script; `tables` are those that it has shown."""
        columns = (self.before, self.now, self.ratio, self.target)
        for table in tables:
            heads = list(map(str, table["heads"]))
            if not set(columns) - {""} <= set(heads):
                continue
            for row in table["rows"]:
                cells = [row[heads.index(head)] if head else "" for head in columns]
                if cells[-1] and "not measured" not in row:
                    outcome = "**missed**" if MISSED in row else "met"
                    yield [f"{self.about}: {row[0]}", *cells[:-1], f"{cells[-1]}, {outcome}"]


_SINCE, _AGAINST = ("--before", BEFORE), ("--revision", BEFORE)
BENCHMARKS = {
    "process_start": Benchmark("process, s", "before s", "now s", "ratio", arguments=_AGAINST),
    "indexing_speed": Benchmark("20 Newsgroups", "before", "now", "before / now", arguments=_SINCE),
    "small_files": Benchmark("files/s", "before, files/s", "now, files/s", "before / now", arguments=_SINCE),
    "check_speed": Benchmark("`moverank check`", "before", "now", "now / before", arguments=_SINCE),
    "whole_pool": Benchmark("`evaluate retrieval`, s", "before s", "now s", "CPU ratio", arguments=_AGAINST),
    "exact_speed": Benchmark("exact ten of 11,292", "before", "now", "now / before", arguments=_SINCE),
    "competitors": Benchmark("exact ten, s", "", "median s", "speed-up"),
    "growth": Benchmark("synthetic documents", "", "measured", "", "at most"),
}


def measured(name: str, more: list[str]) -> list[str]:
    """Run a benchmark and return its lines of the table; exit if it shows no table."""
    script = Path(__file__).with_name(f"{name}.py")
    with TemporaryDirectory() as directory:
        tables = Path(directory, "tables.jsonl")
        tables.touch()
        # Its exit code is 1 if a target is missed, too.
        subprocess.run([sys.executable, script, *BENCHMARKS[name].arguments, *more, "--json", tables], check=False)
        found = list(BENCHMARKS[name].rows(list(map(json.loads, tables.read_text(encoding="utf-8").splitlines()))))
    if not found:
        sys.exit(f"{script} has measured nothing")
    return [_line([*row, f"`{name}`"]) for row in found]


def written(page: str, lines: dict[str, list[str]]) -> str:
    """Return the page with the lines of some benchmarks, by name, in the place of earlier ones."""
    before, found, rest = page.partition(SECTION)
    if not found:
        sys.exit(f"{PAGE} has no section {SECTION.strip()!r}")
    section, heading, after = rest.partition("\n## ")
    old = [line for line in section.splitlines() if line.startswith("|")]
    text = section.partition("|")[0].strip()
    kept = {name: [line for line in old if line.endswith(f"| `{name}` |")] for name in BENCHMARKS}
    rows = [line for own in (kept | lines).values() for line in own]
    table = "\n".join([_line(HEADS), "|---" * len(HEADS) + "|", *rows])
    return f"{before}{found}\n{text}\n\n{table}\n{heading}{after}"


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |".replace("  ", " ")


def main() -> None:
    """Measure, and write the table after each benchmark."""
    parser = argument_parser(__doc__)
    parser.add_argument("--only", action="append", choices=BENCHMARKS, help="measure only this one; repeatable")
    parser.add_argument("rest", nargs="*", metavar="ARGUMENT", help="after --: arguments of the benchmarks")
    arguments = parser.parse_args()
    for name in arguments.only or BENCHMARKS:
        lines = {name: measured(name, arguments.rest)}
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), lines), encoding="utf-8")
        show(f"{name}: {len(lines[name])} rows are in {PAGE}")


if __name__ == "__main__":
    main()
