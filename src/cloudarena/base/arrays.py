"""Arrays as the whole package uses them: their types, read-only views, whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from cloudarena.base.numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Complexes: TypeAlias = NDArray[np.complex128]
    Ints: TypeAlias = NDArray[np.int64]
    Flags: TypeAlias = NDArray[np.bool_]
else:  # names for type checkers only, so that whoever needs them need not import NumPy
    Floats = Complexes = Ints = Flags = Any

MICRO = 1_000_000
"""Kernels count sizes in whole millionths, so that sums do not drift."""


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number that a kernel can take."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return -(2**63) <= int(value) < 2**63
    return False


def is_number(value: Any) -> bool:
    """Whether a value is a real number: no truth value, and no text that says one."""
    return is_whole(value) or isinstance(value, (float, np.floating))


def whole_numbers(values: Any, shape: tuple[int, ...]) -> Ints | None:
    """A copy of what somebody gave as an array of whole numbers; None if it is none of that shape.

    Floats without a fraction are whole numbers; truth values, text, times and what hides some of
    its values are not.
    """
    if isinstance(values, np.ma.MaskedArray):
        return None
    try:
        given = np.asarray(values)
    except Exception:  # whatever an object of somebody else's raises
        return None
    if given.shape != shape or given.dtype.kind not in "iufO":
        return None
    if given.dtype.kind == "O" and not all(is_whole(one) for one in given.ravel().tolist()):
        return None
    if given.dtype.kind == "f":
        given = given.astype(np.float64)
        if not (np.abs(given) < 2.0**63).all():
            return None
    whole = given.astype(np.int64)
    return whole if bool((whole == given).all()) else None


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
