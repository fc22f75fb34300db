"""What is measured of the vm scenario, a section at a time, each in a process of its own.

``python -m benchmarks.sections NAME ARGUMENTS`` measures a section and prints it as JSON. Times
are CPU seconds (user and system, ``time.process_time``) unless a name says ``wall``, and the best
of several: what else runs on the machine can only add to them. The workload is always loaded
before the clock starts, and all code is compiled.
"""

from __future__ import annotations

import gc
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cloudarena
from cloudarena.scenarios.vm import VmScenario

MONTH = "vm/azure-like-10k"
POLICY = "best-fit"
SEED = 0
NOT_ON_SIMPY = {"boots", "boot_wait_ticks", "empty_machines_mean", "stranded_cores_share",
               "mean_gpu_allocation", "gpu_fragments_share", "cost_usd", "wait_ticks_mean",
               "slowdown_mean"}  # fmt: skip
"""What SimPy's model does not measure: it has no machines that are off or priced, no shares of
room, and no queue."""
SLICE_TICKS = 60
"""SimPy takes about a tenth of a second for so many."""

CHECKED = {
    "delay_ticks": (
        "vm/azure-like-10k-16c",
        {"ticks": 500, "buffer.budget_ticks": 12, "buffer.delay_ticks": 2},
    ),
    "killed": (
        "vm/azure-like-10k-oversubscribed",
        {
            "ticks": 500,
            "machines[0].count": 40,
            "oversubscription": {"cpu": 4, "memory": 4, "utilisation": 4},
            "workload.cpu_percent": 40,
        },
    ),
}
"""Small runs to check SimPy's model with, by the metric that makes them worth it."""


def cpu_seconds(call: Callable[..., Any], *arguments: Any) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    call(*arguments)
    return time.process_time() - start


def play(scenario: VmScenario, record: str = "none") -> Any:
    """A whole run, compiled."""
    run = scenario.start(SEED, record)
    run.play(scenario.kind.policies.resolve(POLICY))
    return run


def step(scenario: VmScenario) -> Any:
    """A whole run, decided in plain Python."""
    policy = scenario.kind.policies.resolve(POLICY)
    run = scenario.start(SEED, "none")
    while (decision := run.decision) is not None:
        run.apply(policy(decision))
    return run


def counts_of(scenario: VmScenario) -> dict[str, int]:
    """What happened in a run: requests, decisions, departures, readings of live VMs."""
    tables = play(scenario, "summary").result().tables
    vms = tables["vms"]
    start = vms["start"].drop_null().to_numpy()
    placed = vms.filter(vms["start"].is_valid())
    end = placed["end"].fill_null(scenario.ticks).to_numpy()
    return {
        "requests": len(vms),
        "decisions": len(tables["decisions"]),
        "departures": placed["outcome"].to_pylist().count("completed"),
        "readings": int((end - start).sum()),
    }


def against_simpy(ticks: int | None = None, repeats: int = 3) -> dict[str, Any]:
    """The month on SimPy, compiled and stepped, taking turns.

    Other work on the machine slows all three down, but the best of many short runs finds quiet
    moments that a long run cannot. So SimPy's month is cut into slices as long as a compiled run;
    after each slice there is a compiled run, and now and then a stepped one. The figures are
    medians, SimPy's the sum of the medians of its slices; ``quiet_`` is the same with minima, and
    the fairer one: a busy machine slows SimPy down more than cloudarena.
    """
    from cloudarena.bench.vm_on_simpy import DataCentre, best_fit, build_vms

    def on_simpy(scenario: VmScenario, vms: list[Any]) -> DataCentre:
        centre = DataCentre(scenario, vms, best_fit)
        centre.run(scenario.ticks)
        return centre

    for metric, (name, overrides) in CHECKED.items():
        small = cloudarena.load(name, overrides)
        centre = on_simpy(small, build_vms(small.load_workload(SEED)))
        check_equal(small, centre)
        if centre.metrics()[metric] == 0:
            raise AssertionError(f"{metric} is not checked: it is 0")
    scenario = cloudarena.load(MONTH, {} if ticks is None else {"ticks": ticks})
    vms = build_vms(scenario.load_workload(SEED))
    check_equal(scenario, on_simpy(scenario, vms))
    play(scenario)
    step(scenario)
    # A program on SimPy alone would not have Numba's objects to look through for garbage.
    gc.collect()
    gc.freeze()
    ends = [*range(SLICE_TICKS, scenario.ticks, SLICE_TICKS), scenario.ticks]
    slices: list[list[float]] = [[] for _ in ends]
    compiled: list[float] = []
    stepped: list[float] = []
    for _ in range(repeats):
        start = time.process_time()
        centre = DataCentre(scenario, vms, best_fit)
        building = time.process_time() - start
        for number, end in enumerate(ends):
            slices[number].append(cpu_seconds(centre.run, end) + building)
            building = 0.0
            compiled.append(cpu_seconds(play, scenario))
            if number % 10 == 0:
                stepped.append(cpu_seconds(step, scenario))
    figures: dict[str, Any] = {"ticks": scenario.ticks, **counts_of(scenario)}
    for name, of in (("", statistics.median), ("quiet_", min)):
        simpy_s = sum(of(times) for times in slices)
        figures |= {
            f"{name}simpy_s": simpy_s,
            f"{name}compiled_s": of(compiled),
            f"{name}stepped_s": of(stepped),
            f"{name}simpy_over_compiled": simpy_s / of(compiled),
            f"{name}simpy_over_stepped": simpy_s / of(stepped),
        }
    return figures


