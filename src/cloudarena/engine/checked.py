"""Functions of users compiled so that they can neither crash a run nor change it.

An index is checked, in the function and in all that it calls. What a policy is shown is read-only
by its type. Numba knows a few ways around that (``flat``, records, ``np.ascontiguousarray``): a
function that uses one is not compiled, since NumPy refuses to write in each of them.
"""

from __future__ import annotations

import dis
import hashlib
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import types as numba_types
from numba.core.dispatcher import Dispatcher
from numba.extending import overload

from cloudarena.engine.code_cache import ReachCache, fingerprint
from cloudarena.engine.compiled import NO_REFERENCE_COUNTS, compile_for
from cloudarena.engine.parts import take_by
from cloudarena.engine.references import held
from cloudarena.engine.unsafe_code import WHOLE_BITS, is_of_numba, unsafe_in

KEPT_OPTIONS = ("fastmath", "error_model")
"""Options of a user's own decorator that change what a function gives."""
PACKAGE_OPTIONS = ("_nrt", "forceinline")
"""Options of the package's functions that make them fast."""


DEEPEST = 6
"""How far names are followed from module to module."""


class CannotCompile(Exception):
    """A function that is not compiled; the words say why, the line says where."""

    def __init__(self, words: str, line: int | None = None) -> None:
        super().__init__(words)
        self.words, self.line = words, line


class _MustCount(Exception):
    """A function calls one that hands out references, so it must count them."""


def checked(function: Callable[..., Any], arguments: Any, stamp: str = "") -> Any:
    """A function of a user's, compiled for arguments, with checks in all that it calls.

    Args:
        function: what the user wrote.
        arguments: the types of the arguments, or a signature.
        stamp: is part of the key under which the machine code is kept on the disk.

    A function that makes no arrays need not count references, which with checks takes as long as
    the rest of it. Which one does is found out by trying, once: the disk remembers.
    """
    kept, failure = [], None
    for options in (NO_REFERENCE_COUNTS, {}):
        try:
            copy = _Copies(stamp, options).of(function)
        except _MustCount:
            continue
        if copy._cache.holds(copy, arguments):
            return compile_for(copy, arguments)
        kept.append(copy)
    for copy in kept:
        try:
            return compile_for(copy, arguments)
        except CannotCompile:
            raise
        except Exception as error:
            failure = error  # of the last one: it may do what the others may not
    raise failure or CannotCompile("it cannot be compiled")


def guarded(function: Any) -> Any:
    """A function of a user's for plain Python, with checks in what is compiled of what it calls.

    It is the function itself if nothing is, or if it keeps state outside it.
    """
    copies = _Copies("", {}, in_python=True)
    try:
        copy = copies.of(function)
    except CannotCompile:
        return function
    return copy if copies.found_code else function


@cache
def checked_helper(function: Any) -> Any:
    """A function of the package, with its indices checked: what policies of users may call."""
    if isinstance(function, Dispatcher) and function.targetoptions.get("boundscheck"):
        return function
    return _Copies("", {}).of(function)


