"""Prefetching: a hint to load memory that is read soon, where the processor cannot foresee the address.

The rows of a cost matrix are read in the order of a document's words, that is, anywhere: without the hint a bound waits
for each of them.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

AHEAD = 8
"""How many words ahead of a document's current one their rows begin to be loaded."""

_LINE = 64  # bytes that the processor loads at a time


def prefetch_entry(_array: Any, _index: Any) -> None:
    """Begin to load the number at `_index` of a contiguous array (n,); without effect if not compiled."""


def prefetch_row(_array: Any, _index: Any) -> None:
    """Begin to load the row `_index` of an array (n, m); without effect if not compiled, or if rows are scattered."""


@intrinsic
def _prefetch(_context: Any, array: Any, _index: Any, _offset: Any) -> Any:
    """Call LLVM's prefetch intrinsic for the byte `_offset` of a number or row: to be read, into all caches."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, arguments[0])
        stride = builder.extract_value(held.strides, 0)
        place = builder.add(builder.mul(arguments[1], stride), arguments[2])
        address = builder.gep(builder.bitcast(held.data, ir.IntType(8).as_pointer()), [place])
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, flag, flag, flag])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        read, all_caches, data = flag(0), flag(3), flag(1)
        builder.call(prefetch, [address, read, all_caches, data])
        return context.get_dummy_value()

    return types.none(array, types.intp, types.intp), code


@overload(prefetch_entry)
def _compiled_entry(_array, _index):  # type: ignore[no-untyped-def]  # as the lambda has none
    return lambda _array, _index: _prefetch(_array, _index, 0)  # type: ignore[call-arg]  # numba passes the context


@overload(prefetch_row)
def _compiled_row(_array, _index):  # type: ignore[no-untyped-def]
    if _array.layout != "C":
        return lambda _array, _index: None

    def prefetch_lines(_array, _index):  # type: ignore[no-untyped-def]
        for offset in range(0, _array.shape[1] * _array.itemsize, _LINE):
            _prefetch(_array, _index, offset)  # type: ignore[call-arg]

    return prefetch_lines
