"""Times the nearest pairs of the bags of a file, and prints JSON, with any version of moverank."""

import inspect
import json
import sys
import time
from typing import Any

import numpy as np

from moverank import Bags
from moverank.indexer.search import pairs

_ARGUMENTS: dict[str, Any] = {"directory": None, "path": None, "run": b"", "progress": lambda *_: None}
"""Not each version has all of them."""


def _found(bags: Bags, vectors: Any, k: int) -> Any:
    ids, search = np.arange(len(bags)), vars(pairs)
    if "ComparedBags" in search:
        return search["pairs_of_bags"](
            search["ComparedBags"](ids, bags, vectors), search["PairSearch"](np.inf, k, _ARGUMENTS["progress"])
        )
    names = inspect.signature(search["pairs_of_bags"]).parameters
    given = {name: value for name, value in _ARGUMENTS.items() if name in names}
    return search["pairs_of_bags"](ids, bags, vectors, np.inf, k, **given)


def main(path: str, k: int) -> None:
    """Print seconds, CPU seconds, problems solved, and the pairs with their distances."""
    with np.load(path) as file:
        data = dict(file)
    bags = Bags(data["starts"], data["words"], data["weights"])
    some = bags.take(np.arange(min(len(bags), 50)))
    _found(some, data["vectors"], 5)  # kernels are loaded
    began, cpu = time.perf_counter(), time.process_time()
    found = _found(bags, data["vectors"], k)
    line = {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "solved": found.counts.solved,
        "pairs": np.column_stack([found.first, found.second]).tolist(),
        "distances": found.distances.tolist(),
    }
    sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
