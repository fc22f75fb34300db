"""The numbers that a policy is tuned by, such as ``at-most:n=3``.

A policy declares each with its default: a number, or a tuple of words of which the first is the
default. In the policy they are ``p.n``: a tuple of floats with their names, in which a word is the
index of it. Kernels hand every policy of a kind an array, so that all have one type.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import PolicyError

Declared = float | tuple[str, ...]
"""The default of a parameter, or the words that it may be, the default first."""
PREFIX = "Parameters__"

_types: dict[str, Any] = {}


def check_declared(policy: str, declared: Mapping[str, Any]) -> None:
    """Raises unless each parameter has a name that code can write, and a default."""
    for name, default in declared.items():
        if not re.fullmatch(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*", name):
            raise PolicyError(
                f"policy {policy}: parameters: {name!r} is not allowed: lower-case words"
            )
        is_number = isinstance(default, (int, float)) and not isinstance(default, bool)
        is_choice = (
            isinstance(default, tuple)
            and len(default) > 0
            and all(isinstance(word, str) for word in default)
        )
        if not (is_number and np.isfinite(default)) and not is_choice:
            raise PolicyError(
                f"policy {policy}: parameters: {name}: {default!r} is not allowed: a number, or a "
                "tuple of words"
            )


def check_value(policy: str, name: str, declared: Declared, value: Any) -> float:
    """The number that stands for what a user gave a parameter."""
    if isinstance(declared, tuple):
        if value not in declared:
            raise PolicyError(
                f"policy {policy}: {name}: {value!r} is not allowed: one of {', '.join(declared)}"
            )
        return float(declared.index(value))
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise PolicyError(f"policy {policy}: {name}: {value!r} is not allowed: a number")
    return float(value)


def default_of(declared: Declared) -> float:
    """The number that a parameter is when nobody gives it."""
    return 0.0 if isinstance(declared, tuple) else float(declared)


def as_array(values: Mapping[str, float]) -> NDArray[np.float64]:
    """The parameters as kernels take them: read-only."""
    array = np.array(list(values.values()), np.float64)
    array.flags.writeable = False
    return array


def named(values: Mapping[str, float]) -> Any:
    """The parameters as a policy sees them."""
    return type_of(tuple(values))(*values.values())


def type_of(names: tuple[str, ...]) -> Any:
    """The type of a policy's parameters: one for each list of names in a process.

    Its name tells its fields, so that another process can make it too: machine code is kept on
    the disk with the types that it was compiled for.
    """
    return __getattr__(PREFIX + "__".join(name.replace("-", "_") for name in names))


def __getattr__(name: str) -> Any:
    if not name.startswith(PREFIX):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _types:
        fields = [field for field in name.removeprefix(PREFIX).split("__") if field]
        made = namedtuple(name, fields)  # type: ignore[misc]
        made.__module__ = __name__
        _types[name] = made
    return _types[name]
