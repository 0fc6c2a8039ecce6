"""The smaller of two floats, in a form of which LLVM makes vector instructions.

From a comparison and a choice, which is what numba makes of its own `min`, LLVM of today makes masked stores, and it
looks for the least of a row one number at a time: five times slower. Whole numbers are not concerned.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from moverank.rerank.kernels.flags import MINIMA


def smaller(a: Any, b: Any) -> Any:
    """Return the smaller of two floats of one type, neither of them NaN."""
    return min(a, b)


@intrinsic
def _minimum(_context: Any, a: Any, b: Any) -> Any:
    """Call LLVM's own minimum."""
    if not isinstance(a, types.Float) or a != b:
        return None

    def code(_target: Any, builder: Any, _signature: Any, given: Any) -> Any:
        kind = given[0].type
        minimum = builder.module.declare_intrinsic("llvm.minnum", [kind], ir.FunctionType(kind, [kind, kind]))
        return builder.call(minimum, given)

    return a(a, b), code


@overload(smaller, jit_options={"fastmath": MINIMA})
def _compiled_smaller(_a, _b):  # type: ignore[no-untyped-def]  # as the lambda has none
    return lambda _a, _b: _minimum(_a, _b)  # type: ignore[call-arg]  # it gets its context from numba
