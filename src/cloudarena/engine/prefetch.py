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
"""Up to so many rows, all of them stay in the caches, and asking costs more than it saves."""
READ, KEEP, DATA = 0, 3, 1
"""What LLVM is told: it is read, it should stay in all caches, it is not code."""


@intrinsic
def _prefetch(typing: Any, array: Any, row: Any) -> Any:
    """Asks for the row of an array; the row must be there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        fields = context.make_array(kind)(context, builder, arguments[0])
        stride = cgutils.unpack_tuple(builder, fields.strides, kind.ndim)[0]
        data = builder.ptrtoint(fields.data, cgutils.intp_t)
        place = builder.add(data, builder.mul(arguments[1], stride))
        pointer = builder.inttoptr(place, cgutils.voidptr_t)
        number = ir.IntType(32)
        asked = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number]),
            "llvm.prefetch.p0",
        )
        builder.call(asked, [pointer, number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


prefetch: Any = _prefetch
