"""What a policy raises, as one line that names the policy, its file and its line."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

from cloudarena.base.errors import CloudarenaError, Ended, PolicyError

FAULTS = BaseException
"""What a policy can raise by itself: anything, see ``fault_of``."""
WRITES = "it writes to an array that it is shown: those are read-only"
READ_ONLY = (
    "assignment destination is read-only",
    "output array is read-only",
    "sort array is read-only",
    "array is read-only",
    "cannot set WRITEABLE flag to True of this array",
    "cannot modify read-only memory",
    "must be contiguous, writable, aligned, and in machine byte-order.",
)
"""What NumPy says of a write to an array that is read-only."""
COMPILER_READ_ONLY = ("Cannot modify readonly array", "explicit output that is read-only")
"""What Numba says of one; it names such arrays in errors of any other sort as well."""
LONGEST = 300
"""Characters of an exception's words that are shown."""


def asked(policy: Any, decision: Any) -> Any:
    """What a policy decides; what it raises becomes a PolicyError."""
    try:
        return policy(decision)
    except FAULTS as error:
        raise fault_of(policy, error) from error


@contextmanager
def blamed(policy: Any, name: str | None = None) -> Iterator[None]:
    """Makes a PolicyError of what a policy's code raises in the block."""
    try:
        yield
    except FAULTS as error:
        raise fault_of(policy, error, name) from error


def fault_of(policy: Any, error: BaseException, name: str | None = None) -> BaseException:
    """The PolicyError for what a policy raised; the error itself if it is none of a user's.

    An interrupt by the user is not the policy's fault.

    Its ``details`` are the whole traceback, which comes along from other processes too.
    """
    if isinstance(error, (CloudarenaError, Ended, KeyboardInterrupt)) or is_built_in(policy):
        return error
    fault = policy_error(name or name_of(policy), location_of(policy, error), words_of(error))
    fault.details = "".join(traceback.format_exception(error))
    return fault


def policy_error(name: str, location: str, words: str) -> PolicyError:
    """One line: the policy, where, what."""
    return PolicyError(
        f"policy {name} ({location}): {words}" if location else f"policy {name}: {words}"
    )


def words_of(error: BaseException) -> str:
    """What went wrong, on one line."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # of a class of the user's
        text = ""
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    if is_of_compiler(error):  # a function that the user compiles, called by one that is not
        written = any(words in text for words in COMPILER_READ_ONLY)
        return WRITES if written else "it calls a function here that cannot be compiled"
    if len(text) > LONGEST:
        text = text[:LONGEST] + " …"
    if isinstance(error, (ValueError, TypeError)) and text.endswith(READ_ONLY):
        return WRITES
    if isinstance(error, IndexError) and text:
        return text
    kind = type(error).__name__
    return f"{kind}: {text}" if text else kind


def location_of(policy: Any, error: BaseException | None = None) -> str:
    """File and line: of the innermost part of the policy's file that raised, or of its head."""
    code = code_of(policy)
    if code is None:
        return ""
    line = code.co_firstlineno
    for frame, at in traceback.walk_tb(error.__traceback__ if error else None):
        if _is_of(frame.f_code, code):
            line = at
    if error is not None and is_of_compiler(error):
        line = line_of_write(error, code.co_filename) or line
    return location_text(code.co_filename, line)


def is_of_compiler(error: BaseException) -> bool:
    """Whether Numba raised it since it cannot compile something."""
    return any(kind.__name__ == "NumbaError" for kind in type(error).__mro__)


def line_of_write(error: BaseException, file: str) -> int | None:
    """The line of a file in which something writes to a read-only array, if Numba says so."""
    for words in COMPILER_READ_ONLY:
        _, found, after = str(error).partition(words)
        if found:
            return next(iter(named_lines(after, file)), None)
    return None


def named_lines(text: str, file: str) -> list[int]:
    """The lines of a file that a text of Numba's names, the innermost first."""
    named = re.findall(r'(?:File "| at )([^"\n]+?)(?:", line | \()(\d+)', text)
    return [int(line) for path, line in named if Path(path).name == Path(file).name]


def _is_of(raised: CodeType, code: CodeType) -> bool:
    """Whether code stands in a policy's file, or is the policy as it was compiled elsewhere."""
    if raised.co_filename == code.co_filename:
        return True
    same_file = Path(raised.co_filename).name == Path(code.co_filename).name
    return same_file and raised.co_name == code.co_name


def location_text(file: str, line: int) -> str:
    """A file, from here if it is beneath the current folder, and a line."""
    path = Path(file)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return f"{path}:{line}"


def code_of(policy: Any) -> CodeType | None:
    """The code of a function, or of what a class or an object of it does when called."""
    function = getattr(policy, "function", policy)
    function = getattr(function, "func", function)  # of a functools.partial
    holders = [function]
    if inspect.isclass(function):
        holders = [vars(function).get(name) for name in ("__init__", "__call__")]
    elif not inspect.isroutine(function):
        holders = [type(function).__call__ if callable(function) else None]
    for holder in holders:
        code = getattr(inspect.unwrap(holder), "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


def is_built_in(policy: Any) -> bool:
    """Whether a policy is one of the package: its faults are not the user's."""
    function = getattr(policy, "function", policy)
    module = getattr(function, "__module__", None) or type(function).__module__
    return str(module).startswith("cloudarena.")


def name_of(policy: Any) -> str:
    """What to call a policy."""
    name = getattr(policy, "name", None) or getattr(policy, "__name__", None)
    return str(name or type(policy).__name__)