def check_equal(scenario: VmScenario, centre: Any) -> None:
    """Raises unless SimPy's run has the same decisions, counts and metrics as cloudarena's."""
    result = play(scenario, "summary").result()
    decisions = result.tables["decisions"]
    ids = scenario.load_workload(SEED).ids
    theirs = [(tick, ids[vm].as_py(), machine) for tick, vm, machine in centre.decisions]
    ours = zip(*(decisions[name].to_pylist() for name in ("tick", "vm", "machine")), strict=True)
    if theirs != list(ours):
        raise AssertionError("SimPy's model decides otherwise")
    if centre.counts() != counts_of(scenario):
        raise AssertionError(f"SimPy counts {centre.counts()}, cloudarena {counts_of(scenario)}")
    metrics = centre.metrics()
    for name, value in result.metrics.items():
        if name in NOT_ON_SIMPY:
            continue
        tolerance = 0.0 if isinstance(value, int) else 1e-9 * abs(value)
        if not abs(metrics[name] - value) <= tolerance:
            raise AssertionError(f"{name}: {metrics[name]!r} on SimPy, {value!r} here")


def month(name: str, overrides: Mapping[str, Any], repeats: int = 5) -> dict[str, Any]:
    """A scenario, generated and played: time for each reading and decision, and peak memory."""
    scenario = cloudarena.load(name, overrides)
    cloudarena.load(MONTH, {"workload.vms": 100}).load_workload(SEED)
    generate_s = cpu_seconds(scenario.load_workload, SEED)
    run = play(scenario)
    simulate_s = min(cpu_seconds(play, scenario) for _ in range(repeats))
    counts = counts_of(scenario)
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {
        "vms": scenario.workload.vms,
        "machines": scenario.machine_count,
        **counts,
        "failed": run.metrics()["failed"],
        "generate_s": generate_s,
        "simulate_s": simulate_s,
        "ns_per_reading": 1e9 * simulate_s / counts["readings"],
        "us_per_decision": 1e6 * simulate_s / counts["decisions"],
        "decisions_per_s": counts["decisions"] / simulate_s,
        "peak_gb": peak_gb,
    }


def loading() -> dict[str, Any]:
    """The month's readings, written as Parquet and read."""
    from cloudarena.workloads.vm.files import read_vm_files, write_vm_files

    workload = cloudarena.load(MONTH).load_workload(SEED)
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "trace"
        write_s = cpu_seconds(write_vm_files, workload, folder)
        paths = folder / "vmtable.parquet", folder / "readings.parquet"
        walls, times = [], []
        for _ in range(6):
            start = time.perf_counter()
            times.append(cpu_seconds(read_vm_files, *paths))
            walls.append(time.perf_counter() - start)
        if (read_vm_files(*paths).readings != workload.readings).any():
            raise AssertionError("what was written is not what is read")
        size_mb = sum(path.stat().st_size for path in paths) / 1e6
    return {
        "readings": len(workload.readings),
        "file_mb": size_mb,
        "write_s": write_s,
        "read_s": min(times),
        "read_wall_s": min(walls),
    }


def recording(repeats: int = 5) -> dict[str, Any]:
    """What it costs to keep tables: runs and results at each level, taking turns."""
    scenario = cloudarena.load(MONTH)
    scenario.load_workload(SEED)
    levels = ("none", "summary", "full")
    times: dict[str, list[float]] = {level: [] for level in levels}
    for _ in range(repeats + 1):
        for level in levels:
            times[level].append(cpu_seconds(lambda level: play(scenario, level).result(), level))
    best = {level: min(times[level][1:]) for level in levels}
    return {f"{level}_s": best[level] for level in levels} | {
        f"{level}_over_none": best[level] / best["none"] for level in levels[1:]
    }


def first_run() -> dict[str, Any]:
    """The time of the first run of a process: code is compiled, or comes from the cache."""
    scenario = cloudarena.load("vm/toy")
    return {"first_run_s": cpu_seconds(play, scenario)}


SECTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    function.__name__: function
    for function in (against_simpy, month, loading, recording, first_run)
}


if __name__ == "__main__":
    print(json.dumps(SECTIONS[sys.argv[1]](**json.loads(sys.argv[2]))))
