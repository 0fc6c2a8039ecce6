"""scipy's BLAS is loaded without scipy.linalg, in a process of its own, and scipy.linalg can be imported later."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

_PRODUCT = """
import numba
import numpy as np
@numba.njit
def product(a, b):
    return np.dot(a, b)
a = np.arange(12.0).reshape(3, 4)
assert np.allclose(product(a, a.T.copy()), [[14, 38, 62], [38, 126, 214], [62, 214, 366]])
"""
_LATER = """
import numpy as np
import scipy.linalg
import scipy.linalg.cython_blas as blas
assert blas is sys.modules["scipy.linalg.cython_blas"]
assert np.allclose(scipy.linalg.svdvals(np.diag([3.0, 2.0])), [3, 2])
"""


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", f"import sys\n{code}"], check=True)


def test_kernels_call_it_without_scipy_linalg() -> None:
    load = "from moverank.rerank.runtime.thread_pool import load_kernels_blas\nload_kernels_blas()\n"
    _run(f"{load}{_PRODUCT}\nassert 'scipy.linalg' not in sys.modules\n{_LATER}")


def test_without_a_way_to_load_it_alone_scipy_linalg_is_imported() -> None:
    load = (
        "from moverank.rerank.runtime import thread_pool\n"
        "def fail(*_):\n    raise ImportError\n"
        "thread_pool.load_alone = fail\nthread_pool.load_kernels_blas()\nassert 'scipy.linalg' in sys.modules\n"
    )
    _run(f"{load}{_PRODUCT}{_LATER}")
