"""A policy as kernels call it.

Kernels call every policy of a kind with the same types: what it is shown, an array of parameters, a
generator. What the author wrote may take no parameters, or wants them by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from cloudarena.policies.parameters import type_of

ENTRY, INNER, NAMES = "cloudarena_entry", "cloudarena_inner", "cloudarena_names"
"""What an entry and what it calls are called in it: names that no policy has."""


def has_parameters(function: Callable[..., Any]) -> bool:
    """Whether a function has an argument ``p`` before its last, the generator."""
    names = list(inspect.signature(function).parameters)
    return len(names) >= 2 and names[-2] in ("p", "parameters")


def as_called(function: Any, arguments: int, names: tuple[str, ...]) -> Any:
    """A function as kernels call it: with an array of parameters before the generator.

    A function that takes no parameters is called without them; one that has names for them gets a
    tuple with these names. One that takes them and declares none gets the empty array.
    """
    takes = has_parameters(function)
    state = ", ".join(f"a{k}" for k in range(arguments - 2))
    given = ", ".join(f"values[{k}]" for k in range(len(names)))
    middle = f"{NAMES}({given}), " if names else "values, "
    middle = middle if takes else ""
    source = f"def {ENTRY}({state}, values, rng):\n    return {INNER}({state}, {middle}rng)\n"
    space = {INNER: function, NAMES: type_of(names), "__name__": function.__module__}
    exec(compile(source, function.__code__.co_filename, "exec"), space)
    entry: Any = space[ENTRY]
    entry.__code__ = entry.__code__.replace(co_firstlineno=function.__code__.co_firstlineno)
    # Machine code that comes from the disk is told apart by this name.
    entry.__qualname__ = f"{function.__qualname__}.{ENTRY}"
    return entry
