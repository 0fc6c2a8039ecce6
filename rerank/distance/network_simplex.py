"""POT's network simplex: the only module that imports POT.

Of POT only the compiled solver is loaded: `import ot` takes a second, because it also imports scipy, and scikit-learn,
PyTorch, JAX and TensorFlow where they are installed. If a version of POT does not allow this, POT is imported whole.
"""

import warnings
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.runtime.imports import load_alone
from moverank.rerank.runtime.parallel import SharedContext

Arcs = tuple[NDArray[np.int64], NDArray[np.int64]]

_OPTIMAL = 1  # POT's result code
_SOLVER = "ot.lp.emd_wrap"

_warnings_ignored = SharedContext(lambda: warnings.catch_warnings(action="ignore"))


@dataclass(frozen=True, slots=True, eq=False)
class Vertex:
    """POT's result: mass (n, m), potentials `u` (n,) and `v` (m,), and POT's failure, if it reports one."""

    mass: NDArray[np.float64]
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    failure: str | None


def network_simplex(
    row_sums: NDArray[np.float64],
    column_sums: NDArray[np.float64],
    cost: NDArray[np.float64],
    arcs: Arcs | None,
    max_iterations: int,
) -> Vertex:
    """Return the vertex at which the simplex ends, over `arcs` (rows, columns), or over all.

    `row_sums` (n,), `column_sums` (m,) and `cost` (n, m) are float64. Nothing is checked: POT's warning becomes the
    `failure`, and the caller must prove the optimum.
    """
    solver = compiled_solver()
    # POT omits rows and columns without mass, and completes their potentials in Python.
    alone = solver is not None and row_sums.all() and column_sums.all()
    with _warnings_ignored:
        if alone:
            return _by_solver(solver, row_sums, column_sums, cost, arcs, max_iterations)
        return _by_pot(row_sums, column_sums, cost, arcs, max_iterations)


def _by_solver(
    solver: Any,
    row_sums: NDArray[np.float64],
    column_sums: NDArray[np.float64],
    cost: NDArray[np.float64],
    arcs: Arcs | None,
    max_iterations: int,
) -> Vertex:
    """Call the compiled solver as `ot.emd` does for positive masses; the numbers are the same, bit by bit."""
    sums = np.ascontiguousarray(row_sums), column_sums * row_sums.sum() / column_sums.sum()
    if arcs is None:
        mass, _, u, v, code = solver.emd_c(*sums, np.ascontiguousarray(cost), max_iterations, 1, None, None)
    else:
        edges = (arcs[0].astype(np.uint64), arcs[1].astype(np.uint64), cost[arcs])
        rows, columns, moved, _, u, v, code = solver.emd_c_sparse(*sums, *edges, max_iterations)
        mass = np.zeros(cost.shape)
        np.add.at(mass, (rows.astype(np.int64), columns.astype(np.int64)), moved)  # an arc may be there twice
    return Vertex(mass, u, v, None if code == _OPTIMAL else str(solver.check_result(code)))


def _by_pot(
    row_sums: NDArray[np.float64],
    column_sums: NDArray[np.float64],
    cost: NDArray[np.float64],
    arcs: Arcs | None,
    max_iterations: int,
) -> Vertex:
    """Solve by POT's public function."""
    import ot
    from scipy.sparse import coo_array

    chosen = cost if arcs is None else coo_array((cost[arcs], arcs), cost.shape)
    options = {"numItermax": max_iterations, "log": True, "center_dual": False, "check_marginals": False}
    moved, log = ot.emd(row_sums, column_sums, chosen, **options)
    mass = moved if arcs is None else moved.toarray()
    return Vertex(mass, log["u"], log["v"], None if log["result_code"] == _OPTIMAL else str(log["warning"]))


@cache
def compiled_solver() -> ModuleType | None:
    """Return POT's compiled solver; None if it cannot be loaded alone, or fails on a small test problem.

    POT does not promise its interface.
    """
    utils = ModuleType("utils")
    vars(utils)["dist"] = _dist
    try:
        solver = load_alone(_SOLVER, {"utils": utils})
        return solver if _solves(solver) else None
    except Exception:  # noqa: BLE001 - whatever has changed in POT, its public function still works
        return None


def _dist(*args: Any, **options: Any) -> Any:
    """Stand for `ot.dist`, which the solver imports for distances in one dimension."""
    import ot

    return ot.dist(*args, **options)


def _solves(solver: ModuleType) -> bool:
    """Return whether a solver moves the mass of a problem whose optimum is .3, over all arcs and over three."""
    halves, sums, cost = np.array([0.5, 0.5]), np.array([0.2, 0.8]), np.array([[0.0, 1.0], [1.0, 0.0]])
    optimum = np.array([[0.2, 0.0], [0.3, 0.5]])
    three = np.array([0, 1, 1]), np.array([0, 0, 1])
    found = [_by_solver(solver, sums, halves, cost, arcs, 100) for arcs in (None, three)]
    return all(one.failure is None and np.allclose(one.mass, optimum) for one in found)
