"""Signals while compiled code runs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cloudarena
from cloudarena.base.errors import CloudarenaError
from cloudarena.engine.interrupts import Interrupted, make_flag, run_interruptibly

posix = pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
SMALL = {"ticks": 300, "workload.vms": 600, "workload.concurrent": 100, "machines[0].count": 12}

LOOP = '''
import pathlib, signal, sys
import cloudarena
from cloudarena import cli


def loop(pms, vm, rng):
    """Never comes back, compiled or not."""
    turns = 0
    while pms.cores[0] > 0:
        turns += 1
    return turns
'''


def slow(pms, vm, rng):
    """The first valid machine, after a millisecond or so."""
    drawn = 0.0
    for _ in range(300_000):
        drawn += rng.random()
    for m in range(len(pms.valid)):
        if pms.valid[m] and drawn > 0.0:
            return m
    return -2


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_policy_that_loops_for_ever_is_ended_by_a_signal(
    tmp_path: Path, number: int, code: int
) -> None:
    policy = tmp_path / "loop.py"
    policy.write_text(LOOP)
    script = (
        "import sys, threading, time\n"
        "from cloudarena import cli\n"
        "def tell():\n"
        "    while not any(t.name == 'cloudarena kernel' for t in threading.enumerate()):\n"
        "        time.sleep(0.01)\n"
        "    print('deciding', flush=True)\n"
        "threading.Thread(target=tell, daemon=True).start()\n"
        f"sys.argv = ['cloudarena', 'run', 'vm/toy', '--policy', {f'{policy}:loop'!r},"
        f" '--out', {str(tmp_path / 'out')!r}]\n"
        "cli.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "deciding\n"
        time.sleep(0.2)
        begin = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
        assert time.monotonic() - begin < 5.0
    finally:
        process.kill()
    assert (process.returncode, err) == (code, "")
    assert [file.name for file in tmp_path.iterdir()] == ["loop.py"]


@posix
def test_a_run_that_is_interrupted_can_go_on() -> None:
    scenario = cloudarena.load("vm/azure-like-10k", SMALL)
    policy = scenario.kind.policies.resolve(slow)
    expected = scenario.start(0)
    expected.play(policy)
    run = scenario.start(0)

    def stop(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            run.play(policy)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert 0 < run.metrics()["allocated"] < expected.metrics()["allocated"]
    assert run.decision is not None
    run.play(policy)
    assert run.metrics() == expected.metrics()


@posix
def test_what_does_not_stop_is_left_behind_and_its_run_is_over() -> None:
    """Code that takes two seconds stands for one that takes for ever."""
    begun = time.monotonic()
    flag = make_flag()

    def stop(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Interrupted) as interrupt:
            run_interruptibly(lambda: time.sleep(2.0), flag)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begun < 1.9
    assert flag[0] == 1
    assert not interrupt.value.ended
    assert isinstance(interrupt.value.signal, KeyboardInterrupt)
    run = cloudarena.load("vm/toy").start(0)
    run._lost = True
    with pytest.raises(CloudarenaError, match="was interrupted within its policy"):
        run.decision  # noqa: B018


def test_what_is_raised_apart_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 // 0)
    assert run_interruptibly(lambda: 3) == 3
