"""Functions of users that take part in a run, found, compiled if they can be, and asked again.

They are compiled as policies are: indices are checked, what is shown is read-only, and what goes
around that runs as Python.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic
from numpy.typing import NDArray

from cloudarena.base.errors import Ended, PolicyError, SpecError, written
from cloudarena.base.notices import tell
from cloudarena.engine.addresses import machine_code, python_code
from cloudarena.engine.checked import CannotCompile, checked, guarded
from cloudarena.policies.blame import WRITES, line_of_write, location_of, location_text, words_of
from cloudarena.policies.machine_code import NO_FUNCTION
from cloudarena.policies.parse import load_function
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.state import (
    COLUMNS,
    HOOKS,
    Choices,
    Claim,
    Extras,
    Hook,
    Idle,
    Load,
    Step,
)

WANTED = (
    "the index of one of the replicas, from 0 on",
    "a number of times, more than 0",
    "seconds, at least 0",
    "a rank, the lowest of which goes first",
    *(["seconds, at least 0, and not infinite"] * 3),
)
"""What each function must return."""
_COLUMN = types.Array(types.float64, 1, "A", readonly=True)
_CHOICES = (types.NamedUniTuple(_COLUMN, COLUMNS, Choices),)
_LOAD = (
    types.NamedUniTuple(types.float64, len(Load._fields), Load),
    types.NamedUniTuple(types.float64, len(Claim._fields), Claim),
)
_IDLE = (types.NamedUniTuple(types.float64, len(Idle._fields), Idle),)
_STEP = (types.NamedUniTuple(types.float64, len(Step._fields), Step),)


class _Code(NamedTuple):
    """A function of a user's at an address."""

    address: int
    kept: Any
    """What keeps it there."""
    function: Callable[..., Any]
    """What the user wrote."""
    plain: _Plain
    """Python's form of it takes a table of what is shown."""


_CODES: dict[tuple[str, int, int], _Code] = {}
"""Code is found by file and name, its time, and the use."""


class _Plain:
    """A function of what is shown as a table, that calls the user's; NaN where that fails."""

    def __init__(self, function: Callable[..., Any], hook: int) -> None:
        self._function, self._hook = function, hook
        self.error: BaseException | None = None
        """What it raised."""
        self.answer: Any = None
        """What it returned last."""
        self.is_used = False
        """Whether runs call it, since the function cannot be compiled."""

    def __call__(self, table: NDArray[np.float64]) -> float:
        table.flags.writeable = False
        try:
            self.answer = self._function(*self._shown(table))
        except BaseException as error:  # a signal too must not be lost in machine code
            self.error = error
            return math.nan
        is_number = isinstance(self.answer, numbers.Real) and not isinstance(self.answer, bool)
        return float(self.answer) if is_number else math.nan

    def _shown(self, table: NDArray[np.float64]) -> tuple[Any, ...]:
        if self._hook == Hook.ROUTE:
            return (Choices(*(table[:, k] for k in range(COLUMNS))),)
        if self._hook == Hook.CONTENTION:
            return Load(*table[0].tolist()), Claim(*table[1, : len(Claim._fields)].tolist())
        return ((Idle if self._hook < Hook.START else Step)(*table[0].tolist()),)


def addresses(scenario: FaasScenario) -> NDArray[np.int64]:
    """The addresses of the functions that a spec names; 0 where it names none."""
    given = scenario.own_functions
    return np.array([0 if text is None else _code(text, k).address for k, text in enumerate(given)])


def raise_fault(scenario: FaasScenario, extras: Extras) -> None:
    """Raises what was wrong with an answer, in the words of the plain function if it raises."""
    fault = extras.progress[0]
    hook = int(fault["fault"]) - 1
    if hook < 0:
        return
    text = scenario.own_functions[hook] or ""
    code = _code(text, hook)
    plain, name = code.plain, f"{HOOKS[hook]}: {text.rpartition(':')[2]}"
    if plain.error is None and not plain.is_used:
        plain(extras.shown[: int(fault["fault_rows"])].copy())
    error, plain.error = plain.error, None
    if isinstance(error, (KeyboardInterrupt, Ended)):
        raise error
    where = location_of(code.function, error)
    if error is not None:
        raise PolicyError(f"{name} ({where}): {words_of(error)}") from error
    answer = float(fault["answer"])
    returned = written(plain.answer) if math.isnan(answer) else f"{answer:g}"
    raise PolicyError(f"{name} ({where}): {returned} is not allowed: {WANTED[hook]}")


