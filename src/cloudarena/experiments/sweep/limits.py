"""What a run may take: seconds and memory. A run that takes more is ended, and the others go on.

Compiling is not of the run: the first one of a worker may take no more than the others.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cloudarena.base.errors import CloudarenaError, Ended
from cloudarena.experiments.sweep.compiling import compile_clock

INSIST_S = 1.0
"""How long after its time is up a run is told so again."""
GLANCE_S = 0.05
"""How often a run whose time is up is looked at while it compiles."""
UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


class Limits(NamedTuple):
    """Limits of each run; 0 is none."""

    seconds: float = 0.0
    memory_bytes: float = 0.0

    @property
    def memory_words(self) -> str:
        """The limit of memory behind an error."""
        if not self.memory_bytes:
            return ""
        return f" (--memory {self.memory_bytes / 1e9:g}GB)"


class OutOfTime(Ended):
    """A run has taken longer than it may."""

    words = ""


def read_limits(seconds: float | None, memory: str | None) -> Limits:
    """The limits that a user gives, such as 60 and ``4GB``."""
    if seconds is not None and not 0 < seconds < float("inf"):
        raise CloudarenaError(f"timeout: {seconds:g} is not allowed: more than 0 seconds")
    if memory is None:
        return Limits(seconds or 0.0)
    found = re.fullmatch(r"\s*(\d+\.?\d*)\s*([KMGT]?)B?\s*", memory.upper())
    size = float(found[1]) * UNITS[found[2]] if found else 0.0
    if size <= 0:
        raise CloudarenaError(f"memory: {memory!r} is not allowed: an amount such as 500MB or 4GB")
    return Limits(seconds or 0.0, size)


class _Deadline:
    """The end of a run's time, later by what is compiled meanwhile."""

    def __init__(self, seconds: float) -> None:
        self._clock = compile_clock()
        self._end = time.perf_counter() + seconds - self._clock.seconds

    def left(self) -> float:
        """The seconds until then; 0 when it is over."""
        left = self._end + self._clock.seconds - time.perf_counter()
        return max(left, GLANCE_S) if self._clock.is_running else max(left, 0.0)


@contextlib.contextmanager
def limited(limits: Limits) -> Iterator[None]:
    """Raises ``OutOfTime`` or ``MemoryError`` in the block when it takes more than it may."""
    with _in_memory(limits.memory_bytes), _in_time(limits.seconds):
        yield


def _words(seconds: float) -> str:
    return f"it took longer than {seconds:g} s (--timeout)"


@contextlib.contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    if not seconds:
        yield
        return
    error = OutOfTime(1)
    error.words = _words(seconds)
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        with _by_signal(seconds, error):
            yield
    else:
        with _by_thread(seconds):
            yield


@contextlib.contextmanager
def _by_signal(seconds: float, error: OutOfTime) -> Iterator[None]:
    """The operating system interrupts, compiled code too: it runs in a thread beside this one."""

    deadline = _Deadline(seconds)

    def end(*_: object) -> None:
        if left := deadline.left():
            signal.setitimer(signal.ITIMER_REAL, left, INSIST_S)
        else:
            raise error

    before = signal.signal(signal.SIGALRM, end)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, INSIST_S)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


class _OutOfTimeThere(OutOfTime):
    """Time that is up in a thread: there an exception can be raised by its class alone."""

    words = "it took longer than it may (--timeout)"


@contextlib.contextmanager
def _by_thread(seconds: float) -> Iterator[None]:
    """Another thread interrupts, between two instructions of Python; compiled code ends first."""
    here = threading.get_ident()
    is_over = threading.Event()

    deadline = _Deadline(seconds)

    def end() -> None:
        while left := deadline.left():
            if is_over.wait(left):
                return
        if not is_over.is_set():
            kind = type("OutOfTimeThere", (_OutOfTimeThere,), {"words": _words(seconds)})
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(here), ctypes.py_object(kind))

    threading.Thread(target=end, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(here), None
        )  # if it is on its way


@contextlib.contextmanager
def _in_memory(size: float) -> Iterator[None]:
    """Lets this process take so much more memory than it has, where Linux can say so."""
    taken = _taken_bytes() if size else None
    if taken is None:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = int(taken + size) if hard == resource.RLIM_INFINITY else min(int(taken + size), hard)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _taken_bytes() -> float | None:
    """The memory that this process has for itself."""
    if sys.platform != "linux":
        return None
    found = re.search(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return float(found[1]) * 1024.0 if found else None
