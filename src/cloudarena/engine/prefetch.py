"""Asks the memory for what will be read soon, so that the wait for it is over by then.

In a large cloud an event touches some forty arrays, each at a random row: forty misses of the
caches, of which a processor overlaps only those that are a few hundred instructions apart. Who
knows the next row asks for all of them at once. It changes no result.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

FEW = 2_000
"""Rows up to which all of them stay in the caches, so that asking costs more than it saves."""
READ, KEEP, DATA = 0, 3, 1
"""What LLVM is told: it is read, it should stay in all caches, it is not code."""


def _asked(context: Any, builder: Any, kind: Any, array: Any, places: Any) -> Any:
    """The code that asks for an entry of an array; of the dimensions not given, the first."""
    fields = context.make_array(kind)(context, builder, array)
    strides = cgutils.unpack_tuple(builder, fields.strides, kind.ndim)
    place = builder.ptrtoint(fields.data, cgutils.intp_t)
    for index, stride in zip(places, strides, strict=False):
        place = builder.add(place, builder.mul(index, stride))
    number = ir.IntType(32)
    words = [cgutils.voidptr_t, number, number, number]
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.VoidType(), words), "llvm.prefetch.p0"
    )
    pointer = builder.inttoptr(place, cgutils.voidptr_t)
    builder.call(function, [pointer, number(READ), number(KEEP), number(DATA)])
    return context.get_dummy_value()


@intrinsic
def _prefetch(typing: Any, array: Any, row: Any) -> Any:
    """Asks for the row of an array; the row must be there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _asked(context, builder, signature.args[0], arguments[0], arguments[1:])

    return types.void(array, types.intp), generate


@intrinsic
def _prefetch_at(typing: Any, array: Any, row: Any, column: Any) -> Any:
    """Asks for an entry of an array of two dimensions."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _asked(context, builder, signature.args[0], arguments[0], arguments[1:])

    return types.void(array, types.intp, types.intp), generate


prefetch: Any = _prefetch
prefetch_at: Any = _prefetch_at
