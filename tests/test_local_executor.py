"""Worker processes behind the face of an Executor."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool

import pytest

from cloudarena.base.names import KERNEL_THREAD
from cloudarena.base.parallel import LocalExecutor, SerialExecutor, in_parallel, slots_of


def kill_oneself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for_ever() -> None:
    threading.Event().wait()


def leave_a_thread_behind() -> int:
    never = threading.Event()
    threading.Thread(target=never.wait, name=KERNEL_THREAD, daemon=True).start()
    return os.getpid()


@pytest.fixture
def executor():
    with LocalExecutor(2) as made:
        yield made
        made.kill()


def test_calls_are_made_and_errors_are_raised(executor: LocalExecutor) -> None:
    futures = {executor.submit(pow, 2, k): k for k in range(20)}
    assert {futures[done]: done.result() for done in as_completed(futures)} == {
        k: 2**k for k in range(20)
    }
    with pytest.raises(ZeroDivisionError):
        executor.submit(divmod, 1, 0).result()


def test_a_worker_that_dies_costs_its_own_call_alone(executor: LocalExecutor) -> None:
    calls: list[Future[object]] = [executor.submit(pow, 2, k) for k in range(6)]
    calls.insert(3, executor.submit(kill_oneself))
    with pytest.raises(BrokenProcessPool):
        calls.pop(3).result()
    assert [call.result() for call in calls] == [2**k for k in range(6)]
    assert executor.submit(pow, 3, 3).result() == 27


def test_a_worker_with_code_that_does_not_stop_is_replaced() -> None:
    with LocalExecutor(1) as executor:
        spent = executor.submit(leave_a_thread_behind).result()
        assert executor.submit(os.getpid).result() != spent


def test_after_the_end_nothing_is_taken() -> None:
    executor = LocalExecutor(1)
    assert executor.submit(pow, 2, 2).result() == 4
    executor.shutdown(cancel_futures=True)
    with pytest.raises(RuntimeError):
        executor.submit(pow, 2, 2)


@pytest.mark.parametrize("begun", [False, True])
def test_workers_end_at_once_even_those_that_are_only_starting(begun: bool) -> None:
    before = set(multiprocessing.active_children())
    executor = LocalExecutor(2)
    if begun:
        executor.submit(pow, 2, 2).result()
    calls = [executor.submit(wait_for_ever) for _ in range(5)]
    ending = threading.Thread(target=executor.shutdown, kwargs={"cancel_futures": True})
    ending.start()
    ending.join(60)
    assert not ending.is_alive()
    assert all(call.done() for call in calls)
    assert set(multiprocessing.active_children()) <= before  # none is left, not even a zombie


def test_of_a_worker_that_was_replaced_nothing_is_left() -> None:
    with LocalExecutor(1) as executor:
        spent = executor.submit(leave_a_thread_behind).result()
        executor.submit(pow, 2, 2).result()
        with pytest.raises(ProcessLookupError):
            os.kill(spent, 0)


def test_any_executor_serves_in_parallel() -> None:
    assert sorted(in_parallel(pow, [(2, 1), (2, 2)], -1, SerialExecutor())) == [2, 4]
    assert slots_of(SerialExecutor()) == 1
    with pytest.raises(ZeroDivisionError):
        list(in_parallel(divmod, [(1, 0)], -1, SerialExecutor()))
