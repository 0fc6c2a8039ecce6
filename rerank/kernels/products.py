"""Inner products of many vectors with a few: BLAS takes two to three times as long where there are only a few.

Four products share each load of a vector, and do not wait for each other's sums. The rows of a cost matrix are read in
the order of a document's words, that is, anywhere: without a hint to load memory ahead a bound waits for each of them.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from moverank.rerank.kernels.compiled import SUMS, compiled


@compiled(fastmath=SUMS, inline="always")  # as a call, Sinkhorn's bounds take 1.3 times as long
def four_products(vector, rows, p):  # type: ignore[no-untyped-def]
    """Return the inner products of `vector` (n,) and each of the rows p to p + 3 of `rows` (m, n), all float32."""
    one, two, three, four = rows[p], rows[p + 1], rows[p + 2], rows[p + 3]
    first, second, third, fourth = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for x in range(len(vector)):
        first += vector[x] * one[x]
        second += vector[x] * two[x]
        third += vector[x] * three[x]
        fourth += vector[x] * four[x]
    return first, second, third, fourth


FEW = 24
"""The most columns for which the kernel is as fast as BLAS, which would have to be loaded (`load_kernels_blas`)."""


@compiled(fastmath=SUMS)
def row_products(vectors, query, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n, h) with the inner products of `vectors` (n, d) and `query` (h, d), all float32.

    Four columns at a time share each load of a vector.
    """
    h, d = query.shape
    if h > FEW:
        np.dot(vectors, query.T, out)
        return
    fours = h - h % 4
    for i in range(len(vectors)):
        vector = vectors[i]
        for j in range(0, fours, 4):
            out[i, j], out[i, j + 1], out[i, j + 2], out[i, j + 3] = four_products(vector, query, j)
        for j in range(fours, h):
            product, one = np.float32(0), query[j]
            for x in range(d):
                product += vector[x] * one[x]
            out[i, j] = product


@compiled(fastmath=SUMS)
def products_with_one(first, last, vectors, one, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n,) with the inner products of `vectors` (n, d) float32 and `one` (d,) float64, summed in float64.

    BLAS rounds the product of a vector differently among other vectors; this kernel always rounds it in the same way.
    """
    for i in range(first, last):
        vector, product = vectors[i], 0.0
        for x in range(len(one)):
            product += vector[x] * one[x]
        out[i] = product


@compiled(fastmath=SUMS)
def inner_product(one, other):  # type: ignore[no-untyped-def]
    """Return the inner product of `one` (n,) and the first n numbers of `other`, summed in float64."""
    total = 0.0
    for c in range(len(one)):
        total += one[c] * other[c]
    return total


AHEAD = 8
"""How many words ahead of a document's current word a row of costs begins to be loaded."""

_LINE = 64  # bytes that the processor loads at a time


def prefetch_entry(_array: Any, _index: Any) -> None:
    """Begin to load the number at `_index` of a contiguous array (n,); uncompiled code does nothing."""


def prefetch_row(_array: Any, _index: Any) -> None:
    """Begin to load the row `_index` of an array (n, m); nothing happens uncompiled, or if rows are not contiguous."""


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
