"""Signals: every worker ends within seconds, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def hears_ctrl_c() -> None:
    """Lets a process hear Ctrl-C, which jobs in the background of a shell do not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds: float) -> bool:
    """Whether something comes true within a number of seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())


@pytest.fixture
def comparison(tmp_path: Path):
    """A comparison that takes for ever, with workers that are at work."""
    policy = tmp_path / "slow.py"
    ready = tmp_path / "ready"
    ready.mkdir()
    policy.write_text(
        "import os, pathlib, time\n"
        "def slow(decision):\n"
        f"    pathlib.Path({str(ready)!r}, str(os.getpid())).touch()\n"
        "    time.sleep(0.2)\n"
        "    return -1\n"
    )
    command = ["compare", "vm/azure-like-10k", "--policies", f"{policy}:slow,first-fit"]
    command += ["--set", "ticks=50", "--workers", "2", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "cloudarena", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hears_ctrl_c,
    )
    try:
        assert wait_until(lambda: len(list(ready.iterdir())) == 2, 120), "the workers never began"
        yield process, {int(file.name) for file in ready.iterdir()}
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@linux
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)],
)
def test_a_signal_ends_a_comparison_and_all_its_workers(
    comparison, tmp_path: Path, number: int, code: int
) -> None:
    process, workers = comparison
    if number == signal.SIGINT:  # Ctrl-C reaches every process of the terminal
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert wait_until(lambda: not any(map(is_running, workers)), 10), "workers are still there"
    assert "Traceback" not in err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ready", "slow.py"]


@linux
def test_a_worker_that_the_system_kills_is_one_line(comparison) -> None:
    process, workers = comparison
    os.kill(min(workers), signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.startswith("error: a worker process was ended by the system")
    assert len(err.splitlines()) == 1
    assert wait_until(lambda: not any(map(is_running, workers)), 10)


LOSES = """
import os, signal, sys
from cloudarena import cli
cli.INSIST_S = 0.05

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        for _ in range(1000):
            pass

def run():
    try:
        Dropped()  # Python drops what comes up here
        while True:
            pass
    finally:
        print("cleared away")

cli._run = run
cli.main()
"""


@linux
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_signal_that_is_lost_is_said_again(name, code) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOSES, name],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=hears_ctrl_c,
    )
    assert (ended.returncode, ended.stdout) == (code, "cleared away\n")
