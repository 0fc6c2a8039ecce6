"""Times the nearest pairs of the bags of a file, and prints JSON, with any version of moverank."""

import json
import sys
import time

import numpy as np

from moverank import Bags
from moverank.indexer.search.pairs import pairs_of_bags


def main(path: str, k: int) -> None:
    """Print seconds, CPU seconds, problems solved, and the pairs with their distances."""
    with np.load(path) as file:
        data = dict(file)
    bags, silent = Bags(data["starts"], data["words"], data["weights"]), lambda *_: None
    some = bags.take(np.arange(min(len(bags), 50)))
    pairs_of_bags(np.arange(len(some)), some, data["vectors"], np.inf, 5, None, silent)  # kernels are loaded
    began, cpu = time.perf_counter(), time.process_time()
    found = pairs_of_bags(np.arange(len(bags)), bags, data["vectors"], np.inf, k, None, silent)
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
