"""The machine code of policies: of the package's own, and of users', with checks.

A function of a user's is compiled once in a process, and kept on the disk under a key of all that
it depends on. What cannot be compiled, for whatever reason, is said in the user's terms.
"""

from __future__ import annotations

import dis
import inspect
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np

from cloudarena.engine.checked import CannotCompile, checked
from cloudarena.engine.code_cache import fingerprint, used_values
from cloudarena.engine.compiled import NO_REFERENCE_COUNTS, jit_for_signature, jit_inline_uncached
from cloudarena.engine.unsafe_code import parts_of
from cloudarena.policies.blame import (
    WRITES,
    line_of_write,
    location_text,
    named_lines,
    policy_error,
)
from cloudarena.policies.entry import INNER

NO_FUNCTION = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Flags of code that does not run when it is called."""
KEPT = 256
"""How many functions of users a process keeps compiled."""
PLAIN = (bool, int, float, complex, str, bytes, tuple, np.generic, np.ndarray, np.dtype, type)
"""What compiled code can take from outside a function, besides functions and modules."""

_codes: dict[Any, Any] = {}


def built_in_code(entry: Any, signature: Any) -> Any:
    """The machine code of a policy of the package, as kernels call it.

    One that says ``is_lean`` makes no arrays and draws nothing: it does not count references, which
    takes longer than a short policy itself.
    """
    inner = entry.__globals__[INNER]
    options = NO_REFERENCE_COUNTS if getattr(inner, "is_lean", False) else {}
    entry.__globals__[INNER] = jit_inline_uncached(inner, **options)
    return jit_for_signature(entry, signature, **options)


def users_code(
    name: str, function: Callable[..., Any], entry: Callable[..., Any], signature: Any
) -> Any:
    """The machine code of a policy of a user's, with checks.

    Args:
        name: what the policy is called.
        function: what the user wrote, of which messages speak.
        entry: the same as kernels call it.
        signature: the types that kernels call it with.

    Raises CannotCompile with words and location in ``str``; PolicyError if it writes to what it is
    shown.
    """
    if function.__code__.co_flags & NO_FUNCTION:  # Numba would run a coroutine as a function
        raise _said(function, CannotCompile("it is no plain function"))
    try:
        stamp = " ".join(_lines(function.__code__))
        key = fingerprint(entry, {"lines": stamp}), function.__code__.co_filename, signature
    except Exception as error:  # a closure that is not there yet, a value without a text
        raise _said(function, CannotCompile(_reason(function), None)) from error
    if key not in _codes:
        while len(_codes) >= KEPT:
            _codes.pop(next(iter(_codes)))
        _codes[key] = _compiled(name, function, entry, signature, stamp)
    code = _codes[key]
    if isinstance(code, Exception):
        raise code
    return code


def _compiled(name: str, function: Any, entry: Any, signature: Any, stamp: str) -> Any:
    """The machine code, or the exception that says why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _with_return_type(entry, signature, stamp)
    except CannotCompile as error:
        return _said(function, error)
    except Exception as error:
        file = function.__code__.co_filename
        line = line_of_write(error, file)
        if line is not None and not _own_arrays(function):
            return policy_error(name, location_text(file, line), WRITES)
        named = named_lines(str(error), file)
        return _said(function, CannotCompile(_reason(function), named[-1] if named else None))


def _with_return_type(function: Any, signature: Any, stamp: str) -> Any:
    """A function compiled for a signature, if it always returns whole numbers.

    Numba would turn any number into a whole one: so the type that it finds is looked at first.
    """
    dispatcher = checked(function, signature.args, stamp)
    (found,) = (code.signature.return_type for code in dispatcher.overloads.values())
    wanted = signature.return_type
    if found == wanted:
        return dispatcher
    parts, whole = parts_of(found), parts_of(wanted)
    if len(parts) == len(whole) and all(_is_whole(part) for part in parts):
        return checked(function, signature, stamp)
    words = "a whole number" if len(whole) == 1 else f"{len(whole)} whole numbers"
    raise CannotCompile(f"it does not always return {words}")


def _is_whole(kind: Any) -> bool:
    """Whether a type holds whole numbers that are the same in 64 bits with a sign."""
    is_integer = isinstance(kind, numba.types.Integer)
    return is_integer and bool(getattr(kind, "signed", False) or getattr(kind, "bitwidth", 64) < 64)


def _said(function: Any, error: CannotCompile) -> CannotCompile:
    """Returns the same error with its location before its words."""
    code = function.__code__
    location = location_text(code.co_filename, error.line or code.co_firstlineno)
    return CannotCompile(f"{location}: {error.words}", error.line)


def _reason(function: Any) -> str:
    """Why a function cannot be compiled, as far as a look at it tells."""
    code = function.__code__
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            return f"it imports {step.argval}"
    outside = {name: function.__globals__.get(name, 0) for name in code.co_names}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            outside[name] = cell.cell_contents
        except ValueError:
            return f"{name} has no value yet"
    for name, value in outside.items():
        if not isinstance(value, PLAIN) and not callable(value) and not inspect.ismodule(value):
            return f"it uses {name}, a {type(value).__name__} from outside it"
    return "what it does here cannot be compiled"


def _own_arrays(function: Any) -> bool:
    """Whether a function, or one of its file that it calls, uses arrays from outside it.

    Compiled, these are read-only too; stepped they may be written to.
    """
    seen, waiting = set(), [function]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            return True
        if isinstance(value, tuple):
            waiting += value
        elif isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
            waiting += used_values(value)
    return False


def _lines(code: types.CodeType) -> Iterator[str]:
    """Where a function stands, line by line: errors of compiled code name its lines."""
    yield f"{code.co_firstlineno} {code.co_linetable.hex()}"
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _lines(constant)
