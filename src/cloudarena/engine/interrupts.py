"""Compiled code that Ctrl-C and SIGTERM can end.

Python handles signals in its main thread, between two instructions of its own: while that thread
is in compiled code, no signal has an effect. So what may take long runs in a thread beside it,
which lets others run, and the main thread waits. A signal's exception comes up there at once; the
compiled code is asked to stop, and left to itself if it does not: a policy that loops for ever
hears nothing.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

PATIENCE_S = 0.5
"""How long compiled code that was asked to stop is waited for."""
INTERRUPTED = 130
"""The exit code of a process that a signal has ended, as shells have it."""

_left_behind: list[threading.Thread] = []


def make_flag() -> NDArray[np.int64]:
    """What compiled code looks at to see whether it should stop: 0, or 1 if so."""
    return np.zeros(1, np.int64)


class LeftBehindError(RuntimeError):
    """The cause of an interrupt's exception where the compiled code could not be stopped."""


def apart(call: Callable[[], Any], stop: NDArray[np.int64] | None = None) -> Any:
    """What a call gives that does not hold Python's lock; signals are heard meanwhile.

    Args:
        call: calls a function that was compiled with ``nogil=True``.
        stop: is set when a signal (any exception) interrupts the wait; the call should then come
            back soon. Its result is lost, but what it changed is as the call left it.

    The exception of an interrupt has ``LeftBehindError`` as its cause if the call goes on: then
    what it works on must not be looked at again.
    """
    done, outcome = threading.Event(), _Outcome()

    def run() -> None:
        try:
            outcome.value = call()
        except BaseException as error:
            outcome.error = error
        finally:
            done.set()

    thread = threading.Thread(target=run, name="cloudarena kernel", daemon=True)
    thread.start()
    try:
        done.wait()
    except BaseException as interrupt:
        if stop is not None:
            stop[0] = 1
        if not done.wait(PATIENCE_S):
            _left_behind.append(thread)
            raise interrupt from LeftBehindError("the compiled code goes on")
        raise
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


class _Outcome:
    """What a call gave, or raised."""

    value: Any = None
    error: BaseException | None = None


@atexit.register
def _leave() -> None:
    """Ends the process where compiled code still runs: it would use what Python takes down."""
    if any(thread.is_alive() for thread in _left_behind):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
        os._exit(INTERRUPTED)
