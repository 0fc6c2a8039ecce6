"""Cached kernels are loaded without numba's compiler, and compute the same as with it."""

import json
import subprocess
import sys
from typing import Any

import numba
import pytest

from moverank.rerank.kernels.compiled import TESTED, is_tested

pytestmark = pytest.mark.slow

RUN = """if True:
    import json
    import sys
    import numpy as np
    from moverank.rerank.kernels import compiled
    if sys.argv[1:] == ["by default"]:
        compiled.TESTED = ()
    from moverank.rerank.bags.bag import Bag, Bags
    from moverank.rerank.distance import bounds
    from moverank.rerank.distance.ground_cost import cost_floor, exact_cost, vector_norms
    from moverank.rerank.distance.nearest import nearest
    from moverank.rerank.distance.query_bag import QueryBag
    from moverank.rerank.distance.transport import solve_vectors
    from moverank.rerank.kernels.counts import transposed

    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(300, 16)).astype(np.float32)

    def bag(words):
        return Bag.of(rng.choice(300, words, replace=False), rng.uniform(0.1, 1, words))

    bags, found = Bags.of([bag(60) for _ in range(200)]), []
    for words in (5, 60):
        query = bag(words)
        own = QueryBag(query, vectors[query.words])
        problem = bounds.Problem.of(own, bags, vectors)
        found += [bounds.one_pass_dual(problem, np.arange(200)), *bounds.sinkhorn(problem, np.arange(200))]
        near = nearest(own, bags, vectors, 10)
        found += [near.rows, near.distances]
        plan = solve_vectors(query.weights, bags[0].weights, own.vectors, vectors[bags[0].words])
        found += [plan.mass, exact_cost(own.vectors, vectors), cost_floor(vectors, own.vectors)]
    found += [bounds.centroid_lengths(bags, vectors), *transposed(bags.starts, bags.words, bags.weights, 300)]
    print("numba.np.arraymath" in sys.modules)
    print(json.dumps([array.tolist() for array in found]))
"""


def _run(*arguments: str) -> tuple[str, Any]:
    """Return whether the compiler was imported, and the numbers."""
    done = subprocess.run([sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    compiler, _, found = done.stdout.partition("\n")
    return compiler, json.loads(found)


# Not a failure: with another version all is right, but a search takes a quarter of a second more.
# If the test passes with that version in TESTED, add it there.
@pytest.mark.skipif(not is_tested(), reason=f"numba {numba.__version__} is not among the tested {TESTED}")
def test_kernels_load_without_the_compiler_and_compute_the_same() -> None:
    _run()  # compiles what is not cached yet
    compiler, found = _run()
    assert compiler == "False", f"numba {numba.__version__} imports its compiler to load a kernel"
    assert _run("by default") == ("True", found)
