"""Opens a collection in a process of its own, searches for queries, and prints the measurements as a JSON object.

`open` is the time of `Collection.open` and of the first view of the data, without imports. `first` is the time of the
first query, which loads and compiles what only queries need. `seconds` are the times of the other queries.
"""

import json
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, Ranking, UnknownKey
from tests.benchmarks.common import argument_parser, run_process, show

MISSING_KEY = "no document has this key"


@dataclass(frozen=True, slots=True)
class Measurements:
    """Seconds as above, the keys of each query's hits, the problems solved for each query, and peak memory in bytes."""

    open: float
    first: float
    seconds: list[float]
    keys: list[list[str]]
    solved: list[int]
    peak: int = 0


def search_in_process(collection: Path, queries: Path, depth: int | None, rank: str = "wmd") -> Measurements:
    """Search a collection for the queries of a JSON file in a new process; exit if it fails.

    `depth` None requests an exact search. `rank` is the ranking, an empty one that of the collection.
    """
    mode = ["--exact"] if depth is None else ["--depth", str(depth)]
    process = run_process([sys.executable, __file__, collection, queries, *mode, "--rank", rank])
    return replace(Measurements(**process.objects[0]), peak=process.peak)


def search(path: str, queries: list[str], **options: Any) -> Measurements:
    """Open a collection, and search it; `options` are search options."""
    began = time.perf_counter()
    with Collection.open(path) as collection:
        open_view(collection)
        opened = time.perf_counter() - began
        times: list[float] = []
        rankings: list[Ranking] = []
        for query in queries:
            began = time.perf_counter()
            rankings.append(collection.search(query, **options))
            times.append(time.perf_counter() - began)
    counted = rankings[1:]
    keys, solved = [[hit.key for hit in one.hits] for one in counted], [one.counts.solved for one in counted]
    return Measurements(opened, times[0], times[1:], keys, solved)


def open_view(collection: Collection) -> None:
    """Open the view of a collection, which its first search does, by a search that needs nothing else."""
    try:
        collection.similar(MISSING_KEY)
    except UnknownKey:
        return
    sys.exit(f"a document has the key {MISSING_KEY!r}")


def main() -> None:
    """Search for a JSON list of texts; the time of the first query is reported apart."""
    parser = argument_parser(__doc__)
    parser.add_argument("collection")
    parser.add_argument("queries", help="JSON list of texts, two at least")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--exact", action="store_true", help="compare every document")
    mode.add_argument("--depth", type=int, help="number of candidates")
    parser.add_argument("--rank", default="", help="what to rank by (the collection's ranking)")
    arguments = parser.parse_args()
    queries = json.loads(Path(arguments.queries).read_text(encoding="utf-8"))
    options: dict[str, Any] = {"exact": True} if arguments.exact else {"depth": arguments.depth}
    options["rank"] = arguments.rank or None
    show(json.dumps(asdict(search(arguments.collection, queries, k=10, **options))))


if __name__ == "__main__":
    main()
