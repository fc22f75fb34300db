"""Arrays as the whole package uses them: their types, read-only views, whole numbers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Complexes: TypeAlias = NDArray[np.complex128]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

MICRO = 1_000_000
"""Kernels count sizes in whole millionths, so that sums do not drift."""


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number that a kernel can take."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return -(2**63) <= int(value) < 2**63
    return False


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to, nor be made writable."""
    view = np.asarray(memoryview(array).toreadonly())  # type: ignore[arg-type]
    return view if array.dtype.names is None else view.view(array.dtype)


def locked(value: Any) -> Any:
    """A NamedTuple with all its arrays read-only."""
    if isinstance(value, np.ndarray):
        return read_only(value)
    if isinstance(value, tuple):
        return type(value)(*(locked(part) for part in value))
    return value


def whole_millionths(values: NDArray[Any]) -> Ints:
    """Sizes as whole numbers of a millionth, in which kernels count."""
    return np.round(values * MICRO).astype(np.int64)
