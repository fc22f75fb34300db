"""How long this process has compiled: the limits of a run are about the run, not about that.

Numba says when it begins and ends to compile a function; one may need others.
"""

from __future__ import annotations

import threading
import time
from functools import lru_cache
from typing import Any, NamedTuple


class _State(NamedTuple):
    """How many functions are being compiled, since when, and the seconds before that."""

    depth: int = 0
    begin: float = 0.0
    total: float = 0.0


class CompileClock:
    """The seconds that went into compiling, all threads together.

    It is read by a signal handler, which may interrupt ``start`` and ``end`` in the same thread:
    the state is replaced whole, and whoever reads it takes no lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = _State()

    @property
    def seconds(self) -> float:
        """The seconds up to now."""
        state = self._state
        return state.total + (time.perf_counter() - state.begin if state.depth else 0.0)

    @property
    def is_running(self) -> bool:
        """Whether something is compiled at this moment."""
        return self._state.depth > 0

    def start(self) -> None:
        """A function begins to be compiled."""
        with self._lock:
            depth, begin, total = self._state
            self._state = _State(depth + 1, begin if depth else time.perf_counter(), total)

    def end(self) -> None:
        """One has been compiled; no effect where an exception kept its begin from being counted."""
        with self._lock:
            depth, begin, total = self._state
            if depth == 0:
                return
            total += 0.0 if depth > 1 else time.perf_counter() - begin
            self._state = _State(depth - 1, begin, total)


@lru_cache(maxsize=1)
def compile_clock() -> CompileClock:
    """The clock of this process, which runs from the first call on."""
    from numba.core import event

    clock = CompileClock()

    class Listener(event.Listener):
        """Hears what Numba says."""

        def on_start(self, event: Any) -> None:
            clock.start()

        def on_end(self, event: Any) -> None:
            clock.end()

    event.register("numba:compile", Listener())
    return clock