def _code(text: str, hook: int) -> _Code:
    file, _, name = text.rpartition(":")
    path = Path(file)
    key = text, path.stat().st_mtime_ns if path.is_file() else 0, hook
    if key not in _CODES:
        try:
            function = load_function(path, name)
        except PolicyError as error:
            raise SpecError(f"{HOOKS[hook]}: {str(error).removeprefix('policy: ')}") from error
        if not callable(function):
            raise SpecError(f"{HOOKS[hook]}: {text} is not a function")
        plain = _Plain(function, hook)
        try:
            address, kept = machine_code(_entry(_checked(function, name, hook), hook))
        except PolicyError:
            raise
        except Exception:
            tell(f"{HOOKS[hook]}: {text} cannot be compiled, and runs as Python, slower")
            if isinstance(function, (FunctionType, Dispatcher)):
                plain = _Plain(guarded(function), hook)
            plain.is_used = True
            address, kept = python_code(plain, COLUMNS)
        _CODES[key] = _Code(address, kept, function, plain)
    return _CODES[key]


def _checked(function: Any, name: str, hook: int) -> Any:
    """The function compiled with checks, if it is one that always returns a number."""
    is_code = isinstance(function, Dispatcher)
    if not is_code and not isinstance(function, FunctionType):
        raise CannotCompile("it is no plain function")
    code = (function.py_func if is_code else function).__code__
    if code.co_flags & NO_FUNCTION:
        raise CannotCompile("it is no plain function")
    of_hook: dict[int, Any] = {Hook.ROUTE: _CHOICES, Hook.CONTENTION: _LOAD}
    shown = of_hook.get(hook, _IDLE if hook < Hook.START else _STEP)
    try:
        made = checked(function, shown, f"{code.co_filename} {code.co_firstlineno}")
    except CannotCompile:
        raise
    except Exception as error:
        line = line_of_write(error, code.co_filename)
        if line is None:
            raise
        where = location_text(code.co_filename, line)
        raise PolicyError(f"{HOOKS[hook]}: {name} ({where}): {WRITES}") from error
    (found,) = (one.signature.return_type for one in made.overloads.values())
    if not isinstance(found, (types.Integer, types.Float)) or isinstance(found, types.Boolean):
        raise CannotCompile("it does not always return a number")
    return made


@intrinsic
def _cast(typing: Any, array: Any) -> Any:
    """Gives an array a type that cannot be written to."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return arguments[0]

    return _COLUMN(array), generate


_read_only: Any = _cast


def _entry(inner: Any, hook: int) -> Any:
    """A function of a pointer and a number of rows, that calls the user's, compiled."""

    def route(pointer: Any, rows: int) -> float:
        t = carray(pointer, (rows, COLUMNS))
        shown = Choices(
            _read_only(t[:, 0]),
            _read_only(t[:, 1]),
            _read_only(t[:, 2]),
            _read_only(t[:, 3]),
            _read_only(t[:, 4]),
            _read_only(t[:, 5]),
            _read_only(t[:, 6]),
            _read_only(t[:, 7]),
        )
        try:
            answer = float(inner(shown))
        except Exception:
            answer = np.nan
        return answer

    def slow(pointer: Any, rows: int) -> float:
        t = carray(pointer, (rows, COLUMNS))
        load = Load(t[0, 0], t[0, 1], t[0, 2], t[0, 3], t[0, 4], t[0, 5], t[0, 6], t[0, 7])
        claim = Claim(t[1, 0], t[1, 1], t[1, 2], t[1, 3], t[1, 4], t[1, 5], t[1, 6])
        try:
            answer = float(inner(load, claim))
        except Exception:
            answer = np.nan
        return answer

    def stay(pointer: Any, rows: int) -> float:
        t = carray(pointer, (rows, COLUMNS))
        idle = Idle(t[0, 0], t[0, 1], t[0, 2], t[0, 3], t[0, 4], t[0, 5], t[0, 6], t[0, 7])
        try:
            answer = float(inner(idle))
        except Exception:
            answer = np.nan
        return answer

    def last(pointer: Any, rows: int) -> float:
        t = carray(pointer, (rows, COLUMNS))
        step = Step(t[0, 0], t[0, 1], t[0, 2], t[0, 3], t[0, 4], t[0, 5], t[0, 6], t[0, 7])
        try:
            answer = float(inner(step))
        except Exception:
            answer = np.nan
        return answer

    if hook == Hook.ROUTE:
        return route
    if hook == Hook.CONTENTION:
        return slow
    return stay if hook < Hook.START else last
