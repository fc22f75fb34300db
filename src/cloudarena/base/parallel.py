"""Work for many processes. What comes out never depends on how many there are.

The workers live as long as the process that started them and no longer: they end when it exits,
is interrupted, or is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any

from cloudarena.base.errors import CloudarenaError

AHEAD = 4
"""How many calls for each worker are handed over at a time: enough that none is idle."""


def check_workers(workers: int) -> int:
    """The number of processes, if it is one: at least 1, or -1 for all cores."""
    if workers == 0 or workers < -1:
        raise CloudarenaError(f"workers: {workers} is not allowed: at least 1, or -1 for all cores")
    return workers


def worker_count(workers: int) -> int:
    """How many processes there will be; for -1, one for each core that this process may use."""
    if workers != -1:
        return workers
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_parallel(
    function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[Any]:
    """What the function gives for each tuple of arguments, as they are done, in any order."""
    count = min(worker_count(workers), len(jobs))
    if count < 2:
        return (function(*job) for job in jobs)
    return _results(function, jobs, count)


def _results(
    function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], count: int
) -> Iterator[Any]:
    """The results of calls in worker processes. Whoever stops in the middle stops the workers."""
    import cloudpickle

    pool = _pool(count)
    running: set[Future[bytes]] = set()
    waiting = iter(jobs)
    ended_well = False
    try:
        while True:
            while len(running) < AHEAD * count and (job := next(waiting, None)) is not None:
                running.add(pool.submit(_call, cloudpickle.dumps((function, job, str(Path.cwd())))))
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield cloudpickle.loads(future.result())
        ended_well = True
    except BrokenProcessPool:
        raise CloudarenaError(
            "a worker process was ended by the system, most likely since memory ran out: take "
            "fewer --workers, or a smaller workload"
        ) from None
    finally:
        if not ended_well:
            stop_workers()


def _call(payload: bytes) -> bytes:
    """Calls a function in a worker. Functions of a notebook or a script come by value."""
    import cloudpickle

    function, arguments, folder = cloudpickle.loads(payload)
    os.chdir(folder)  # workers outlive a call, and paths may be relative
    result: bytes = cloudpickle.dumps(function(*arguments))
    return result


_kept: tuple[int, ProcessPoolExecutor] | None = None
"""The workers of the last call and how many they are: the next call has no need to start any."""


def _pool(count: int) -> ProcessPoolExecutor:
    """So many workers, those of the last call if there are as many."""
    global _kept
    if _kept is None or _kept[0] != count or _kept[1]._broken:
        stop_workers()
        pool = ProcessPoolExecutor(count, mp_context=_Context(), initializer=_begin_worker)
        _kept = (count, pool)
    return _kept[1]


@atexit.register
def stop_workers() -> None:
    """Ends all workers at once, whatever they are doing."""
    global _kept
    if _kept is None:
        return
    _, pool = _kept
    _kept = None
    for process in list((pool._processes or {}).values()):
        with contextlib.suppress(OSError, ValueError):
            process.kill()
    pool.shutdown(wait=True, cancel_futures=True)


def _begin_worker() -> None:
    """Makes a worker end with its parent, even when both are killed or compiled code runs."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
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


class _Context(SpawnContext):
    """Starts workers as new interpreters: a copy of this process could not run parallel code."""

    Process = _WorkerProcess
