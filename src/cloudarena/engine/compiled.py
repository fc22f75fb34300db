"""Numba, set up so that compiled code is cached, and never stale: see ``code_cache``."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

from numba.core import typeinfer, types
from numba.core.typing.templates import infer_global
from numba.extending import register_jitable
from numba.np import linalg

from cloudarena.engine.code_cache import ReachCache
from cloudarena.engine.parts import AS_PART, make_part, make_whole

NO_REFERENCE_COUNTS: dict[str, Any] = {"_nrt": False}
"""Turns off Numba's run time of counted references."""
NO_C: dict[str, Any] = {"no_cfunc_wrapper": True}
"""Turns off what a policy is called through, and nothing else."""


def _start_without_blas() -> None:
    """Keeps Numba from importing SciPy's products of matrices to see that it could.

    That takes a seventh of a short run. Code that multiplies matrices imports them all the same,
    when it is compiled.
    """

    def look() -> None:
        if importlib.util.find_spec("scipy") is None:
            raise ImportError("SciPy is not installed")

    ensure = linalg.ensure_blas
    linalg.ensure_blas = look
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = ensure


_start_without_blas()


def _cached(function: Callable[..., Any], **options: Any) -> Any:
    """A function that is compiled at its first call, or taken from the cache."""
    dispatcher = make_whole(function, **options)
    dispatcher._cache = ReachCache(function, options)
    return dispatcher


def jit(function: Callable[..., Any]) -> Any:
    """Compiles a function at its first call, or takes it from the cache."""
    return _cached(function, **NO_C)


def jit_uncounted(function: Callable[..., Any]) -> Any:
    """Compiles as ``jit`` does, a function that makes no arrays, without counts of references.

    A count is an atomic operation for each array of each NamedTuple that a function touches, in
    all half the time of a kernel. Whoever calls from Python holds the arrays anyway. A function
    that Python gives a Generator must count: Numba makes a reference to it at the call.
    """
    return _cached(function, **NO_REFERENCE_COUNTS, **NO_C)


def jit_nogil(function: Callable[..., Any]) -> Any:
    """Compiles as ``jit_uncounted`` does, and lets other threads of Python run meanwhile.

    Called through ``interrupts.apart``, signals are heard too.
    """
    return _cached(function, nogil=True, **NO_REFERENCE_COUNTS, **NO_C)


def jit_inline(function: Callable[..., Any]) -> Any:
    """Compiles as ``jit_uncounted`` does, a function that compiled callers, its only ones, inline.

    So what is large should be called in one place.
    """
    return make_part(function, forceinline=True, **NO_REFERENCE_COUNTS)


def jit_call(function: Callable[..., Any]) -> Any:
    """Compiles as ``jit_inline`` does, but stays a call: for large code with several callers."""
    return make_part(function, **NO_REFERENCE_COUNTS)


def jit_inline_entry(function: Callable[..., Any]) -> Any:
    """Compiles as ``jit_inline`` does, a function that Python calls as well."""
    return _cached(function, forceinline=True, **NO_REFERENCE_COUNTS, **NO_C)


def jit_formula(function: Callable[..., Any]) -> Any:
    """Compiles a formula as ``jit_inline_entry`` does, with division by zero as NumPy has it.

    Python would raise, and a loop with a way out of it is not SIMD.
    """
    options = {"forceinline": True, "error_model": "numpy", **NO_REFERENCE_COUNTS, **NO_C}
    return _cached(function, **options)


def jitable(function: Callable[..., Any]) -> Any:
    """Leaves a function as it is for Python; compiled code that calls it takes it in compiled.

    For a small function that stepped policies call as well: to find out the types of a NamedTuple
    of arrays, which the call of a compiled function begins with, takes longer than to interpret it.
    """
    return register_jitable(**NO_REFERENCE_COUNTS, **AS_PART)(function)


def jitable_shared(function: Callable[..., Any]) -> Any:
    """Does what ``jitable`` does, and takes NamedTuples of arrays by reference, as all parts do.

    It is for functions that hand large ones to each other. A ``jitable`` takes them by value, and
    its caller copies them at each call that the compiler does not inline.
    """
    part = make_part(function, **NO_REFERENCE_COUNTS)
    infer_global(function, types.Dispatcher(part))
    _SHARED.append(part)
    return function


_SHARED: list[Any] = []
"""Keeps what stands for functions in compiled code, of which Numba keeps weak references."""


def jitable_counted(function: Callable[..., Any]) -> Any:
    """Does what ``jitable`` does, for a function that makes arrays."""
    return register_jitable(**AS_PART)(function)


def jit_inline_uncached(function: Callable[..., Any], **options: Any) -> Any:
    """A function that becomes part of the compiled code that calls it, and is kept with that."""
    return make_part(function, forceinline=True, **options)


def jit_for_signature(
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
    return compile_for(dispatcher, signature)


def compile_for(dispatcher: Any, signature: Any) -> Any:
    """A function that is compiled for one signature, or for its arguments, and for no other."""
    with typeinfer.register_dispatcher(dispatcher):
        dispatcher.compile(signature)
    dispatcher.disable_compile()
    return dispatcher
