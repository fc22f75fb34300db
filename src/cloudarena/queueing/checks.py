"""What arguments may be, said in one way: name, value, what is allowed."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloudarena.errors import SpecError

Floats: TypeAlias = NDArray[np.float64]
Complexes: TypeAlias = NDArray[np.complex128]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

LARGEST_WHOLE = 10**9


def check_positive(name: str, values: ArrayLike) -> Floats:
    """The values as finite numbers above 0, in any shape."""
    numbers = _numbers(name, values)
    _check(name, numbers, numbers > 0.0, "a finite number, more than 0")
    return numbers


def check_not_negative(name: str, values: ArrayLike) -> Floats:
    """The values as finite numbers from 0, in any shape."""
    numbers = _numbers(name, values)
    _check(name, numbers, numbers >= 0.0, "a finite number, at least 0")
    return numbers


def check_share(name: str, values: ArrayLike) -> Floats:
    """The values as numbers from 0 to 1, in any shape."""
    numbers = _numbers(name, values)
    _check(name, numbers, (numbers >= 0.0) & (numbers <= 1.0), "from 0 to 1")
    return numbers


def check_level(name: str, values: ArrayLike, most: float) -> Floats:
    """The values as levels of quantiles: above 0, and at most a bound below 1."""
    numbers = _numbers(name, values)
    allowed = f"more than 0 and at most {most:.12g}"
    _check(name, numbers, (numbers > 0.0) & (numbers <= most), allowed)
    return numbers


def check_whole(name: str, values: ArrayLike, least: int, most: int = LARGEST_WHOLE) -> Ints:
    """The values as whole numbers from ``least`` to ``most``, in any shape."""
    numbers = _numbers(name, values)
    good = (numbers >= least) & (numbers <= most) & (numbers == np.floor(numbers))
    _check(name, numbers, good, f"a whole number from {least:,} to {most:,}")
    return numbers.astype(np.int64)


def check_shape(name: str, values: NDArray[Any], shape: tuple[int, ...], what: str) -> None:
    """Raises unless the array has the shape; ``what`` says what belongs there."""
    if values.shape != shape:
        raise SpecError(f"{name}: the shape {values.shape} is not allowed: {what}")


def check_one(name: str, values: NDArray[Any]) -> float:
    """The number, if it is one and not an array of them."""
    check_shape(name, values, (), "one number")
    return float(values)


def spread(**arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """The named arrays, broadcast to their common shape."""
    try:
        return np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise SpecError(f"shapes that do not go together are not allowed: {shapes}") from None


def keep(frozen: object, **fields: Any) -> None:
    """Sets the fields of a frozen dataclass from its ``__init__``; arrays are its own for good."""
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.flags.writeable = False
        object.__setattr__(frozen, name, value)


def _numbers(name: str, values: ArrayLike) -> Floats:
    try:
        numbers = np.asarray(values)
    except ValueError:  # rows of different lengths
        numbers = np.empty(0, np.object_)
    if numbers.dtype.kind not in "iuf":
        raise SpecError(f"{name}: {values!r} is not allowed: numbers only")
    return numbers.astype(np.float64)


def _check(name: str, numbers: Floats, good: Flags, allowed: str) -> None:
    good = good & np.isfinite(numbers)
    if not good.all():
        place = np.unravel_index(int(np.argmin(good)), good.shape)
        where = f"[{', '.join(map(str, place))}]" if place else ""
        raise SpecError(f"{name}{where}: {numbers[place]:g} is not allowed: {allowed}")
