"""Times the nearest pairs of the bags of a file, and prints JSON, with any version of moverank."""

import inspect
import json
import sys
import time
from typing import Any

import numpy as np

from moverank import Bags
from moverank.indexer.search.pairs import pairs_of_bags

_ARGUMENTS: dict[str, Any] = {"directory": None, "path": None, "run": b"", "progress": lambda *_: None}
"""Not each version has all of them."""


def main(path: str, k: int) -> None:
    """Print seconds, CPU seconds, problems solved, and the pairs with their distances."""
    with np.load(path) as file:
        data = dict(file)
    bags = Bags(data["starts"], data["words"], data["weights"])
    some = bags.take(np.arange(min(len(bags), 50)))
    given = {name: value for name, value in _ARGUMENTS.items() if name in inspect.signature(pairs_of_bags).parameters}
    pairs_of_bags(np.arange(len(some)), some, data["vectors"], np.inf, 5, **given)  # kernels are loaded
    began, cpu = time.perf_counter(), time.process_time()
    found = pairs_of_bags(np.arange(len(bags)), bags, data["vectors"], np.inf, k, **given)
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
