"""What goes wrong in a run is a row; what goes wrong around it is a line, and the sweep goes on."""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import cloudpickle
import pyarrow.compute as pc
import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.base.parallel import LocalExecutor, SerialExecutor
from cloudarena.experiments.sweep import dispatch, work
from cloudarena.experiments.sweep.compiling import CompileClock, compile_clock
from cloudarena.experiments.sweep.ledger import Ledger
from cloudarena.experiments.sweep.limits import Limits, OutOfTime, limited, read_limits
from cloudarena.experiments.sweep.results import open_results
from cloudarena.experiments.sweep.run import sweep
from cloudarena.experiments.sweep.store import Store
from cloudarena.experiments.sweep.work import run_chunk
from cloudarena.scenarios.clusters.policies.shares import Equal

from .small import SPEC, experiment, rows, run_here

POLICY = """
import os, signal
import numpy as np
from cloudarena.scenarios.clusters.policies.shares import Equal

class Mine:
    def start(self, scenario, seed):
        {what}

    def __call__(self, decision):
        return Equal()(decision)
"""


def with_policy(folder: Path, what: str, replications: int = 6) -> dict[str, Any]:
    """An experiment under a policy that does something when it is started with a seed."""
    file = folder / "mine.py"
    file.write_text(POLICY.format(what=what))
    return {"spec": SPEC, "policies": [f"{file}:Mine"], "replications": replications}


def test_a_run_that_fails_is_a_row_and_the_others_are_done(tmp_path: Path) -> None:
    source = with_policy(tmp_path, "assert seed != 3, 'not with three'")
    outcome = run_here(source, tmp_path / "s")
    assert (outcome.ran, outcome.failed) == (6, 1)
    found = open_results(tmp_path / "s")
    assert found.arrow()["seed"].to_pylist() == [0, 1, 2, 4, 5]
    (row,) = found.failures().to_pylist()
    assert (row["seed"], row["tries"]) == (3, 1)
    assert "not with three" in row["error"]
    assert "mine.py:8" in row["error"]
    again = run_here(source, tmp_path / "s")
    assert (again.found, again.ran, again.failed) == (6, 0, 1)


