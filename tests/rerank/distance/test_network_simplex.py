"""The door to POT: what it loads, and that its numbers are those of `ot.emd`."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array

from moverank.rerank.distance.network_simplex import Arcs, Vertex, compiled_solver, network_simplex
from tests.rerank.problems import WEIGHTS, make_weights
from tests.waiting import HUNG

SEEDS = st.integers(0, 2**32)
LIMIT = 10**6
CHANGED = (
    "POT {} has changed: its solver can no longer be loaded without the rest of it, so the first exact distance of a "
    "process waits a second for `import ot`. Results are right, by `ot.emd`. Adapt `moverank.rerank.distance."
    "network_simplex`: {}"
)
SOLVE = """if True:
    import sys
    import numpy as np
    from moverank.rerank.distance.transport import solve
    problem = np.array([0.2, 0.8]), np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]])
    assert abs(solve(*problem).distance - 0.3) < 1e-12
    print(*sorted({name.split(".")[0] for name in sys.modules} & {"ot", "scipy", "sklearn", "_moverank_alone"}))
"""


def _run(code: str, *paths: Path) -> str:
    found = [*map(str, paths), *sys.path]
    script = f"import sys; sys.path[:] = {found!r}\n{code}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=HUNG)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_of_pot_only_the_solver_is_loaded() -> None:
    loaded = _run(SOLVE)
    assert not loaded, CHANGED.format(ot.__version__, f"it imports {loaded}")
    assert compiled_solver() is not None, CHANGED.format(ot.__version__, "its compiled solver is not usable")


@pytest.mark.slow
def test_pot_works_after_its_solver_was_loaded_alone() -> None:
    code = """
    import ot
    assert ot.lp.emd_wrap.__name__ == "ot.lp.emd_wrap" and ot.lp.emd_wrap.__spec__.name == "ot.lp.emd_wrap"
    assert abs(ot.emd2(*problem) - 0.3) < 1e-12 and abs(solve(*problem).distance - 0.3) < 1e-12
    points = np.arange(6.0).reshape(3, 2)
    assert ot.emd2_1d(points[:, 0], points[:, 1]) == 1.0
    assert np.array_equal(ot.lp.emd_wrap.dist(points, points), ot.dist(points, points))
    assert ot.dist.__module__ == "ot.utils"
"""
    _run(SOLVE + code)


@pytest.mark.slow
def test_pot_that_is_imported_before_is_used() -> None:
    code = "import ot, ot.lp.emd_wrap as theirs\nfrom moverank.rerank.distance.network_simplex import compiled_solver\n"
    _run(code + "assert compiled_solver() is theirs")


@pytest.mark.slow
@pytest.mark.parametrize(
    "solver",
    [
        None,
        "raise RuntimeError('not as before')",
        "def emd_c(*args, **options): raise TypeError('another interface')",
        "def emd_c(a, b, cost, *_): return cost * 0, 0.0, a, b, 1",
    ],
)
def test_pot_that_has_changed_is_imported_whole(tmp_path: Path, solver: str | None) -> None:
    changed = tmp_path / "ot"
    (changed / "lp").mkdir(parents=True)
    (changed / "lp" / "__init__.py").touch()
    if solver:
        (changed / "lp" / "emd_wrap.py").write_text(solver)
    whole = Path(ot.__file__)
    # Imported by its name, it is POT itself; the solver is looked for in this directory.
    (changed / "__init__.py").write_text(
        f"__path__ = [{str(whole.parent)!r}]\nexec(compile(open({str(whole)!r}).read(), {str(whole)!r}, 'exec'))\n"
    )
    assert "ot scipy" in _run(SOLVE, tmp_path)


@given(SEEDS, st.integers(1, 30), st.integers(1, 30), st.sampled_from(WEIGHTS))
def test_the_numbers_are_those_of_emd(seed: int, n: int, m: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    a, b, cost = make_weights(rng, n, kind), make_weights(rng, m, kind), rng.uniform(0, 1, (n, m))
    a, b = a / a.sum(), b / b.sum()
    # All arcs, some of them twice.
    rows, columns = np.indices((n, m)).reshape(2, -1)
    twice = rng.integers(0, n * m, 3)
    arcs = np.append(rows, rows[twice]), np.append(columns, columns[twice])
    for chosen in (None, arcs):
        _assert_equal(network_simplex(a, b, cost, chosen, LIMIT), _by_emd(a, b, cost, chosen))


def test_rows_and_columns_without_mass_get_the_potentials_of_emd() -> None:
    rng = np.random.default_rng(3)
    a, b, cost = np.array([0.5, 0.0, 0.5]), np.array([0.0, 1.0]), rng.uniform(0, 1, (3, 2))
    _assert_equal(network_simplex(a, b, cost, None, LIMIT), _by_emd(a, b, cost, None))


def test_the_iteration_limit_is_a_failure() -> None:
    rng = np.random.default_rng(4)
    weights, cost = np.full(40, 1 / 40), rng.uniform(0, 1, (40, 40))
    found = network_simplex(weights, weights, cost, None, 3)
    assert found.failure is not None
    assert "numItermax" in found.failure


def _by_emd(a: np.ndarray, b: np.ndarray, cost: np.ndarray, arcs: Arcs | None) -> Vertex:
    chosen = cost if arcs is None else coo_array((cost[arcs], arcs), cost.shape)
    moved, log = ot.emd(a, b, chosen, numItermax=LIMIT, log=True, center_dual=False, check_marginals=False)
    return Vertex(moved if arcs is None else moved.toarray(), log["u"], log["v"], log["warning"])


def _assert_equal(found: Vertex, expected: Vertex) -> None:
    np.testing.assert_array_equal(found.mass, expected.mass)
    np.testing.assert_array_equal(found.u, expected.u)
    np.testing.assert_array_equal(found.v, expected.v)
    assert found.failure == expected.failure
