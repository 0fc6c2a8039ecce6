"""Prints for which systems and versions of Python all base dependencies have wheels, and the versions that fit.

uv resolves them for a system on which it does not run: `pip install uv`. pip cannot, since it decides by its own
system what a requirement is for (`python_version < '3.14'`). The last rows are no targets: Intel Macs.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import ROOT, any_missed, argument_parser, show, show_table, verdict

PYTHONS = ("3.11", "3.13", "3.14")
TARGETS = {
    "Linux x86-64": ("x86_64-manylinux_2_28", ""),
    "Linux ARM": ("aarch64-manylinux_2_28", ""),
    "macOS 14 ARM": ("aarch64-apple-darwin", "14.0"),
    "Windows x64": ("x86_64-pc-windows-msvc", ""),
}
OTHERS = {"macOS 14 Intel": ("x86_64-apple-darwin", "14.0"), "macOS 15 Intel": ("x86_64-apple-darwin", "15.0")}
SHOWN = ("faiss-cpu", "gensim", "numba", "numpy", "pot", "scipy")


def resolved(platform: str, macos: str, python: str, extras: Sequence[str]) -> Mapping[str, str] | str:
    """Return the versions of all packages for a platform, of which each has a wheel, or why there are none."""
    chosen = ("--python-platform", platform, "--python-version", python, *(f"--extra={name}" for name in extras))
    command = ("uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:")
    environment = os.environ | ({"MACOSX_DEPLOYMENT_TARGET": macos} if macos else {})
    project = ROOT / "pyproject.toml"
    done = subprocess.run(
        [*command, *chosen, project], env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode:
        return done.stderr
    versions = (line.partition(";")[0].strip().partition("==") for line in done.stdout.splitlines())
    return {name: version for name, _, version in versions}


def row(system: str, python: str, found: Mapping[str, str] | str, *, is_target: bool) -> list[str]:
    """Return the row of a system; what is missing is shown below the table."""
    if isinstance(found, str):
        return [f"{system}, {python}", *("" for _ in SHOWN), "none", verdict(False) if is_target else ""]
    return [
        f"{system}, {python}",
        *(found.get(name, "-") for name in SHOWN),
        str(len(found)),
        "ok" if is_target else "",
    ]


def main() -> None:
    """Print the table; exit with 1 if a target lacks a wheel."""
    parser = argument_parser(__doc__)
    parser.add_argument("--extra", action="append", default=[], help="an extra whose packages need wheels, too")
    extras = parser.parse_args().extra
    rows, reasons = list[list[str]](), list[str]()
    for system, (platform, macos) in (TARGETS | OTHERS).items():
        for python in PYTHONS:
            found = resolved(platform, macos, python, extras)
            rows.append(row(system, python, found, is_target=system in TARGETS))
            if isinstance(found, str) and system in TARGETS:
                reasons.append(f"{system}, {python}: {found}")
    show_table(("system", *SHOWN, "packages", ""), rows)
    for reason in reasons:
        show(reason)
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
