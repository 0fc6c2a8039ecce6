"""Files that an experiment writes besides its table: TREC runs, and the measures of each query."""

import csv
import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.atomic_write import check_writable, write_text
from moverank.rerank.evaluation.judgments import run_lines

Run = Mapping[str, tuple[Sequence[str], NDArray[np.float64]]]
"""The keys (n,) of the documents that were ranked for each query, best first, and their scores (n,), decreasing."""

_SHELL = re.compile(r"[^A-Za-z0-9.+=,_-]")
_LONGEST = 120
"""The characters of a method in the name of a file; a longer one is cut, and ends with a digest."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files to write: `run`, the rankings, and `per_query`, the measures; None for none.

    The rankings of several methods are files beside `run`, whose names have the method before the suffix.
    """

    run: Path | None = None
    per_query: Path | None = None

    def check(self) -> None:
        """Raise UsageError, before any work, for a file that cannot be written."""
        for path in (self.run, self.per_query):
            if path is not None:
                check_writable(path)

    def write_runs(self, runs: Mapping[str, Run]) -> None:
        """Write the runs of methods, by label, a file for each: see `run_lines`."""
        if self.run is None:
            return
        for label, run in runs.items():
            path = self.run if len(runs) == 1 else run_path(self.run, label)
            lines = [line for query, (keys, scores) in run.items() for line in run_lines(query, keys, label, scores)]
            write_text(path, "".join(f"{line}\n" for line in lines))

    def write_measures(self, queries: Sequence[str], figures: Mapping[str, Mapping[str, NDArray[np.float64]]]) -> None:
        """Write the `figures` (q,) of each method and measure for `queries`, one row for each method and query."""
        if self.per_query is None:
            return
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        names = list(next(iter(figures.values()), {}))
        writer.writerow(["method", "query", *names])
        for label, values in figures.items():
            for i, query in enumerate(queries):
                writer.writerow([label, query, *(float(values[name][i]) for name in names)])
        write_text(self.per_query, buffer.getvalue())


def run_path(path: Path, label: str) -> Path:
    """Return `path` with the name of a method before its suffix, in characters that no shell changes.

    `run.trec` is `run.bm25-stem=english.trec` for `bm25:stem=english`: other characters become a hyphen, and `*` an x.
    """
    name = _SHELL.sub("-", label.replace("*", "x"))
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}-{hashlib.blake2b(label.encode(), digest_size=4).hexdigest()}"
    return path.with_name(f"{path.stem}.{name}{path.suffix}")
