"""The same bytes wherever runs are run; the clusters are real ones, on this machine."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.base.yaml import write_yaml
from cloudarena.experiments.compare import compare
from cloudarena.experiments.optimize import optimize
from cloudarena.experiments.sweep.executors import opened
from cloudarena.experiments.sweep.run import sweep

from .small import SPEC, experiment, rows, run_here

SOURCE = experiment(15)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    home = tmp_path_factory.mktemp("whole")
    assert run_here(SOURCE, home).ran == 60
    return rows(home)


@contextlib.contextmanager
def dask_cluster(
    folder: Path, workers: int = 2
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers as a user starts them; yields the address, and the processes."""
    file = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
    scheduler += ["--no-dashboard", "--scheduler-file", str(file), "--host", "127.0.0.1"]
    started = [subprocess.Popen(scheduler, **quiet)]  # type: ignore[call-overload]
    try:
        end = time.monotonic() + 60
        while not file.exists() or not file.read_text():
            assert time.monotonic() < end, "the scheduler never began"
            assert started[0].poll() is None, "the scheduler has ended"
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny"]
        worker += ["--nthreads", "1", "--no-dashboard", "--local-directory", str(folder)]
        started += [subprocess.Popen(worker, **quiet) for _ in range(workers)]  # type: ignore[call-overload]
        yield address, started
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def test_worker_processes_of_this_machine(tmp_path: Path, whole: dict[str, bytes]) -> None:
    assert sweep(SOURCE, tmp_path / "s", workers=2).ran == 60
    assert rows(tmp_path / "s") == whole


def test_any_executor_object(tmp_path: Path, whole: dict[str, bytes]) -> None:
    with ThreadPoolExecutor(3) as pool:
        sweep(SOURCE, tmp_path / "s", executor=pool)
        assert pool.submit(pow, 2, 3).result() == 8  # it is left open
    assert rows(tmp_path / "s") == whole


def test_an_executor_of_a_factory(tmp_path: Path, whole: dict[str, bytes]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def make(workers):\n    return ThreadPoolExecutor(workers)\n"
    )
    sweep(SOURCE, tmp_path / "s", executor=f"{file}:make", workers=2)
    assert rows(tmp_path / "s") == whole


def test_dask_with_two_worker_processes(tmp_path: Path, whole: dict[str, bytes]) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    with dask_cluster(tmp_path) as (address, _):
        cluster = address.replace("tcp://", "dask://")
        assert sweep(SOURCE, tmp_path / "s", cluster=cluster).ran == 60
    assert rows(tmp_path / "s") == whole


def test_ray_on_this_machine(tmp_path: Path, whole: dict[str, bytes]) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    assert sweep(SOURCE, tmp_path / "s", cluster="local-ray", workers=2).ran == 60
    assert rows(tmp_path / "s") == whole


def test_a_comparison_and_an_optimisation_on_any_executor() -> None:
    policies = ["equal", "proportional"]
    here = compare(SPEC, policies, replications=4, workers=1)
    study = {"spec": SPEC, "designs": {"policy": policies, "vms": [3, 4]}}
    best = optimize(study, method="monte-carlo", evaluations=16, workers=1)
    with ThreadPoolExecutor(2) as pool:
        assert compare(SPEC, policies, replications=4, executor=pool) == here
        assert optimize(study, method="monte-carlo", evaluations=16, executor=pool) == best


@pytest.mark.parametrize("command", ["compare", "optimize"])
def test_the_commands_take_an_executor(cloudarena, tmp_path: Path, command: str) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(write_yaml(SPEC))
    words = [command, spec, "--json", "--seed", "3"]
    words += ["--replications", "3"] if command == "compare" else ["--evaluations", "30"]
    there = ["--executor", "cloudarena.base.parallel:SerialExecutor"]
    code, out, err = cloudarena(*words, *there)
    assert code == 0, err
    assert out == cloudarena(*words, "--workers", "1")[1]


