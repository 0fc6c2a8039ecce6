"""Prints what an installation weighs: the files of each package that moverank needs, and how long its import takes.

Run it by the Python of a virtual environment that has moverank and nothing else. The base dependencies are followed
from package to package; one row sums up those that are smaller than 2 MB. Sizes are those of the files that the
package's list names, without bytecode, which Python adds. A time is processor time, the median of five new processes,
less that of an interpreter that imports nothing; what a package imports itself is included.
"""

import statistics
import sys
from collections.abc import Iterator
from importlib.metadata import distribution, requires
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from packaging.requirements import Requirement

from tests.benchmarks.common import argument_parser, run_process, show, show_table

SMALL = 2e6
REPEATS = 5
MODULES = {
    "faiss-cpu": "faiss",
    "pot": "ot",
    "pydantic-core": "pydantic_core",
    "pystemmer": "Stemmer",
    "pyyaml": "yaml",
}
"""Where the name of the module is not that of the package."""


def needed(package: str) -> Iterator[str]:
    """Yield a package and all that it needs, each once, in lower case."""
    waiting, seen = [package], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        requirements = map(Requirement, requires(name) or ())
        waiting += [one.name.lower() for one in requirements if not one.marker or one.marker.evaluate({"extra": ""})]


def size(package: str) -> int:
    """Return the bytes of a package's files."""
    files = distribution(package).files or ()
    paths = (Path(str(file.locate())) for file in files if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file())


def seconds(code: str) -> float:
    """Return the median processor time of a new process that runs a line of Python."""
    command = [sys.executable, "-c", code]
    run_process(command)  # compiles bytecode
    return statistics.median(run_process(command).cpu for _ in range(REPEATS))


def main() -> None:
    """Print the table."""
    argument_parser(__doc__).parse_args()
    sizes = sorted(((size(name), name) for name in needed("moverank")), reverse=True)
    small = [bytes_ for bytes_, name in sizes if bytes_ < SMALL and name != "moverank"]
    floor = seconds("pass")
    rows: list[list[object]] = [
        [name, f"{bytes_ / 1e6:.1f}", f"{seconds(f'import {MODULES.get(name, name)}') - floor:.2f}"]
        for bytes_, name in sizes
        if bytes_ >= SMALL or name == "moverank"
    ]
    rows.append([f"{len(small)} others", f"{sum(small) / 1e6:.1f}", ""])
    rows.append(["all", f"{sum(bytes_ for bytes_, _ in sizes) / 1e6:.1f}", ""])
    show(f"Python {sys.version.split()[0]}; an interpreter that imports nothing: {floor:.3f} s")
    show_table(["package", "MB", "import, CPU s"], rows)


if __name__ == "__main__":
    main()
