"""Numba, set up so that compiled code is cached, and never stale.

Numba keys the cache of a function by the file of that function alone: after an edit of a callee
in another file the old machine code would still run. So the cache lives in a folder that is
named by a hash of all sources that hold compiled code.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

PACKAGE = Path(__file__).parent.parent
COMPILES = (b"engine.compiled", b"PolicyBook(")
"""What a source says that holds compiled code: it imports this module, or registers policies."""


def source_fingerprint(package: Path = PACKAGE) -> str:
    """A hash of every source that holds compiled code, and of the Numba version."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for file in sorted(package.rglob("*.py")):
        source = file.read_bytes()
        if any(word in source for word in COMPILES):
            digest.update(str(file.relative_to(package)).encode())
            digest.update(source)
    return digest.hexdigest()[:16]


def cache_folder(package: Path = PACKAGE) -> Path:
    """The user's cache folder for this version of the sources, or a temporary one."""
    home = os.environ.get("CLOUDARENA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    base = Path(home) if home else Path.home() / ".cache"
    folder = base / "cloudarena" / f"numba-{source_fingerprint(package)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.gettempdir()) / f"cloudarena-{getpass.getuser()}" / folder.name


numba.config.CACHE_DIR = str(cache_folder())  # type: ignore[attr-defined]


def compiled(function: Callable[..., Any]) -> Any:
    """Compiles a function at its first call, or takes it from the cache."""
    return numba.njit(cache=True)(function)


def inner(function: Callable[..., Any]) -> Any:
    """As ``compiled``, for a function that only compiled code calls: compiles much faster."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(cache=True, **options)(function)


def compiled_as(function: Callable[..., Any], signature: Any, cache: bool = True) -> Any:
    """Compiles a function for one signature, now, or takes it from the cache.

    A kernel that takes a policy needs this: only with an explicit signature is the policy a
    ``FunctionType``, which caches across processes.
    """
    return numba.njit(signature, cache=cache)(function)