class _Copies:
    """Copies of functions that call copies, each compiled with checks."""

    def __init__(self, stamp: str, options: dict[str, Any], in_python: bool = False) -> None:
        self._stamp, self._options, self._in_python = stamp, options, in_python
        self.found_code = False
        """Whether any of the functions was compiled already."""
        self._done: dict[types.FunctionType, Any] = {}
        self._open: list[types.FunctionType] = []

    def of(self, function: Any) -> Any:
        """The copy of a function."""
        options: dict[str, Any] = {"boundscheck": True, **self._options}
        is_code = isinstance(function, Dispatcher)
        if is_code:
            chosen = function.targetoptions
            wanted = PACKAGE_OPTIONS if _is_of_package(function) else KEPT_OPTIONS
            options |= {key: chosen[key] for key in wanted if key in chosen}
            function = function.py_func
        if function in self._open:
            raise CannotCompile("it calls itself", function.__code__.co_firstlineno)
        if function not in self._done:
            self._open.append(function)
            copy = self._copy(function)
            self.found_code |= is_code
            if is_code or not self._in_python:
                copy = self._compiled(copy, options)
            self._done[function] = copy
            self._open.pop()
        return self._done[function]

    def _compiled(self, copy: types.FunctionType, options: dict[str, Any]) -> Any:
        dispatcher = njit(**options)(copy)
        take_by(dispatcher, held)  # a user's function may unpack a tuple
        stamps = {"stamp": self._stamp, "rules": rules()}
        dispatcher._cache = _SafeCache(copy, {**options, **stamps})
        return dispatcher

    def _copy(self, function: types.FunctionType) -> types.FunctionType:
        code, names = function.__code__, set(names_in(function.__code__))
        if not _is_of_package(function):
            _keep_to_itself(code)
        known = {**function.__globals__}
        for name in names & set(known):
            known[name] = self._replaced(known[name], names, function.__module__)
        if not self._in_python and "int" in names - set(known) and _only_calls(code, "int"):
            known["int"] = _to_whole
        cells = [
            types.CellType(self._replaced(cell.cell_contents, names, function.__module__))
            for cell in function.__closure__ or ()
        ]
        copy = types.FunctionType(
            code, known, function.__name__, function.__defaults__, tuple(cells)
        )
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        if not _is_of_package(function):
            # Numba names machine code by module, name and a count. Two functions of users may have
            # all three in common when they come from the disk, where the count starts again.
            text = f"{fingerprint(function)} {code.co_filename} {self._stamp}"
            copy.__qualname__ += "_" + hashlib.sha256(text.encode()).hexdigest()[:12]
        copy.__doc__ = function.__doc__
        return copy

    def _replaced(self, value: Any, names: set[str], home: str, depth: int = 0) -> Any:
        """A function as its copy; a module with the copies of those of its functions in use."""
        if isinstance(value, types.ModuleType) and depth < DEEPEST and not is_of_numba(value):
            held = vars(value)
            used = {
                name: self._replaced(held[name], names, home, depth + 1)
                for name in names & set(held)
            }
            if all(used[name] is held[name] for name in used):
                return value
            module = types.ModuleType(value.__name__)
            vars(module).update(held | used)
            return module
        if not isinstance(value, (Dispatcher, types.FunctionType)) or is_of_numba(value):
            return value
        is_code = isinstance(value, Dispatcher)
        if _is_of_package(value):
            options = getattr(value, "targetoptions", NO_REFERENCE_COUNTS)
            if "_nrt" not in options and self._options == NO_REFERENCE_COUNTS:
                raise _MustCount
            self.found_code |= is_code
            return value if self._in_python and not is_code else checked_helper(value)
        return self.of(value) if is_code or value.__module__ == home else value


@cache
def rules() -> str:
    """Stands for what is checked here: code that was kept under other rules is not taken."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def _to_whole(value: Any) -> int:
    """What ``int`` is in compiled functions of users: it raises where Python raises."""
    return int(value)


@overload(_to_whole)
def _to_whole_compiled(value: Any) -> Any:
    def in_range(value: Any) -> Any:
        if not -(2.0**WHOLE_BITS) < value < 2.0**WHOLE_BITS:
            raise OverflowError("cannot convert float to integer")
        return int(value)

    def any_other(value: Any) -> Any:
        return int(value)

    return in_range if isinstance(value, numba_types.Float) else any_other


def _only_calls(code: types.CodeType, name: str) -> bool:
    """Whether a function calls what a global name stands for, and does nothing else with it."""
    return all(
        step.opname == "LOAD_GLOBAL" and step.arg is not None and step.arg & 1
        for step in dis.get_instructions(code)
        if step.argval == name and step.opname.startswith("LOAD")
    ) and all(_only_calls(one, name) for one in code.co_consts if isinstance(one, types.CodeType))


class _SafeCache(ReachCache):
    """Keeps only machine code in which there is no way around the checks."""

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keeps what was compiled just now, or raises CannotCompile."""
        if not _is_of_package(self._py_func):
            for statement, words in unsafe_in(data.type_annotation):
                raise CannotCompile(words, statement.loc.line)
        super().save_overload(signature, data)


def _keep_to_itself(code: types.CodeType) -> None:
    """Raises if a function changes names outside it: Numba would change them in it alone."""
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        line = step.starts_line if isinstance(step.starts_line, int) else line
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            raise CannotCompile(f"it changes the global {step.argval}", line)
        if step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars:
            raise CannotCompile(f"it changes {step.argval} of the function around it", line)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _keep_to_itself(constant)


def names_in(code: types.CodeType) -> Iterator[str]:
    """The names that a function uses, in itself and in functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)


def _is_of_package(value: Any) -> bool:
    """Whether a function is one that scenarios offer to policies, or that these call."""
    return str(value.__module__).startswith(("cloudarena.scenarios.", "cloudarena.engine."))
