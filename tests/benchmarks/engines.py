"""Six vector engines as the first stage of moverank: their 100 candidates, and what ranking them changes.

All engines hold the same documents with the same vectors, and take turns with each query. MAP is that of the 100
candidates: in the order of the engine; `ranked` by the collection's default ranking; by this with the engine's scores
as a further term, `vector`. `in 100` is the share of the exact ten by WMD of all documents which are among the
candidates, `in 10` the share which are the first ten by WMD of the candidates. Milliseconds are medians of a query: of
the engine, and of `Collection.rerank` by the default ranking, the first 10 or all 100 exact.

The rows `alone` are certified searches of all documents. ir-measures computes MAP. The engines are those of
the extra `engines`; one that is not installed has the reason as its row.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ir_measures

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Ranking
from tests.benchmarks.common import argument_parser, rotated, show
from tests.benchmarks.engine_task import NEWS, EngineTask, Qrels, Query, engine_task
from tests.engines.postgres_server import ServerUnavailableError, postgres_server
from tests.engines.vector_engines import ENGINES, Item, Nearest

SETS = ("cranfield", "stackexchange_quantumcomputing", NEWS)
K, CANDIDATES = 10, 100
HEADS = ("engine", "MAP", "ranked", "vector", "in 100", "in 10", "ms", "10, ms", "100, ms")


@dataclass(slots=True)
class Measured:
    """The keys that one engine found and that moverank ranked, by query; shares of the exact ten; seconds by column."""

    nearest: Nearest
    runs: dict[str, dict[str, list[str]]] = field(default_factory=lambda: {"engine": {}, "default": {}, "vector": {}})
    among: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"engine": [], "ten": [], "all": []})

    def answer(self, task: EngineTask, query: Query, ten: set[str]) -> None:
        """Find the candidates of a query, and rank them; `ten` are the exact ten by WMD."""
        found = self._timed("engine", lambda: self.nearest(query.vector, CANDIDATES + 1))
        kept = [one for one in found if one.item.key != query.own][:CANDIDATES]
        keys, scores = [one.item.key for one in kept], [one.score for one in kept]
        rerank, text = task.collection.rerank, query.document
        self._timed("ten", lambda: rerank(text, keys, k=K))
        ranked = self._timed("all", lambda: rerank(text, keys))
        summed = rerank(text, keys, scores=scores, rank=f"{task.collection.settings.ranking}+vector")
        for name, order in (("engine", keys), ("default", _keys(ranked)), ("vector", _keys(summed))):
            self.runs[name][query.document.key] = order
        by_wmd = rerank(text, keys, k=K, rank="wmd")
        self.among.append(len(ten.intersection(keys)) / len(ten))
        self.first.append(len(ten.intersection(_keys(by_wmd)[:K])) / len(ten))

    def _timed(self, name: str, work: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        done = work()
        self.seconds[name].append(time.perf_counter() - began)
        return done

    def cells(self, qrels: Qrels) -> list[str]:
        """Return the cells of the row."""
        maps = [_share(mean_average_precision(run, qrels)) for run in self.runs.values()]
        shares = [_share(statistics.mean(shares)) for shares in (self.among, self.first)]
        return [*maps, *shares, *map(_milliseconds, self.seconds.values())]


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _milliseconds(seconds: list[float]) -> str:
    return f"{1000 * statistics.median(seconds):.1f}"


def mean_average_precision(run: dict[str, list[str]], qrels: Qrels) -> float:
    """Return the MAP of keys in order, by query, as ir-measures computes it."""
    scores = {query: {key: float(-place) for place, key in enumerate(keys)} for query, keys in run.items()}
    return float(ir_measures.calc_aggregate([ir_measures.AP], qrels, scores)[ir_measures.AP])


def _keys(ranking: Ranking) -> list[str]:
    return [hit.key for hit in ranking.hits]


@contextmanager
def filled(task: EngineTask, names: Sequence[str]) -> Iterator[dict[str, Measured | str]]:
    """Fill the engines with the documents of a task; one that cannot be used has the reason instead."""
    items = [Item(key) for key in task.keys]
    engines: dict[str, Measured | str] = {name: reason for name in names if (reason := ENGINES[name].missing)}
    with ExitStack() as stack:
        if "pgvector" in names and "pgvector" not in engines:
            try:  # before others have threads, which a new process would copy
                os.environ |= stack.enter_context(postgres_server())
            except ServerUnavailableError as reason:
                engines["pgvector"] = str(reason)
        for name in [name for name in names if name not in engines]:
            directory = Path(stack.enter_context(TemporaryDirectory()))
            engines[name] = Measured(stack.enter_context(ENGINES[name].filled(items, task.vectors, directory)))
        yield {name: engines[name] for name in names}


def measure(task: EngineTask, engines: dict[str, Measured | str]) -> list[list[str]]:
    """Return the rows of all engines, and that of moverank alone."""
    usable = [one for one in engines.values() if isinstance(one, Measured)]
    alone: dict[str, list[str]] = {}
    seconds: list[float] = []
    for number, query in enumerate(task.queries):
        more = 1 if query.own else 0  # the query itself is found, too
        exact = task.collection.search(query.document, k=K + more, exact=True, rank="wmd")
        ten = set([key for key in _keys(exact) if key != query.own][:K])
        if number == 0:  # warm-up: loads and compiles what is then cached
            for one in usable:
                Measured(one.nearest).answer(task, query, ten)
            task.collection.search(query.document, k=CANDIDATES, exact=True)
        for one in rotated(usable, number):
            one.answer(task, query, ten)
        began = time.perf_counter()
        found = task.collection.search(query.document, k=CANDIDATES + more, exact=True)
        seconds.append(time.perf_counter() - began)
        alone[query.document.key] = [key for key in _keys(found) if key != query.own][:CANDIDATES]
    rows = [[name, *(one.cells(task.qrels) if isinstance(one, Measured) else [one])] for name, one in engines.items()]
    map_alone = _share(mean_average_precision(alone, task.qrels))
    return [*rows, ["alone", "", map_alone, "", "", "", "", "", _milliseconds(seconds)]]


def main() -> None:
    """Print a table in Markdown for each data set, as soon as it is measured."""
    parser = argument_parser(__doc__)
    parser.add_argument("work", type=Path, help="directory in which the collections are kept")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--queries", type=int, help="at most so many of each set")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # of Milvus, which else reports every other process started here
    for name in options.sets:
        with engine_task(options.work, name, options.queries) as task, filled(task, options.engines) as engines:
            rows = measure(task, engines)
            size = (
                f"{len(task.keys):,} of {len(task.collection):,} documents have a vector; {len(task.queries)} queries"
            )
        show(f"{name}: {size}.\n\n| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
        show("\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n")


if __name__ == "__main__":
    main()
