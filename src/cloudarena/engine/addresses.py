"""Functions of users that kernels call by their address: ``double f(double *numbers, int64 rows)``.

An address is a plain number, so a state that holds it is copied and cached as any other. Behind it
is machine code, or Python where the function cannot be compiled.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

PLAIN = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.c_int64)
SIGNATURE = types.float64(types.CPointer(types.float64), types.int64)


@intrinsic
def _call_at(typing: Any, address: Any, numbers: Any, rows: Any) -> Any:
    """What the function at an address returns for numbers at another."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where, shown, count = arguments
        pointer = ir.DoubleType().as_pointer()
        function = ir.FunctionType(ir.DoubleType(), (pointer, ir.IntType(64))).as_pointer()
        called = builder.inttoptr(where, function)
        return builder.call(called, (builder.inttoptr(shown, pointer), count))

    return types.float64(types.int64, types.int64, types.int64), generate


call_at: Any = _call_at


def machine_code(entry: Callable[..., float]) -> tuple[int, Any]:
    """The address of a function of a pointer and a number of rows; and what keeps it there."""
    code = numba.cfunc(SIGNATURE)(entry)
    address: Any = code.address
    return int(address), code


def python_code(function: Callable[[NDArray[np.float64]], float], columns: int) -> tuple[int, Any]:
    """The address of a function of an array, called as Python; and what keeps it there.

    What it raises is NaN.
    """

    def called(pointer: Any, rows: int) -> float:
        try:
            return float(function(np.ctypeslib.as_array(pointer, (rows, columns))))
        except Exception:
            return float("nan")

    code = PLAIN(called)
    return int(ctypes.cast(code, ctypes.c_void_p).value or 0), code
