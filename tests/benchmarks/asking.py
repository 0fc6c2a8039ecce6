"""Opens a collection in a process of its own, asks it queries, and prints what that took as a JSON object.

`open` is the time of `Collection.open` and of its first view of the data, imports not counted; `first` that of the
first query, which loads and compiles what only queries need. `seconds` are those of the others.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, Ranking, UnknownKey
from tests.benchmarks.common import show

NOBODY = "no document has this key"


@dataclass(frozen=True, slots=True)
class Answers:
    """What a process told: seconds, the keys found by each query, problems solved by each; and its peak in bytes."""

    open: float
    first: float
    seconds: list[float]
    keys: list[list[str]]
    solved: list[int]
    peak: int = 0


def ask_apart(collection: Path, queries: Path, depth: int | None) -> Answers:
    """Ask the queries of a file in a new process; `depth` None means exact search. Leave where it fails."""
    mode = ["--exact"] if depth is None else ["--depth", str(depth)]
    command = [sys.executable, str(Path(__file__)), str(collection), str(queries), *mode]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    with process.stdout:
        printed = process.stdout.read()
    # `wait4` tells of this one child, where `resource` would tell of the largest of all.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"searching {collection} failed")
    return Answers(**json.loads(printed), peak=usage.ru_maxrss * 1024)


def ask(path: str, queries: list[str], **options: Any) -> Answers:
    """Open a collection, and ask."""
    began = time.perf_counter()
    with Collection.open(path) as collection:
        see(collection)
        opened = time.perf_counter() - began
        times: list[float] = []
        rankings: list[Ranking] = []
        for query in queries:
            began = time.perf_counter()
            rankings.append(collection.search(query, **options))
            times.append(time.perf_counter() - began)
    found = rankings[1:]
    keys, solved = [[hit.key for hit in one.hits] for one in found], [one.counts.solved for one in found]
    return Answers(opened, times[0], times[1:], keys, solved)


def see(collection: Collection) -> None:
    """Let a collection open its view: it does so for the first question, and this one needs nothing else."""
    try:
        collection.similar(NOBODY)
    except UnknownKey:
        return
    sys.exit(f"a document has the key {NOBODY!r}")


def main() -> None:
    """Ask the queries of a JSON list of strings; the first is not among the `seconds`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection")
    parser.add_argument("queries", help="JSON list of texts, two at least")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--exact", action="store_true")
    mode.add_argument("--depth", type=int)
    chosen = parser.parse_args()
    queries = json.loads(Path(chosen.queries).read_text(encoding="utf-8"))
    options = {"exact": True} if chosen.exact else {"depth": chosen.depth}
    told = ask(chosen.collection, queries, k=10, **options)
    show(json.dumps({name: getattr(told, name) for name in ("open", "first", "seconds", "keys", "solved")}))


if __name__ == "__main__":
    main()