def test_what_failed_is_run_again_when_asked_and_ends_in_the_same_bytes(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    source = with_policy(tmp_path, f"assert not (seed > 3 and os.path.exists({str(broken)!r}))")
    assert run_here(source, tmp_path / "whole").failed == 0
    broken.touch()
    assert run_here(source, tmp_path / "s").failed == 2
    broken.unlink()
    assert run_here(source, tmp_path / "s").ran == 0
    outcome = run_here(source, tmp_path / "s", retry=True)
    assert (outcome.found, outcome.ran, outcome.failed) == (4, 2, 0)
    assert rows(tmp_path / "s") == rows(tmp_path / "whole")


def test_a_policy_may_be_an_object(tmp_path: Path) -> None:
    def mine(decision: Any) -> Any:
        return Equal()(decision)

    source = {"spec": SPEC, "policies": ["equal"], "replications": 3}
    assert run_here(source, tmp_path / "s", policies=[mine]).ran == 6
    assert run_here(source, tmp_path / "s", policies=[mine]).found == 6
    equal, own = (
        open_results(tmp_path / "s").arrow().filter(pc.field("policy") == name).drop_columns("key")
        for name in ("equal", "mine")
    )
    assert own["makespan_s"].to_pylist() == equal["makespan_s"].to_pylist()


def test_a_run_that_takes_too_long_has_failed(tmp_path: Path) -> None:
    source = with_policy(tmp_path, "exec('while seed == 2: pass')", 4)
    outcome = run_here(source, tmp_path / "s", timeout_s=0.3)
    assert (outcome.ran, outcome.failed) == (4, 1)
    (row,) = open_results(tmp_path / "s").failures().to_pylist()
    assert row["error"] == "it took longer than 0.3 s (--timeout)"


def test_so_has_one_in_a_thread(tmp_path: Path) -> None:
    source = with_policy(tmp_path, "exec('while seed == 2: pass')", 4)
    with ThreadPoolExecutor(1) as pool:
        outcome = sweep(source, tmp_path / "s", executor=pool, timeout_s=0.3)
    (row,) = open_results(tmp_path / "s").failures().to_pylist()
    assert (outcome.ran, row["error"]) == (4, "it took longer than 0.3 s (--timeout)")


def limited_run(compiling_s: float, running_s: float) -> str:
    """What becomes of a run of 0.3 s that compiles and then runs so long."""
    try:
        with limited(Limits(0.3)):
            compile_clock().start()
            time.sleep(compiling_s)
            compile_clock().end()
            end = time.perf_counter() + running_s
            while time.perf_counter() < end:
                pass
    except OutOfTime as error:
        return str(error.words)
    return "done"


@pytest.mark.parametrize("where", ["main thread", "thread"])
def test_compiling_is_not_of_a_run(where: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        call = limited_run if where == "main thread" else pool.submit
        outcomes = [
            call(*words) if call is limited_run else call(limited_run, *words).result()
            for words in ((0.6, 0.0), (0.2, 60.0))
        ]
    assert outcomes == ["done", "it took longer than 0.3 s (--timeout)"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of a timer are not there")
def test_the_clock_of_compiling_may_be_read_by_a_signal_at_any_moment() -> None:
    clock, readings = CompileClock(), []
    before = signal.signal(signal.SIGALRM, lambda *_: readings.append(clock.seconds))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
        while len(readings) < 300:
            clock.start()
            clock.end()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert min(readings) >= 0.0
    assert not clock.is_running


def test_what_a_new_worker_imports_is_not_of_a_run(tmp_path: Path) -> None:
    source = {"spec": "vm/toy", "policies": ["best-fit"], "replications": 4}
    with LocalExecutor(1) as pool:
        assert sweep(source, tmp_path / "s", executor=pool, timeout_s=0.4).failed == 0


@pytest.mark.skipif(os.name == "nt", reason="the limit of memory is one of Linux")
def test_a_run_that_takes_too_much_memory_has_failed(tmp_path: Path) -> None:
    source = with_policy(tmp_path, "self.kept = np.ones(10**9 if seed == 2 else 1)", 4)
    outcome = run_here(source, tmp_path / "s", memory="500MB")
    assert (outcome.ran, outcome.failed) == (4, 1)
    (row,) = open_results(tmp_path / "s").failures().to_pylist()
    assert "memory" in row["error"].lower()
    assert row["error"].endswith("(--memory 0.5GB)")


def test_a_run_that_takes_its_worker_along_is_found_among_the_others(tmp_path: Path) -> None:
    what = "seed == 1 and os.kill(os.getpid(), signal.SIGKILL)"
    source = with_policy(tmp_path, what, 4)
    with LocalExecutor(1) as pool:
        outcome = sweep(source, tmp_path / "s", executor=pool)
    assert (outcome.ran, outcome.failed) == (4, 1)
    (row,) = open_results(tmp_path / "s").failures().to_pylist()
    assert row["seed"] == 1
    assert row["error"].startswith("the worker process ended while it ran, 2 times")


class Fragile(SerialExecutor):
    """Loses every chunk with a certain run in it, and counts."""

    def __init__(self, seed: int) -> None:
        self.seed, self.lost, self.sizes = seed, 0, list[int]()

    def submit(self, fn: Any, /, payload: bytes, **_: Any) -> Any:
        chunk = cloudpickle.loads(payload.partition(b"\n")[2])
        if any(task.seed == self.seed for task in chunk.tasks):
            self.lost += 1
            self.sizes.append(len(chunk.tasks))
            future: Future[Any] = Future()
            future.set_exception(BrokenProcessPool("a child process terminated abruptly"))
            return future
        return super().submit(fn, payload)


def test_a_lost_chunk_is_halved_until_the_culprit_is_alone(tmp_path: Path) -> None:
    source = {"spec": SPEC, "replications": 300}
    executor = Fragile(seed=200)
    outcome = sweep(source, tmp_path / "s", executor=executor)
    assert (outcome.ran, outcome.failed) == (300, 1)
    assert executor.sizes[-2:] == [1, 1]
    assert executor.sizes == sorted(executor.sizes, reverse=True)
    (row,) = open_results(tmp_path / "s").failures().to_pylist()
    assert (row["seed"], row["scenario"]) == (200, "clusters")


def test_a_full_disk_is_one_line_and_the_sweep_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_here(experiment(), tmp_path / "whole")
    write, count = work.write_part, 0

    def full(*arguments: Any) -> None:
        nonlocal count
        count += 1
        if count > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(work, "write_part", full)
        with pytest.raises(CloudarenaError) as error:
            run_here(experiment(), tmp_path / "s")
    done = len(open_results(tmp_path / "s"))
    assert done >= 2
    words = f"cannot be written: No space left on device. {done} runs are in"
    assert words in str(error.value)
    assert run_here(experiment(), tmp_path / "s").found == done
    assert rows(tmp_path / "s") == rows(tmp_path / "whole")


def test_two_sweeps_at_once_share_a_store_and_the_work(tmp_path: Path) -> None:
    run_here(experiment(40), tmp_path / "whole")
    ran = []

    def one() -> None:
        outcome = run_here(experiment(40), tmp_path / "s")
        ran.append((outcome.ran, outcome.found))

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sum(pair) for pair in ran] == [160, 160]
    assert sum(mine for mine, _ in ran) == 160  # none was run twice
    assert rows(tmp_path / "s") == rows(tmp_path / "whole")


def test_workers_that_do_not_see_the_store_send_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_here(experiment(), tmp_path / "whole")
    monkeypatch.setattr(work, "sees", lambda *_: False)
    run_here(experiment(), tmp_path / "s")
    assert rows(tmp_path / "s") == rows(tmp_path / "whole")


def test_a_worker_of_another_version_is_a_line() -> None:
    assert run_chunk(b"9.9\n...").fault.endswith("the sweep 9.9")


class Gone(SerialExecutor):
    """A cluster that answers no more."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise ConnectionError("the scheduler does not answer")


def test_a_cluster_that_is_gone_is_a_line(tmp_path: Path) -> None:
    with pytest.raises(CloudarenaError, match="the workers are gone: the scheduler does not"):
        sweep(experiment(), tmp_path / "s", executor=Gone())
    assert run_here(experiment(), tmp_path / "s").ran == 40


@pytest.mark.parametrize(
    ("seconds", "memory", "words"),
    [
        (0.0, None, "timeout: 0 is not allowed: more than 0 seconds"),
        (None, "much", "memory: 'much' is not allowed: an amount such as 500MB or 4GB"),
        (None, "0GB", "memory: '0GB' is not allowed"),
    ],
)
def test_limits_that_are_none(seconds: float | None, memory: str | None, words: str) -> None:
    with pytest.raises(CloudarenaError) as error:
        read_limits(seconds, memory)
    assert words in str(error.value)


def test_amounts_of_memory() -> None:
    assert [read_limits(None, text).memory_bytes for text in ("4GB", "1.5g", "500 MB")] == [
        4e9,
        1.5e9,
        5e8,
    ]


class Silent(SerialExecutor):
    """A cluster whose calls never come back, and that knows it."""

    def submit(self, *_: Any, **__: Any) -> Any:
        return Future()

    def is_alive(self) -> bool:
        return False


def test_a_cluster_that_never_answers_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "BEAT_S", 0.01)
    with pytest.raises(CloudarenaError, match="the workers are gone: the cluster does not answer"):
        sweep(experiment(), tmp_path / "s", executor=Silent())


def test_many_who_open_a_new_store_at_once_see_one_folder(tmp_path: Path) -> None:
    for attempt in range(20):
        tokens: list[str] = []

        def opens(folder: Path = tmp_path / str(attempt), into: list[str] = tokens) -> None:
            with Store(folder) as store:
                into.append(store.token)

        threads = [threading.Thread(target=opens) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(tokens) == 4
        assert len(set(tokens)) == 1


def test_a_failure_from_before_is_not_that_of_a_retry_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another sweep retries a run, its old failure says nothing of how that ends."""
    flag = tmp_path / "fixed"
    source = with_policy(tmp_path, f"assert os.path.exists({str(flag)!r})", 1)
    assert run_here(source, tmp_path / "s").failed == 1
    flag.touch()
    (key,) = (row["key"] for row in open_results(tmp_path / "s").failures().to_pylist())
    with Ledger(tmp_path / "s" / "ledger.sqlite") as other:
        assert other.claim([key]) == ([key], [])
        monkeypatch.setattr(dispatch.time, "sleep", lambda _: other.close())
        assert run_here(source, tmp_path / "s", retry=True).failed == 0
