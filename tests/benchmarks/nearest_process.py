"""Times the exact ten nearest for the queries of a file, and prints JSON, with any version of moverank."""

import json
import sys
import time

import numpy as np

from moverank import Bag, Bags
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag

K, REPEATED = 10, 3


def main(path: str) -> None:
    """Print the least seconds and CPU seconds of each query, the problems solved for it, and the rows found."""
    with np.load(path) as file:
        data = dict(file)
    bags, vectors = Bags(data["starts"], data["words"], data["weights"]), data["vectors"]
    table, norms = vectors[: int(data["size"])], vector_norms(vectors[: int(data["size"])])
    ends = data["query_ends"].tolist()
    for number in range(-1, len(ends)):  # the first one once before: kernels are loaded or compiled
        own = slice(ends[number - 1] if number > 0 else 0, ends[max(number, 0)])
        query = QueryBag(Bag(data["query_words"][own], data["query_weights"][own]), vectors[data["query_words"][own]])
        times = []
        for _ in range(REPEATED):
            began, cpu = time.perf_counter(), time.process_time()
            found = nearest(query, bags, table, K, norms=norms)
            times.append((time.perf_counter() - began, time.process_time() - cpu))
        if number >= 0:
            seconds, cpus = (min(values) for values in zip(*times, strict=True))
            line = {"seconds": seconds, "cpu": cpus, "solved": found.counts.solved, "rows": found.rows.tolist()}
            sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
