"""Functions that Python calls and that are compiled when they are first called.

A module that only sometimes needs compiled code can be imported without Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any


def jit_deferred(function: Callable[..., Any]) -> Any:
    """Compiles a function at its first call, when Numba is imported too."""

    @cache
    def code() -> Any:
        from cloudarena.engine.compiled import jit

        return jit(function)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return code()(*arguments)

    return call
