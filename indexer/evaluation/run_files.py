"""Files that an experiment writes besides its table: a TREC run, and the measures of each query."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.atomic_write import check_writable, write_text
from moverank.rerank.evaluation.judgments import run_lines

Run = Mapping[str, Sequence[str]]
"""The keys of the documents that were ranked for each query, best first."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files to write: `run`, the rankings, and `per_query`, the measures; None for none."""

    run: Path | None = None
    per_query: Path | None = None

    def check(self) -> None:
        """Raise UsageError, before any work, for a file that cannot be written."""
        for path in (self.run, self.per_query):
            if path is not None:
                check_writable(path)

    def write_runs(self, runs: Mapping[str, Run]) -> None:
        """Write the runs of methods, by label: see `run_lines`."""
        if self.run is not None:
            found = ((label, query, keys) for label, run in runs.items() for query, keys in run.items())
            lines = [line for label, query, keys in found for line in run_lines(query, keys, label)]
            write_text(self.run, "".join(f"{line}\n" for line in lines))

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
