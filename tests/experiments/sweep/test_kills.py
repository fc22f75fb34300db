"""A sweep that is killed at any moment and goes on ends in the bytes of one that was left alone."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cloudarena.base.yaml import write_yaml

from .small import experiment, rows, run_here
from .test_executors import dask_cluster

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
PATIENCE_S = 300.0


def hears_ctrl_c() -> None:
    """Lets a process hear Ctrl-C, which jobs in the background of a shell do not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def done(store: Path) -> int:
    """How many runs are noted."""
    try:
        with closing(sqlite3.connect(f"file:{store}/ledger.sqlite?mode=ro", uri=True)) as base:
            return int(base.execute("SELECT count(*) FROM runs WHERE state='done'").fetchone()[0])
    except sqlite3.Error:
        return 0


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.002)


def begin(file: Path, store: Path, *options: str) -> subprocess.Popen[str]:
    """A sweep in a process of its own."""
    command = [sys.executable, "-m", "cloudarena", "sweep", str(file), "--store", str(store)]
    return subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hears_ctrl_c,
    )


def children(process: int) -> list[int]:
    """The worker processes of a sweep."""
    found = []
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        found += [int(word) for word in file.read_text().split()]
    return [one for one in found if "spawn_main" in _command(one)]


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def at(process: subprocess.Popen[str], store: Path, count: int) -> bool:
    """Waits until so many runs are noted; whether the sweep still goes on then."""
    wait_until(lambda: done(store) >= count or process.poll() is not None)
    return process.poll() is None


@linux
def test_a_sweep_that_is_killed_and_interrupted_goes_on(tmp_path: Path) -> None:
    source = experiment(100)
    run_here(source, tmp_path / "whole")
    file, store = tmp_path / "e.yaml", tmp_path / "s"
    file.write_text(write_yaml(source))

    killed = begin(file, store, "--workers", "1")
    assert at(killed, store, 3)
    killed.kill()
    killed.communicate()
    first = done(store)

    stopped = begin(file, store, "--workers", "1")
    assert at(stopped, store, first + 2)
    stopped.send_signal(signal.SIGINT)
    _, err = stopped.communicate(timeout=PATIENCE_S)
    assert stopped.returncode == 130
    assert "runs are in" in err
    assert "Go on with: cloudarena sweep" in err
    assert not list(store.glob("runs/.cloudarena-draft-*"))

    last = begin(file, store, "--workers", "1", "--json")
    out, err = last.communicate(timeout=PATIENCE_S)
    assert last.returncode == 0, err
    said = json.loads(out)
    assert said["ran"] + said["found"] == 400
    assert said["found"] >= first + 2
    assert rows(store) == rows(tmp_path / "whole")


@linux
@pytest.mark.slow
@pytest.mark.parametrize("where", ["local", "dask"])
def test_two_thousand_runs_with_ten_kills_at_random_moments(tmp_path: Path, where: str) -> None:
    """Of the sweep, of its workers, and of the scheduler."""
    source = experiment(500)
    run_here(source, tmp_path / "whole")
    file, store = tmp_path / "e.yaml", tmp_path / "s"
    file.write_text(write_yaml(source))
    draw = random.Random(0)
    moments = sorted(draw.sample(range(1, 1900), 10))
    if where == "local":
        _ten_kills_here(file, store, moments, draw)
    else:
        _ten_kills_of_dask(file, store, moments, draw, tmp_path)
    assert rows(store) == rows(tmp_path / "whole")


def _ten_kills_here(file: Path, store: Path, moments: list[int], draw: random.Random) -> None:
    process = begin(file, store, "--workers", "2")
    kills = 0
    for moment in moments:
        if not at(process, store, moment):
            assert process.wait() == 0
            process = begin(file, store, "--workers", "2")
        victims = children(process.pid)
        if victims and draw.random() < 0.5:
            os.kill(draw.choice(victims), signal.SIGKILL)
        else:
            process.kill()
            process.communicate()
            process = begin(file, store, "--workers", "2")
        kills += 1
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (kills, process.returncode) == (10, 0), err


def _ten_kills_of_dask(
    file: Path, store: Path, moments: list[int], draw: random.Random, folder: Path
) -> None:
    """Each kill ends one of the cluster or the sweep; then a new cluster and sweep go on."""
    for number, moment in enumerate([*moments, 10**9]):
        home = folder / f"cluster{number}"
        home.mkdir()
        with dask_cluster(home) as (address, (scheduler, *workers)):
            process = begin(file, store, "--cluster", address)
            if at(process, store, moment):
                victim = draw.choice([scheduler, workers[0], workers[1], process])
                victim.kill()
                if victim in workers:  # the other one goes on
                    at(process, store, done(store) + 1)
                    process.kill()
                _, err = process.communicate(timeout=PATIENCE_S)
                if victim is scheduler:
                    assert process.returncode == 2, err
                    assert "the workers are gone" in err or "cannot be reached" in err
                continue
            _, err = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, err
    assert process.returncode == 0, err
