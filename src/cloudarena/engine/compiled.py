"""Numba, set up so that compiled code is cached, and never stale: see ``code_cache``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core import typeinfer
from numba.extending import register_jitable

from cloudarena.engine.code_cache import ReachCache

NO_COUNTS: dict[str, Any] = {"_nrt": False}
"""Turns off Numba's run time of counted references."""
NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _cached(function: Callable[..., Any], **options: Any) -> Any:
    """A function that is compiled at its first call, or taken from the cache."""
    dispatcher = numba.njit(**options)(function)
    dispatcher._cache = ReachCache(function, options)
    return dispatcher


def compiled(function: Callable[..., Any]) -> Any:
    """Compiles a function at its first call, or takes it from the cache."""
    return _cached(function)


def lean(function: Callable[..., Any]) -> Any:
    """As ``compiled``, for a function that makes no arrays: it does not count references.

    A count is an atomic operation for each array of each NamedTuple that a function touches, in
    all half the time of a kernel. Whoever calls from Python holds the arrays anyway. A function
    that Python gives a Generator must count: Numba makes a reference to it at the call.
    """
    return _cached(function, **NO_COUNTS)


def released(function: Callable[..., Any]) -> Any:
    """As ``lean``, for what may take seconds: meanwhile other threads of Python can run.

    Called through ``interrupts.apart``, signals are heard too.
    """
    return _cached(function, nogil=True, **NO_COUNTS)


def inner(function: Callable[..., Any]) -> Any:
    """As ``lean``, for a function that only compiled code calls: it becomes part of its caller.

    Numba passes a NamedTuple by value, so a call that is not inlined copies the description of
    each of its arrays: for the state of a run some 100 ns, more than most of these functions take.
    Code is inlined at each call, so what is large should be called in one place.
    """
    return _cached(function, forceinline=True, **NO_COUNTS, **NO_WRAPPERS)


def separate(function: Callable[..., Any]) -> Any:
    """As ``inner``, but it stays a call: for what is large and called in several places."""
    return _cached(function, **NO_COUNTS, **NO_WRAPPERS)


def inlined(function: Callable[..., Any]) -> Any:
    """As ``inner``, for a function that Python calls as well."""
    return _cached(function, forceinline=True, **NO_COUNTS)


def plain(function: Callable[..., Any]) -> Any:
    """Leaves a function as it is for Python; compiled code that calls it takes it in compiled.

    For a small function that stepped policies call as well: to find out the types of a NamedTuple
    of arrays, which the call of a compiled function begins with, takes longer than to interpret it.
    """
    return register_jitable(**NO_COUNTS)(function)


def part_of_caller(function: Callable[..., Any]) -> Any:
    """A function that becomes part of the compiled code that calls it, and is kept with that."""
    return numba.njit(forceinline=True, **NO_WRAPPERS)(function)


def compiled_as(
    function: Callable[..., Any],
    signature: Any,
    before: Callable[[], None] | None = None,
    **options: Any,
) -> Any:
    """Compiles a function for one signature, now, or takes it from the cache.

    Args:
        function: what is compiled.
        signature: the types of its arguments and of what it returns.
        before: is called if it must be compiled, which may take long.
        options: of Numba.

    A kernel that takes a policy needs this: only with an explicit signature is the policy a
    ``FunctionType``, which caches across processes.
    """
    dispatcher = _cached(function, **options)
    if before is not None and not dispatcher._cache.holds(dispatcher, signature):
        before()
    return settled(dispatcher, signature)


def settled(dispatcher: Any, signature: Any) -> Any:
    """A function that is compiled for one signature, or for its arguments, and for no other."""
    with typeinfer.register_dispatcher(dispatcher):
        dispatcher.compile(signature)
    dispatcher.disable_compile()
    return dispatcher
