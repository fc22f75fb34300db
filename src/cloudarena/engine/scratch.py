"""Room for a few numbers that a function needs while it is called, and nobody after it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats

ROOM = 128
"""Numbers for which there is room: the most candidates of a decision."""
COLUMNS = 12
"""Numbers of a row of a table."""
BYTES = np.dtype(np.float64).itemsize


def scratch_floats() -> Floats:
    """Room for ``ROOM`` numbers, of any value.

    Compiled code takes it from its stack, where an allocation would take longer than most of what
    is done with it: so the function that asks for it must neither return nor keep it.
    """
    return np.empty(ROOM)


def scratch_table() -> NDArray[np.float64]:
    """Room for ``ROOM`` rows of ``COLUMNS`` numbers, as ``scratch_floats`` gives it."""
    return np.empty((ROOM, COLUMNS))


@type_callable(scratch_floats)
def _type_of_scratch(context: Any) -> Any:
    return lambda: types.Array(types.float64, 1, "C")


@type_callable(scratch_table)
def _type_of_table(context: Any) -> Any:
    return lambda: types.Array(types.float64, 2, "C")


@lower_builtin(scratch_floats)
@lower_builtin(scratch_table)
def _make_scratch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.return_type)(context, builder)
    shape = (ROOM,) if signature.return_type.ndim == 1 else (ROOM, COLUMNS)
    number = context.get_constant(types.intp, BYTES)
    sizes = [context.get_constant(types.intp, size) for size in shape]
    steps = [
        context.get_constant(types.intp, BYTES * math.prod(shape[k + 1 :]))
        for k in range(len(shape))
    ]
    numbers = cgutils.alloca_once(
        builder, context.get_value_type(types.float64), size=math.prod(shape)
    )
    populate_array(array, numbers, sizes, steps, number, None)
    return array._getvalue()
