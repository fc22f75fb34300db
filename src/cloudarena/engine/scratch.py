"""Room for a few numbers that a function needs while it is called, and nobody after it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import populate_array

from cloudarena.base.arrays import Floats

ROOM = 128
"""Numbers for which there is room: the most candidates of a decision."""


def scratch_floats() -> Floats:
    """Room for ``ROOM`` numbers, of any value.

    Compiled code takes it from its stack, where an allocation would take longer than most of what
    is done with it: so the function that asks for it must neither return nor keep it.
    """
    return np.empty(ROOM)


@type_callable(scratch_floats)
def _type_of_scratch(context: Any) -> Any:
    return lambda: types.Array(types.float64, 1, "C")


@lower_builtin(scratch_floats)
def _make_scratch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.return_type)(context, builder)
    double = context.get_value_type(types.float64)
    size = context.get_constant(types.intp, ROOM)
    step = context.get_constant(types.intp, np.dtype(np.float64).itemsize)
    numbers = cgutils.alloca_once(builder, double, size=ROOM)
    populate_array(array, numbers, [size], [step], step, None)
    return array._getvalue()
