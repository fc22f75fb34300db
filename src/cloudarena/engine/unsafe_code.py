"""What of a compiled function goes around checks, or does other than Python would.

It is found in what Numba has typed: calls that hand out memory, indices that nobody looks at,
floats that are cut to whole numbers, shapes and numbers that are too large.
"""

from __future__ import annotations

import inspect
import operator
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import carray, farray
from numba.core import ir
from numba.core import types as numba_types

WAYS_AROUND = (
    numba_types.NumpyFlatType,
    numba_types.NumpyNdIterType,
    numba_types.ArrayCTypes,
    numba_types.CPointer,
    numba_types.RawPointer,
)


"""Types through which memory can be read or written without a check."""


UNCHECKED = (
    *(np.ascontiguousarray, np.asfortranarray, np.nan_to_num, np.fill_diagonal),
    *(np.lib.stride_tricks.as_strided, np.take_along_axis, np.delete, carray, farray),
)


"""Functions that write to an array that is read-only, hand it out writable, or do not look at
their indices."""


LONGEST_SIDE = 2**15


"""The longest side of a shape into which an array is put: four of them multiply in 64 bits."""


WHOLE_BITS = 63


"""How many bits a whole number has in compiled code, besides its sign."""


def is_of_numba(value: Any) -> bool:
    """Whether it is of a package that Numba knows how to compile."""
    name = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    return str(name).partition(".")[0] in ("numpy", "math", "numba", "builtins", "operator")


def unsafe_in(typed: Any) -> Iterator[tuple[Any, str]]:
    """Statements that NumPy would check and compiled code would not; with words for why."""
    kinds = typed.typemap
    given = _assigned(typed.blocks)
    for block in typed.blocks.values():
        for statement in block.body:
            if isinstance(statement, (ir.SetItem, ir.StaticSetItem, ir.SetAttr)):
                if isinstance(kinds.get(statement.target.name), numba_types.Record):
                    yield statement, "it writes to a row of a table"
            elif isinstance(statement, ir.Assign):
                kind = kinds.get(statement.target.name)
                if _goes_around(kind, statement.value, kinds):
                    yield statement, "compiled, it would not be checked"
                elif _returns_boolean(kind, statement.value, kinds, given):
                    yield statement, "it returns True or False where a number is asked for"
                elif _is_too_large(statement.value, kinds):
                    yield statement, "its whole numbers need more than 64 bits"


def _assigned(blocks: dict[int, Any]) -> dict[str, list[Any]]:
    """What each variable of a function is given, in all places."""
    given: dict[str, list[Any]] = {}
    for block in blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign):
                given.setdefault(statement.target.name, []).append(statement.value)
    return given


def _goes_around(kind: Any, value: Any, kinds: dict[str, Any]) -> bool:
    """Whether an assignment makes something through which memory is reached unchecked."""
    if isinstance(kind, WAYS_AROUND):
        return True
    if isinstance(kind, numba_types.Function) and kind.typing_key in UNCHECKED:
        return True
    if any(look(value, kinds) for look in (_has_output, _cuts_float, _shapes)):
        return True
    of_record = (
        isinstance(value, ir.Expr)
        and value.op in ("getattr", "getitem", "static_getitem")
        and isinstance(kinds.get(value.value.name), numba_types.Record)
    )
    return of_record and isinstance(kind, numba_types.Array)


def _cuts_float(value: Any, kinds: dict[str, Any]) -> bool:
    """Whether Numba's own ``int`` is called with a float, which may be infinite."""
    if not (isinstance(value, ir.Expr) and value.op == "call" and value.args):
        return False
    called = getattr(kinds.get(value.func.name), "typing_key", None)
    return called is int and isinstance(kinds.get(value.args[0].name), numba_types.Float)


def _shapes(value: Any, kinds: dict[str, Any]) -> bool:
    """Whether an array is given a shape that is not written down, or a huge one.

    Numba multiplies the sides of a shape in 64 bits, and would take what comes out by chance.
    """
    if not (isinstance(value, ir.Expr) and value.op == "call"):
        return False
    called = getattr(kinds.get(value.func.name), "typing_key", None)
    if called not in (np.reshape, "array.reshape"):
        return False
    shape = value.args[1:] if called is np.reshape else value.args
    sides = [side for one in shape for side in parts_of(kinds.get(one.name))]
    return not all(
        isinstance(side, numba_types.IntegerLiteral) and side.literal_value <= LONGEST_SIDE
        for side in sides
    )


def _has_output(value: Any, kinds: dict[str, Any]) -> bool:
    """Whether a function of NumPy is given the array to write to, its ``out``.

    Its inputs are then read up to the size of that array, whatever theirs is.
    """
    if not (isinstance(value, ir.Expr) and value.op == "call"):
        return False
    function, given = getattr(kinds.get(value.func.name), "typing_key", None), len(value.args)
    if isinstance(function, np.ufunc):
        return given + len(value.kws) > function.nin
    if isinstance(function, tuple):  # a method: the array is the first argument
        function, given = getattr(np, str(function[-1]), None), given + 1
    if any(name == "out" for name, _ in value.kws):
        return True
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False  # of C, such as np.dot: Numba looks at its sizes
    return "out" in names and given > names.index("out")


def _returns_boolean(
    kind: Any, value: Any, kinds: dict[str, Any], given: dict[str, list[Any]]
) -> bool:
    """Whether a return turns a boolean into a number, which Python does not."""
    if not (isinstance(value, ir.Expr) and value.op == "cast"):
        return False
    if all(isinstance(part, numba_types.Boolean) for part in parts_of(kind)):
        return False
    seen: set[str] = set()
    waiting = [value.value.name]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if any(isinstance(part, numba_types.Boolean) for part in parts_of(kinds.get(name))):
            return True
        for one in given.get(name, ()):
            waiting += [source.name for source in _sources(one)]
    return False


def _sources(value: Any) -> list[Any]:
    """The variables whose values something is, or is a tuple of, without any computation."""
    if isinstance(value, ir.Var):
        return [value]
    op = value.op if isinstance(value, ir.Expr) else ""
    if op == "cast":
        return [value.value]
    if op == "phi":
        return [one for one in value.incoming_values if isinstance(one, ir.Var)]
    return list(value.items) if op == "build_tuple" else []


def _is_too_large(value: Any, kinds: dict[str, Any]) -> bool:
    """Whether written numbers make one that compiled code would cut, such as ``2**70``."""
    if not (isinstance(value, ir.Expr) and value.op == "binop"):
        return False
    sides: list[Any] = [kinds.get(side.name) for side in (value.lhs, value.rhs)]
    if not all(isinstance(side, numba_types.IntegerLiteral) for side in sides):
        return False
    left, right = (int(side.literal_value) for side in sides)
    if value.fn in (operator.pow, operator.lshift):
        bits = right if value.fn is operator.lshift else right * (abs(left).bit_length() - 1)
        if bits > WHOLE_BITS:
            return abs(left) > (1 if value.fn is operator.pow else 0)
    try:
        made = value.fn(left, right)
    except ArithmeticError:
        return False
    return isinstance(made, int) and not -(2**WHOLE_BITS) <= made < 2**WHOLE_BITS


def parts_of(kind: Any) -> tuple[Any, ...]:
    """The types of a tuple's parts; of anything else its own."""
    return tuple(kind.types) if isinstance(kind, numba_types.BaseTuple) else (kind,)
