"""The disk cache of compiled code, keyed by what a function reaches.

Numba keys the cache of a function by the file of that function alone: after an edit of a callee
in another file the old machine code would still run. Here the key is a hash of the bytecode of
the function and of all that it calls, of the constants that they use, and of the fields of the
NamedTuples that they take. So an edit recompiles what it changes and nothing else; comments,
docstrings and line numbers change nothing; and two copies of the sources share their code.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
import types
import uuid
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numba
import numpy as np
from numba.core import types as numba_types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher

from cloudarena.engine.references import TupleReference

DAYS_KEPT = 30
"""The days for which machine code that nobody asks for stays on the disk."""
SECONDS_PER_DAY = 86_400.0
DAMAGED = (EOFError, pickle.UnpicklingError, AttributeError, ImportError, ValueError, IndexError)
"""What it means to read a file of which a part is missing or wrong."""
VERSIONS = f"{numba.__version__} {np.__version__} {sys.version}"
FORMAT = 2
"""The way in which files are named: what was kept in another way is not taken."""
MAKERS = tuple(Path(__file__).with_name(name) for name in ("parts.py", "references.py"))
"""The files that say how functions become machine code."""


def cache_folder() -> Path:
    """The user's cache folder; a temporary one if it cannot be written to."""
    try:
        home = os.environ.get("CLOUDARENA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
        base = Path(home) if home else Path.home() / ".cache"
        folder = base / "cloudarena" / "compiled"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError):  # no home, or one that cannot be written to
        folder = Path(tempfile.mkdtemp(prefix="cloudarena-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    sweep(folder)
    return folder


def sweep(folder: Path) -> None:
    """Removes what nobody used for ``DAYS_KEPT`` days; looks once a day."""
    marker = folder / "swept"
    now = time.time()
    try:
        if marker.exists() and now - marker.stat().st_mtime < SECONDS_PER_DAY:
            return
        marker.touch()
        for file in folder.iterdir():
            if now - file.stat().st_mtime > DAYS_KEPT * SECONDS_PER_DAY:
                file.unlink(missing_ok=True)
    except OSError:
        return  # another process sweeps, or the folder is read-only


FOLDER = cache_folder()


class ReachCache(FunctionCache):
    """The cache of one function. What it reaches is looked up at the first use of the cache.

    At the time of decoration callees that are defined further down are not there yet.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._py_func = function
        self._options = options
        self._name = repr(function)
        self._cache_path = str(FOLDER)
        self._impl = _Results(function)
        self._opened: _Files | None = None
        self.enable()

    @property
    def _cache_file(self) -> _Files:
        if self._opened is None:
            name = f"{self._py_func.__module__}.{self._py_func.__qualname__}"
            stamp = fingerprint(self._py_func, self._options)
            self._opened = _Files(
                cache_path=self._cache_path,
                filename_base=f"{re.sub('[^.0-9A-Za-z_-]', '', name)[-120:]}-{stamp}",
                source_stamp=stamp,
            )
        return self._opened

    def holds(self, dispatcher: Any, arguments: Any) -> bool:
        """Whether there is machine code on the disk for arguments."""
        key = self._index_key(arguments, dispatcher.targetctx.codegen())
        return key in self._cache_file._load_index()

    def _load_overload(self, signature: Any, target_context: Any) -> Any:
        data = super()._load_overload(signature, target_context)
        if data is not None:
            self._touch(signature, target_context)
        return data

    def _save_overload(self, signature: Any, data: Any) -> None:
        """Keeps what was compiled; code that cannot be kept runs all the same.

        Numba also keeps the source, which for code of a notebook or a page may not be there.
        """
        with contextlib.suppress(OSError, SyntaxError, TokenError, IndexError):
            super()._save_overload(signature, data)

    def _touch(self, signature: Any, target_context: Any) -> None:
        """Notes that the code was used today."""
        file = self._cache_file
        key = self._index_key(signature, target_context.codegen())
        for path in (file._index_path, file._data_path(file._load_index().get(key, ""))):
            try:
                if time.time() - Path(path).stat().st_mtime > SECONDS_PER_DAY:
                    os.utime(path)
            except OSError:
                continue

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        """What tells the signatures of a function apart.

        Numba's own key also has the bytes of what the function closes over. Those of compiled
        functions differ from process to process, so that code would be found by none but the one
        that made it; the fingerprint has it all, as what it stands for.
        """
        return signature, codegen.magic_tuple(), _layout(signature)


class _Files(IndexDataCacheFile):
    """An index and the machine code that it points to. A damaged file is as good as none.

    Numba numbers the files of a function's signatures, and writes the index before the code. Two
    processes that compile two signatures at once then give both one number, and the code of one
    runs as the other's. Here every file has a name of its own and is there before the index
    names it; of two indices that are written at once one is lost, and its code compiled again.
    """

    def save(self, key: Any, data: Any) -> None:
        """Keeps the machine code of a signature."""
        name = f"{Path(self._index_name).stem}.{uuid.uuid4().hex[:16]}.nbc"
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except DAMAGED:
            return {}

    def _load_data(self, name: str) -> Any:
        try:
            return super()._load_data(name)
        except DAMAGED:
            return None


class _Results(CompileResultCacheImpl):
    """Turns compiled functions into bytes and back; where they lie is the business of the cache."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Place(function)


class _Place:
    """What Numba asks of a place for files."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_file = function.__code__.co_filename

    def ensure_cache_path(self) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)


def fingerprint(function: Callable[..., Any], options: dict[str, Any] | None = None) -> str:
    """A hash of all that the machine code of a function depends on, but for its signature."""
    digest = hashlib.sha256(f"{VERSIONS} {FORMAT} {makers()}".encode())
    digest.update(repr(sorted((options or {}).items())).encode())
    for part in reached(function):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


@cache
def makers() -> str:
    """Stands for how functions become machine code here: code that was made otherwise is old."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in MAKERS)).hexdigest()


def reached(function: Callable[..., Any]) -> Iterator[bytes]:
    """The bytecode, callees and constants of a function, each once, in the order of the code."""
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Dispatcher):
            yield repr(sorted(value.targetoptions.items())).encode()
            value = value.py_func
        if isinstance(value, types.FunctionType):
            yield f"{value.__module__}.{value.__qualname__}".encode()
            yield _bytecode(value.__code__, value.__doc__)
            waiting += list(used_values(value))[::-1]
        else:
            yield _constant(value)


def _bytecode(code: types.CodeType, docstring: str | None) -> bytes:
    """The instructions of a function and of those within it, without docstring and line numbers."""
    constants = list(code.co_consts)
    if docstring is not None and constants and constants[0] == docstring:
        constants[0] = None
    parts = [code.co_code, repr((code.co_names, code.co_varnames, code.co_freevars)).encode()]
    for constant in constants:
        if isinstance(constant, types.CodeType):
            parts.append(_bytecode(constant, None))
        elif isinstance(constant, frozenset):  # whose order differs from process to process
            parts.append(repr(sorted(map(repr, constant))).encode())
        else:
            parts.append(repr(constant).encode())
    return b"\0".join(parts)


def used_values(function: types.FunctionType) -> Iterator[Any]:
    """The values of the global names, closure and defaults of a function."""
    code = function.__code__
    names = list(_names(code))
    for name in names:
        if name in function.__globals__:
            value = function.__globals__[name]
            if isinstance(value, types.ModuleType):
                if value.__name__.partition(".")[0] not in ("numpy", "math", "numba"):
                    yield from (vars(value)[key] for key in names if key in vars(value))
            else:
                yield value
    for cell in function.__closure__ or ():
        yield cell.cell_contents
    yield from function.__defaults__ or ()


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _constant(value: Any) -> bytes:
    """What a value that is no function contributes to machine code."""
    if isinstance(value, tuple):
        return repr(type(value)).encode() + b"\0".join(map(_constant, value))
    if isinstance(value, np.ndarray):
        return f"{value.dtype.descr} {value.shape}".encode() + value.tobytes()
    if isinstance(value, type):
        fields = getattr(value, "_fields", ())
        if issubclass(value, Enum):
            fields = tuple((member.name, member.value) for member in value)
        return f"{value.__module__}.{value.__qualname__}{fields}".encode()
    if callable(value) and not isinstance(value, numba_types.Type):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__name__', value)}".encode()
    return repr(value).encode()


def _layout(kind: Any) -> Any:
    """A type with the names of the fields of its NamedTuples, which Numba's own key lacks."""
    if isinstance(kind, (tuple, list)):
        return tuple(_layout(part) for part in kind)
    if isinstance(kind, numba.core.typing.templates.Signature):
        return _layout(kind.args)
    if isinstance(kind, TupleReference):
        return ("reference", _layout(kind.tuple_type))
    if isinstance(kind, numba_types.BaseNamedTuple):
        return (kind.instance_class.__name__, kind.fields, _layout(tuple(kind.types)))
    if isinstance(kind, numba_types.BaseTuple):
        return _layout(tuple(kind))
    if isinstance(kind, numba_types.FunctionType):
        return ("function", _layout(kind.signature.args), str(kind.signature.return_type))
    return str(kind)
