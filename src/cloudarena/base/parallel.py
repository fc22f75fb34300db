"""Work for many processes. What comes out never depends on how many there are.

The workers live as long as the process that started them and no longer: they end when it exits,
is interrupted, or is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from cloudarena.base.errors import CloudarenaError
from cloudarena.base.names import KERNEL_THREAD
from cloudarena.base.worker_process import WorkerContext, begin_worker

AHEAD = 4
"""How many calls for each worker are handed over at a time: enough that none is idle."""


def check_workers(workers: int) -> int:
    """The number of processes, if it is one: at least 1, or -1 for all cores."""
    if workers == 0 or workers < -1:
        raise CloudarenaError(f"workers: {workers} is not allowed: at least 1, or -1 for all cores")
    return workers


def worker_count(workers: int) -> int:
    """How many processes there will be; for -1, one for each core that this process may use."""
    return core_count() if workers == -1 else workers


def core_count() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_parallel(
    function: Callable[..., Any],
    jobs: Sequence[tuple[Any, ...]],
    workers: int,
    executor: Executor | None = None,
) -> Iterator[Any]:
    """What the function gives for each tuple of arguments, as they are done, in any order.

    Args:
        function: is called in the workers; one of a notebook or a script goes there by value.
        jobs: its arguments.
        workers: processes; -1 is one for each core.
        executor: runs the calls instead of processes of this machine, such as that of a cluster.
    """
    if executor is not None:
        return _results(function, jobs, executor, AHEAD * slots_of(executor, workers))
    count = min(worker_count(workers), len(jobs))
    if count < 2:
        return (function(*job) for job in jobs)
    return _results(function, jobs, _local(count), AHEAD * count)


def slots_of(executor: Executor, workers: int = -1) -> int:
    """How many calls an executor runs at a time: as it says, else as the user does."""
    for name in ("slots", "_max_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return worker_count(workers)


def _results(
    function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], executor: Executor, ahead: int
) -> Iterator[Any]:
    """The results of calls in workers. Whoever stops in the middle stops workers of his own."""
    import cloudpickle

    running: set[Future[bytes]] = set()
    waiting = iter(jobs)
    ended_well = False
    try:
        while True:
            while len(running) < ahead and (job := next(waiting, None)) is not None:
                payload = cloudpickle.dumps((function, job, str(Path.cwd())))
                running.add(executor.submit(call_by_value, payload))
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield cloudpickle.loads(future.result())
        ended_well = True
    except BrokenExecutor:
        raise CloudarenaError(
            "a worker process was ended by the system, most likely since memory ran out: take "
            "fewer --workers, or a smaller workload"
        ) from None
    finally:
        if not ended_well:
            for future in running:
                future.cancel()
            if executor is _kept:
                stop_workers()


def call_by_value(payload: bytes) -> bytes:
    """Calls a function in a worker. Functions of a notebook or a script come by value."""
    import cloudpickle

    function, arguments, folder = cloudpickle.loads(payload)
    with contextlib.suppress(OSError):  # a machine of a cluster may not have the folder
        os.chdir(folder)  # workers outlive a call, and paths may be relative
    result: bytes = cloudpickle.dumps(function(*arguments))
    return result


class LocalExecutor(Executor):
    """Worker processes of this machine behind the face of ``concurrent.futures``.

    Each worker is a pool of one process. So when a process dies, by the system or by what it
    computes, only the call that it was at fails, with ``BrokenProcessPool``, the others go on, and
    a new process takes its place. So does one for a process with compiled code that does not stop.
    """

    def __init__(self, workers: int = -1) -> None:
        self.slots = worker_count(check_workers(workers))
        self._pools: list[ProcessPoolExecutor | None] = [None] * self.slots
        self._events: SimpleQueue[_Job | int | None] = SimpleQueue()
        self._spent: SimpleQueue[ProcessPoolExecutor] = SimpleQueue()
        self._is_shut = self._is_killed = False
        # All processes are started by one thread that lasts: Linux ends them with the thread that
        # started them.
        self._thread = threading.Thread(target=self._serve, name="cloudarena pool", daemon=True)
        self._thread.start()
        _executors.add(self)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Has a worker call a function that it can import."""
        if self._is_shut:
            raise RuntimeError("the workers have been stopped")
        future: Future[Any] = Future()
        self._events.put(_Job(future, fn, args, kwargs))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stops taking calls; with ``cancel_futures`` ends all workers at once."""
        if self._is_shut:
            return
        self._is_shut = True
        if cancel_futures:
            self.kill()
        self._events.put(None)
        if wait and threading.current_thread() is not self._thread:
            self._thread.join()
        _executors.discard(self)

    def kill(self) -> None:
        """Ends all worker processes at once, whatever they are doing."""
        self._is_shut = self._is_killed = True  # first: who starts a process now looks at it after
        for pool in list(self._pools):
            _kill_processes(pool)

    def processes(self) -> list[int]:
        """The numbers of the worker processes that there are now."""
        pools = [pool for pool in self._pools if pool is not None]
        return [number for pool in pools for number in list(pool._processes or {})]

    def _serve(self) -> None:
        """Hands calls to workers that are free, until all is done after a shutdown."""
        free = list(range(self.slots))[::-1]
        jobs: deque[_Job] = deque()
        is_open = True
        while is_open or len(free) < self.slots or (jobs and not self._is_shut):
            event = self._events.get()
            if event is None:
                is_open = False
            elif isinstance(event, int):
                free.append(event)
                self._bury()
            else:
                jobs.append(event)
            while free and jobs and not self._is_killed:
                job = jobs.popleft()
                if job.future.set_running_or_notify_cancel():
                    self._begin(free.pop(), job)
        for job in jobs:
            job.future.cancel()
        for pool in self._pools:
            if pool is not None:
                pool.shutdown(wait=True, cancel_futures=True)

    def _bury(self) -> None:
        """Waits for processes that were killed, lest others take them for alive."""
        with contextlib.suppress(Empty):
            while True:
                self._spent.get_nowait().shutdown(wait=True)

    def _begin(self, slot: int, job: _Job) -> None:
        """Has a worker make a call; starts a process where there is none."""
        try:
            pool = self._pools[slot]
            if pool is None or pool._broken:
                pool = ProcessPoolExecutor(1, mp_context=WorkerContext(), initializer=begin_worker)
                self._pools[slot] = pool
            inner = pool.submit(_called, job.function, job.arguments, job.named)
            if self._is_killed:
                _kill_processes(pool)
        except BaseException as error:  # such as no process to be had
            self._pools[slot] = None
            job.future.set_exception(error)
            self._events.put(slot)
            return
        inner.add_done_callback(lambda done: self._end(slot, job, done))

    def _end(self, slot: int, job: _Job, done: Future[Any]) -> None:
        """Passes on what a call gave, and the worker to the next call."""
        error = CancelledError() if done.cancelled() else done.exception()
        pool = self._pools[slot]
        is_spent = isinstance(error, BrokenProcessPool)
        if error is None:
            value, is_spent = done.result()
        if is_spent and pool is not None:
            _kill_processes(pool)
            self._pools[slot] = None
            self._spent.put(pool)
        if error is None:
            job.future.set_result(value)
        else:
            job.future.set_exception(error)
        self._events.put(slot)


def _kill_processes(pool: ProcessPoolExecutor | None) -> None:
    for process in list((getattr(pool, "_processes", None) or {}).values()):
        with contextlib.suppress(OSError, ValueError):
            process.kill()


class _Job(NamedTuple):
    """A call that waits for a worker."""

    future: Future[Any]
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: dict[str, Any]


def _called(
    function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, bool]:
    """What a call gives, and whether it left compiled code behind that does not stop."""
    value = function(*arguments, **named)
    return value, any(thread.name == KERNEL_THREAD for thread in threading.enumerate())


class SerialExecutor(Executor):
    """Calls at once, in this process: for debugging, and where processes cannot be started."""

    slots = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Calls a function; the future is done when this returns."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


_executors: weakref.WeakSet[LocalExecutor] = weakref.WeakSet()
"""All that have workers."""
_kept: LocalExecutor | None = None
"""The workers of the last call: the next call has no need to start any."""


def _local(count: int) -> LocalExecutor:
    """Returns so many workers, those of the last call if there are as many."""
    global _kept
    if _kept is None or _kept.slots != count or _kept._is_shut:
        stop_workers()
        _kept = LocalExecutor(count)
    return _kept


@atexit.register
def stop_workers() -> None:
    """Ends all workers at once, whatever they are doing."""
    global _kept
    _kept = None
    for executor in list(_executors):
        executor.shutdown(wait=True, cancel_futures=True)
