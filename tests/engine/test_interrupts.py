"""Compiled code ends on a signal, whichever thread the system gives the signal to."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

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