@pytest.mark.parametrize(
    ("cluster", "executor", "words"),
    [
        ("dusk://x:1", None, "--cluster: 'dusk://x:1' is not allowed: dask://HOST:PORT"),
        (None, "nonsense", "--executor: 'nonsense' is not allowed: local, or MODULE:FACTORY"),
        (None, "nowhere.to:be", "--executor: 'nowhere.to:be' is not allowed: No module named"),
        (None, "builtins:dict", "it gives a dict, not a concurrent.futures.Executor"),
        ("mpi", "builtins:dict", "--cluster and --executor are not allowed together"),
        ("slurm:cpus=3", None, "slurm: 'cpus=3' is not allowed: queue=..."),
    ],
)
def test_what_is_no_cluster_is_a_line(cluster, executor, words, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "dask_jobqueue", object())
    with pytest.raises(CloudarenaError) as error, opened(1, cluster, executor):
        pass
    assert words in str(error.value)


@pytest.mark.parametrize("module", ["mpi4py.futures", "dask_jobqueue"])
def test_an_extra_that_is_missing_is_a_line(module: str) -> None:
    if importlib.util.find_spec(module.partition(".")[0]) is not None:
        pytest.skip(f"{module} is installed")
    cluster = {"mpi4py.futures": "mpi", "dask_jobqueue": "slurm"}[module]
    with (
        pytest.raises(CloudarenaError, match=rf"pip install 'cloudarena\[{cluster}\]'"),
        opened(1, cluster),
    ):
        pass


class FakeClient:
    """A client of Dask with one worker of two threads, which runs calls in threads here."""

    status = "running"

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster

    def __enter__(self) -> FakeClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.cluster.said.append("closed")

    def wait_for_workers(self, count: int) -> None:
        self.cluster.said.append(f"waits for {count}")

    def nthreads(self) -> dict[str, int]:
        return {"tcp://worker:1": 2}

    def get_executor(self, **options: Any) -> Any:
        assert options == {"pure": False, "retries": 0}
        return ThreadPoolExecutor(2)


@pytest.mark.parametrize(
    ("address", "settings", "jobs"),
    [
        ("slurm", {}, 3),
        (
            "slurm:queue=main:cores=8:memory=32GB:walltime=01:30:00:count=10",
            {"queue": "main", "cores": 8, "memory": "32GB", "walltime": "01:30:00"},
            10,
        ),
    ],
)
def test_slurm_is_asked_for_what_was_said(
    monkeypatch, tmp_path: Path, whole: dict[str, bytes], address: str, settings: Any, jobs: int
) -> None:
    """With a module in the place of dask-jobqueue: no Slurm was at hand."""
    made = []

    class FakeCluster:
        def __init__(self, **given: Any) -> None:
            self.given, self.said = given, []
            made.append(self)

        def __enter__(self) -> FakeCluster:
            return self

        def __exit__(self, *error: object) -> None:
            self.said.append("ended")

        def scale(self, jobs: int) -> None:
            self.said.append(f"{jobs} jobs")

    monkeypatch.setitem(sys.modules, "dask_jobqueue", SimpleNamespace(SLURMCluster=FakeCluster))
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=FakeClient))
    assert sweep(SOURCE, tmp_path / "s", cluster=address, workers=3).ran == 60
    (cluster,) = made
    assert cluster.given == settings
    assert {name: type(value) for name, value in cluster.given.items()} == {
        name: type(value) for name, value in settings.items()
    }
    assert cluster.said == [f"{jobs} jobs", "waits for 1", "closed", "ended"]
    assert rows(tmp_path / "s") == whole


@pytest.mark.parametrize(("workers", "asked"), [(-1, None), (4, 4)])
def test_mpi_takes_the_other_ranks(
    monkeypatch, tmp_path: Path, whole: dict[str, bytes], workers: int, asked: int | None
) -> None:
    """With a module in the place of mpi4py: no MPI was at hand."""
    made = []

    class FakePool(ThreadPoolExecutor):
        num_workers = 2

        def __init__(self, max_workers: int | None) -> None:
            super().__init__(2)
            self.asked, self.booted = max_workers, False
            made.append(self)

        def bootup(self, wait: bool) -> None:
            self.booted = wait

    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "mpi4py.futures", SimpleNamespace(MPIPoolExecutor=FakePool))
    assert sweep(SOURCE, tmp_path / "s", cluster="mpi", workers=workers).ran == 60
    (pool,) = made
    assert (pool.asked, pool.booted, pool.slots) == (asked, True, 2)
    assert rows(tmp_path / "s") == whole
