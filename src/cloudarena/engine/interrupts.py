"""Compiled code that Ctrl-C and SIGTERM can end.

Python handles signals in its main thread, between two instructions of its own: while that thread
is in compiled code, no signal has an effect. So what may take long runs in a thread beside it,
which lets others run, and the main thread waits. A signal's exception comes up there at once; the
compiled code is asked to stop, and left to itself if it does not: a policy that loops for ever
hears nothing.

A thread for each run costs worker processes more than its making: where each has a core, the system
begins the thread on the core of another one, and it waits there while its own core is idle. They
hear no signals, so there compiled code runs in the main thread.
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

from cloudarena.base.names import KERNEL_THREAD
from cloudarena.base.worker_process import hears_signals

PATIENCE_S = 0.5
"""How long compiled code that was asked to stop is waited for."""
LISTENING_S = 0.1
"""How often the main thread looks for a signal that the system gave to another thread."""
INTERRUPTED = 130
"""The exit code of a process that Ctrl-C has ended, as shells have it."""

_left_behind: list[tuple[threading.Thread, int]] = []
"""Threads whose code did not stop, and the exit code that the signal asks for."""


def make_flag() -> NDArray[np.int64]:
    """What compiled code looks at to see whether it should stop: 0, or 1 if so."""
    return np.zeros(1, np.int64)


class Interrupted(BaseException):
    """A signal's exception came up while compiled code ran.

    Whoever catches it raises ``signal`` again. If the code has not ``ended``, it goes on with what
    it works on, which must not be looked at any more.
    """

    def __init__(self, signal: BaseException, value: Any, ended: bool) -> None:
        super().__init__(repr(signal))
        self.signal, self.value, self.ended = signal, value, ended


def run_interruptibly(call: Callable[[], Any], stop: NDArray[np.int64] | None = None) -> Any:
    """What a call gives that does not hold Python's lock; signals are heard meanwhile.

    Args:
        call: calls a function that was compiled with ``nogil=True``. What it raises is raised.
        stop: is set when a signal's exception interrupts the wait; the call should then come back
            soon. ``Interrupted`` has that exception as its cause.
    """
    if not hears_signals():
        return call()
    done, outcome = threading.Event(), _Outcome()

    def run() -> None:
        try:
            outcome.value = call()
        except BaseException as error:
            outcome.error = error
        finally:
            done.set()

    thread = threading.Thread(target=run, name=KERNEL_THREAD, daemon=True)
    try:
        thread.start()
        # Only a signal that the system hands to this very thread ends a wait without a limit.
        while not done.wait(LISTENING_S):
            pass
    except BaseException as signal:
        if stop is not None:
            stop[0] = 1
        ended = done.wait(PATIENCE_S)
        if not ended:
            code = getattr(signal, "code", None)
            _left_behind.append((thread, code if isinstance(code, int) else INTERRUPTED))
        raise Interrupted(signal, outcome.value, ended and outcome.error is None) from signal
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
    for thread, code in _left_behind:
        if thread.is_alive():
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
            os._exit(code)
