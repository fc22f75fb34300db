"""Compiled code ends on a signal, whichever thread the system gives the signal to."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from cloudarena.base.names import KERNEL_THREAD
from cloudarena.base.parallel import LocalExecutor
from cloudarena.engine.interrupts import Interrupted, make_flag, run_interruptibly


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """A process that was started in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="signals are handled in the main thread",
)
@pytest.mark.usefixtures("_interruptible")
def test_a_signal_that_another_thread_receives_is_heard() -> None:
    stop, begun, asked = make_flag(), threading.Event(), threading.Event()

    def work() -> int:
        begun.set()
        while stop[0] == 0:
            asked.wait(0.001)
        return 7

    def tell() -> None:
        begun.wait()
        signal.raise_signal(signal.SIGINT)  # to this very thread, not to the main one

    threading.Thread(target=tell, daemon=True).start()
    with pytest.raises(Interrupted) as caught:
        run_interruptibly(work, stop)
    assert isinstance(caught.value.signal, KeyboardInterrupt)
    assert caught.value.ended


def test_what_a_call_gives_or_raises_comes_back() -> None:
    assert run_interruptibly(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 // 0)


def thread_of_a_call(alarm_s: float) -> str:
    """The thread that a call is run in, while an alarm is set if it is not 0."""
    if alarm_s:
        signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, alarm_s)
    try:
        return run_interruptibly(lambda: threading.current_thread().name)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="has no alarms")
def test_workers_need_a_thread_beside_them_only_where_an_alarm_may_end_a_run() -> None:
    assert thread_of_a_call(0.0) == KERNEL_THREAD
    with LocalExecutor(1) as pool:
        there = [pool.submit(thread_of_a_call, alarm).result() for alarm in (0.0, 60.0)]
    assert there == ["MainThread", KERNEL_THREAD]
