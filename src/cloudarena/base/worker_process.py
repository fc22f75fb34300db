"""How a worker process starts, and that it ends with the process that started it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

_is_worker = False


def hears_signals() -> bool:
    """Whether an exception of a signal may come up in this process.

    In a worker none does: it does not hear Ctrl-C, and SIGTERM ends it. What is left is the alarm
    that ends a run which takes too long.
    """
    return not _is_worker or signal.getitimer(signal.ITIMER_REAL)[0] > 0.0


def begin_worker() -> None:
    """Makes a worker end with its parent, even when both are killed or compiled code runs."""
    global _is_worker
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Where signals cannot be blocked or set as alarms (Windows), a worker is as any process.
    _is_worker = hasattr(signal, "pthread_sigmask") and hasattr(signal, "setitimer")
    if sys.platform == "linux":
        import ctypes

        ends_with_parent = 1  # PR_SET_PDEATHSIG
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(ends_with_parent, signal.SIGKILL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    """Ends this process when another one has ended."""
    wait_for([sentinel])
    os._exit(1)


class _WorkerProcess(SpawnProcess):
    """A process that knows nothing of the user's script and does not hear Ctrl-C.

    Python would run the script again in each worker, which without a guard starts workers of its
    own. Ctrl-C reaches all processes of a terminal: the main one ends the others.
    """

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802
        main = sys.modules["__main__"]
        hidden = {
            name: getattr(main, name) for name in ("__spec__", "__file__") if hasattr(main, name)
        }
        blocked = hasattr(signal, "pthread_sigmask")
        if blocked:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            main.__spec__ = None
            if "__file__" in hidden:
                del main.__file__
            return SpawnProcess._Popen(process_obj)
        finally:
            for name, value in hidden.items():
                setattr(main, name, value)
            if blocked:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


class WorkerContext(SpawnContext):
    """Starts workers as new interpreters: a copy of this process could not run parallel code."""

    Process = _WorkerProcess
