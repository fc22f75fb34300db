"""What arguments may be, said in one way: name, value, what is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloudarena.base.arrays import Flags, Floats, Ints
from cloudarena.base.errors import SpecError

LARGEST_WHOLE = 10**9


def check_whole(name: str, value: Any, least: int, most: int | None = None, why: str = "") -> int:
    """The value as an int, if it is a whole number from ``least`` to ``most``."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        upper = "" if most is None else f" and at most {most:,}"
        reason = f" ({why})" if why else ""
        raise SpecError(
            f"{name}: {_plain(value)!r} is not allowed: a whole number, "
            f"at least {least:,}{upper}{reason}"
        )
    return int(value)


def check_number(name: str, value: Any, least: float, is_open: bool = False) -> float:
    """The value as a float, if it is finite and at least (or more than) ``least``."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    good = number and np.isfinite(value) and (value > least if is_open else value >= least)
    if not good:
        bound = "more than" if is_open else "at least"
        raise SpecError(
            f"{name}: {_plain(value)!r} is not allowed: a finite number, {bound} {least:g}"
        )
    return float(value)


def check_probability(name: str, value: Any) -> float:
    """The value as a float, if it lies between 0 and 1, both excluded."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not 0.0 < value < 1.0:
        raise SpecError(f"{name}: {_plain(value)!r} is not allowed: more than 0 and less than 1")
    return float(value)


def check_table(name: str, values: ArrayLike, rows: str, columns: str) -> Floats:
    """The values as a matrix of finite numbers with at least one row and column."""
    try:
        table = np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError):
        raise SpecError(f"{name}: is not allowed: numbers only") from None
    if table.ndim != 2 or 0 in table.shape:
        raise SpecError(
            f"{name}: the shape {table.shape} is not allowed: {rows} x {columns}, "
            "at least one of each"
        )
    check_finite(name, table)
    return table


def check_vector(name: str, values: ArrayLike, length: int | None, least: float) -> Floats:
    """The values as a vector of finite numbers, each more than ``least``."""
    try:
        vector = np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError):
        raise SpecError(f"{name}: is not allowed: numbers only") from None
    if vector.ndim != 1 or len(vector) == 0 or (length is not None and len(vector) != length):
        wanted = "at least one number" if length is None else f"{length} numbers"
        raise SpecError(f"{name}: the shape {vector.shape} is not allowed: {wanted}")
    good = np.isfinite(vector) & (vector > least)
    if not good.all():
        index = int(np.argmin(good))
        raise SpecError(
            f"{name}[{index}]: {float(vector[index])!r} is not allowed: "
            f"a finite number, more than {least:g}"
        )
    return vector


def check_finite(name: str, table: Floats) -> None:
    """Raises for the first number that is not finite."""
    good = np.isfinite(table)
    if not good.all():
        index = np.unravel_index(int(np.argmin(good)), good.shape)
        where = ", ".join(map(str, index))
        raise SpecError(f"{name}[{where}]: {float(table[index])!r} is not allowed: a finite number")


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, which print as people write them."""
    return value.item() if isinstance(value, np.generic) else value


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


def check_wholes(name: str, values: ArrayLike, least: int, most: int = LARGEST_WHOLE) -> Ints:
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
        index = np.unravel_index(int(np.argmin(good)), good.shape)
        where = f"[{', '.join(map(str, index))}]" if index else ""
        raise SpecError(f"{name}{where}: {numbers[index]:g} is not allowed: {allowed}")
