"""Numba, set up so that compiled code is cached, and never stale.

Numba keys the cache of a function by the file of that function alone: after an edit of a callee
in another file the old machine code would still run. So the cache lives in a folder that is
named by a hash of all sources that hold compiled code.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.extending import register_jitable

PACKAGE = Path(__file__).parent.parent
NO_COUNTS: dict[str, Any] = {"_nrt": False}
"""Turns off Numba's run time of counted references."""
NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
SHOWS_ONLY = ("cli", "report", "web", "catalogue", "experiments")
"""Rooms without compiled code: their sources do not count."""


def source_fingerprint(package: Path = PACKAGE) -> str:
    """A hash of every source that compiled code may come from, and of the Numba version."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package)
        if name.parts[0] not in SHOWS_ONLY:
            digest.update(name.as_posix().encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder(package: Path = PACKAGE) -> Path:
    """The user's cache folder for this version of the sources; a temporary one if it must be."""
    try:
        home = os.environ.get("CLOUDARENA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
        base = Path(home) if home else Path.home() / ".cache"
        folder = base / "cloudarena" / f"numba-{source_fingerprint(package)}"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # no home, or one that cannot be written to
        folder = Path(tempfile.mkdtemp(prefix="cloudarena-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder


numba.config.CACHE_DIR = str(cache_folder())  # type: ignore[attr-defined]


def compiled(function: Callable[..., Any]) -> Any:
    """Compiles a function at its first call, or takes it from the cache."""
    return numba.njit(cache=True)(function)


def lean(function: Callable[..., Any]) -> Any:
    """As ``compiled``, for a function that makes no arrays: it does not count references.

    A count is an atomic operation for each array of each NamedTuple that a function touches, in
    all half the time of a kernel. Whoever calls from Python holds the arrays anyway. A function
    that Python gives a Generator must count: Numba makes a reference to it at the call.
    """
    return numba.njit(cache=True, **NO_COUNTS)(function)


def inner(function: Callable[..., Any]) -> Any:
    """As ``lean``, for a function that only compiled code calls: it becomes part of its caller.

    Numba passes a NamedTuple by value, so a call that is not inlined copies the description of
    each of its arrays: for the state of a run some 100 ns, more than most of these functions take.
    Code is inlined at each call, so what is large should be called in one place.
    """
    return numba.njit(cache=True, forceinline=True, **NO_COUNTS, **NO_WRAPPERS)(function)


def separate(function: Callable[..., Any]) -> Any:
    """As ``inner``, but it stays a call: for what is large and called in several places."""
    return numba.njit(cache=True, **NO_COUNTS, **NO_WRAPPERS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """As ``inner``, for a function that Python calls as well."""
    return numba.njit(cache=True, forceinline=True, **NO_COUNTS)(function)


def plain(function: Callable[..., Any]) -> Any:
    """Leaves a function as it is for Python; compiled code that calls it takes it in compiled.

    For a small function that stepped policies call as well: to find out the types of a NamedTuple
    of arrays, which the call of a compiled function begins with, takes longer than to interpret it.
    """
    return register_jitable(**NO_COUNTS)(function)


def compiled_as(function: Callable[..., Any], signature: Any, cache: bool = True) -> Any:
    """Compiles a function for one signature, now, or takes it from the cache.

    A kernel that takes a policy needs this: only with an explicit signature is the policy a
    ``FunctionType``, which caches across processes.
    """
    return numba.njit(signature, cache=cache)(function)
