"""Speed of the jobs scenario: ``python -m benchmarks.jobs [--quick] [--trace FILE] [--out FILE]``.

Times are CPU seconds (user and system), the best of several, without compiling and loading. A start
is what begins of one task at one instant on one machine, be it one instance or a thousand.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import cloudarena
from benchmarks.jobs_on_simpy import Cluster, build_jobs, build_machines
from benchmarks.sections import cpu_seconds
from benchmarks.vm import Row, at_least, at_most, figures_table, finish, number, processor
from cloudarena.scenarios.jobs import JobsRun, JobsScenario
from cloudarena.workloads.jobs.cloudsimpy import load_cloudsimpy

POLICY = "first-fit"
SEED = 0
MACHINE = {"cpu": 64, "memory": 1.0}
CHECKED = ("jobs/alibaba-like-10", "jobs/dag-demo")
"""Small runs to check SimPy's model with: many instances, and tasks with parents."""
TURNS = 10
"""So many compiled runs come before SimPy's, and as many after it."""
JOBS = (10, 30, 100, 300, 1_000, 3_000, 5_000)
MACHINES = (5, 15, 50, 150, 500, 1_500, 5_000)
BUSY = 5
"""So many machines have too much to do at the rate of the trace, and so have twice as many at twice
the rate."""
progress = Console(stderr=True)


def alibaba_like(jobs: int, machines: int, rate: float = 1.0) -> JobsScenario:
    """Jobs like Alibaba's on machines of 64 cores."""
    workload = {"source": "alibaba-like", "jobs": jobs, "rate": rate}
    return scenario_of(workload, machines)


def scenario_of(workload: Mapping[str, Any], machines: int) -> JobsScenario:
    """A workload on machines of 64 cores."""
    return cloudarena.load(
        {"scenario": "jobs", "machines": [{"count": machines, **MACHINE}], "workload": workload}
    )


def play(scenario: JobsScenario, policy: str = POLICY, record: str = "none") -> JobsRun:
    """A whole run, compiled if the policy can be."""
    run, chosen = scenario.start(SEED, record), scenario.kind.policies.resolve(policy)
    if hasattr(chosen, "start"):
        chosen.start(scenario, SEED)
    run.play(chosen)
    return run


def step(scenario: JobsScenario, record: str) -> JobsRun:
    """A whole run, decided in plain Python."""
    run, policy = scenario.start(SEED, record), scenario.kind.policies.resolve(POLICY)
    while (decision := run.decision) is not None:
        run.apply(policy(decision))
    return run


def against_simpy(jobs: int) -> dict[str, Any]:
    """The same jobs on SimPy, once, then stepped, once; and compiled, many times around them.

    SimPy's objects and cloudarena's arrays are made within the time, from a workload that is
    loaded. The ratios take the median of the compiled runs, half of which come before SimPy and
    half after, so that all see the same other work on the machine.
    """
    for name in CHECKED:
        check_equal(cloudarena.load(name), run_on_simpy(cloudarena.load(name)))
    scenario = alibaba_like(jobs, 5)
    workload = scenario.load_workload(SEED)
    play(scenario)
    # A program on SimPy alone would not have Numba's objects to look through for garbage.
    gc.collect()
    gc.freeze()
    compiled = [cpu_seconds(play, scenario) for _ in range(TURNS)]
    start = time.process_time()
    cluster = run_on_simpy(scenario)
    simpy_s = time.process_time() - start
    compiled += [cpu_seconds(play, scenario) for _ in range(TURNS)]
    start = time.process_time()
    step(scenario, "none")
    stepped_s = time.process_time() - start
    check_equal(scenario, cluster)
    compiled_s = statistics.median(compiled)
    return {
        "jobs": jobs,
        "instances": int(workload.instances.sum()),
        "simpy_s": simpy_s,
        "stepped_s": stepped_s,
        "compiled_s": compiled_s,
        "compiled_best_s": min(compiled),
        "simpy_over_stepped": simpy_s / stepped_s,
        "simpy_over_compiled": simpy_s / compiled_s,
    }


def run_on_simpy(scenario: JobsScenario) -> Cluster:
    """A whole run on SimPy."""
    cluster = Cluster(build_machines(scenario), build_jobs(scenario.load_workload(SEED)))
    cluster.run()
    return cluster


def check_equal(scenario: JobsScenario, cluster: Cluster) -> None:
    """Raises unless SimPy started each instance when and where cloudarena does, at both speeds."""
    workload = scenario.load_workload(SEED)
    theirs = np.array(sorted(cluster.schedule))
    for run in (play(scenario, record="summary"), step(scenario, "summary")):
        result = run.result()
        instances = result.tables["instances"]
        names = ("instance", "machine", "start", "finish")
        task = np.repeat(np.arange(len(workload.instances)), workload.instances)
        ours = np.column_stack((task, *(instances[name].to_numpy() for name in names)))
        if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=1e-12, atol=0.0):
            raise AssertionError(f"{scenario.name}: SimPy's schedule is another")
        for name, value in cluster.metrics().items():
            if not abs(value - result.metrics[name]) <= 1e-9 * value:
                raise AssertionError(f"{name}: {value!r} on SimPy, {result.metrics[name]!r} here")


def measure_run(scenario: JobsScenario, policy: str = POLICY, seconds: float = 1.0) -> dict:
    """A whole run, repeated for some seconds and at least three times: its best time."""
    result = play(scenario, policy, "summary").result()
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        times.append(cpu_seconds(play, scenario, policy))
    instances, starts = result.metrics["instances"], len(result.tables["decisions"])
    return {
        "jobs": result.metrics["jobs"],
        "machines": scenario.machine_count,
        "instances": instances,
        "starts": starts,
        "simulate_s": min(times),
        "ns_per_instance": 1e9 * min(times) / instances,
        "us_per_start": 1e6 * min(times) / starts,
        "makespan_s": result.metrics["makespan_s"],
        "completion_mean_s": result.metrics["completion_mean_s"],
    }


def growth_with_jobs(sizes: Iterable[int]) -> list[dict[str, Any]]:
    """More jobs for five machines, which cannot keep up: ever more wait."""
    return [measure_run(alibaba_like(jobs, 5)) for jobs in shown(sizes, "jobs")]


def growth_with_machines(jobs: int, sizes: Iterable[int], in_proportion: bool) -> list[dict]:
    """More machines for as many jobs: most are idle, unless jobs come faster in proportion."""
    return [
        measure_run(alibaba_like(jobs, machines, machines / BUSY if in_proportion else 1.0))
        for machines in shown(sizes, "machines")
    ]


def on_trace(path: Path) -> dict[str, Any]:
    """CloudSimPy's list of Alibaba's jobs of 2017, or another in its form."""
    source = {"source": "cloudsimpy-csv", "path": str(path)}
    reads, walls = [], []
    for _ in range(6):
        start = time.perf_counter()
        reads.append(cpu_seconds(load_cloudsimpy, path))
        walls.append(time.perf_counter() - start)
    return {
        "read_s": min(reads),
        "read_wall_s": min(walls),
        "whole": measure_run(scenario_of(source, 100), seconds=5.0),
        "thousand": measure_run(scenario_of({**source, "jobs": 1000}, 5), seconds=2.0),
    }


def all_policies(jobs: int) -> dict[str, dict[str, Any]]:
    """Each policy that is a function of arrays, and the one that keeps a plan."""
    scenario = alibaba_like(jobs, 5)
    names = [*scenario.kind.policies.array_names(), "conservative-backfilling"]
    return {name: measure_run(scenario, name) for name in shown(names, "policy")}


def shown(values: Iterable[Any], name: str) -> Iterable[Any]:
    """The values, each said as its turn comes."""
    for value in values:
        progress.print(f"{name} {value}", style="dim", highlight=False)
        yield value


def measure(quick: bool, trace: Path | None) -> dict[str, Any]:
    """Everything, as plain values for JSON."""
    load_average = round(os.getloadavg()[0], 2)
    progress.print("against SimPy", style="dim")
    return {
        "quick": quick,
        "simpy": against_simpy(20 if quick else 200),
        "trace": None if trace is None else on_trace(trace),
        "growth_with_jobs": growth_with_jobs(JOBS[:4] if quick else JOBS),
        "growth_with_machines": growth_with_machines(1_000, MACHINES, in_proportion=False),
        "growth_in_proportion": growth_with_machines(1_000, MACHINES, in_proportion=True),
        "policies": all_policies(5 if quick else 200),
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "load_average": max(load_average, round(os.getloadavg()[0], 2)),
            "python": platform.python_version(),
            **{name: version(name) for name in ("cloudarena", "numba", "numpy", "simpy")},
        },
    }


def rows_of(figures: Mapping[str, Any]) -> list[Row]:
    """The lines of the table of figures."""
    simpy, trace = figures["simpy"], figures["trace"]
    section = f"{simpy['jobs']} jobs, {simpy['instances']:,} instances, 5 machines"
    ratio = at_least(section, "SimPy / compiled", simpy["simpy_over_compiled"], "x", 200)
    if figures["quick"]:  # SimPy is slow where many tasks wait, which takes many jobs
        ratio = ratio._replace(target="", met=None)
    rows = [
        Row(section, "SimPy, one run", simpy["simpy_s"], "s"),
        Row(section, "stepped, one run", simpy["stepped_s"], "s"),
        Row(section, "compiled, median", simpy["compiled_s"], "s"),
        Row(section, "compiled, best", simpy["compiled_best_s"], "s"),
        Row(section, "SimPy / stepped", simpy["simpy_over_stepped"], "x"),
        ratio,
    ]
    if trace is None:
        return rows
    for key, bound_s in (("whole", 3.0), ("thousand", 1.0)):
        run = trace[key]
        section = f"trace: {run['jobs']:,} jobs, {run['machines']} machines"
        rows += [
            at_most(section, "simulate", run["simulate_s"], "s", bound_s),
            Row(section, "time per instance", run["ns_per_instance"], "ns"),
            Row(section, "time per start", run["us_per_start"], "µs"),
        ]
    section = "trace: read the CSV"
    return [
        *rows,
        at_most(section, "load, wall", trace["read_wall_s"], "s", 0.5),
        Row(section, "load", trace["read_s"], "s"),
    ]


def runs_table(title: str, first: str, runs: Iterable[tuple[str, Mapping[str, Any]]]) -> Table:
    """Runs side by side."""
    table = Table(title=title)
    columns = {
        "instances": "instances",
        "starts": "starts",
        "s": "simulate_s",
        "ns/instance": "ns_per_instance",
        "µs/start": "us_per_start",
        "makespan, s": "makespan_s",
        "completion, s": "completion_mean_s",
    }
    table.add_column(first, justify="left" if first == "policy" else "right")
    for heading in columns:
        table.add_column(heading, justify="right")
    for name, run in runs:
        values = (run[key] for key in columns.values())
        table.add_row(name, *(number(v) if isinstance(v, float) else f"{v:,}" for v in values))
    return table


def show(console: Console, figures: Mapping[str, Any]) -> None:
    """Prints the figures, how time grows, and the policies."""
    console.print(
        figures_table(
            "jobs: CPU seconds, best of several, first-fit, nothing recorded", rows_of(figures)
        )
    )
    for title, key, by in (
        ("more jobs on 5 machines, which cannot keep up", "growth_with_jobs", "jobs"),
        ("1,000 jobs, more machines, of which most are idle", "growth_with_machines", "machines"),
        (
            "1,000 jobs, more machines, jobs faster in proportion",
            "growth_in_proportion",
            "machines",
        ),
    ):
        runs = [(f"{run[by]:,}", run) for run in figures[key]]
        console.print(runs_table(f"growth: {title}", by, runs))
    policies = figures["policies"]
    jobs = next(iter(policies.values()))["jobs"]
    console.print(runs_table(f"policies: {jobs} jobs on 5 machines", "policy", policies.items()))


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer jobs and sizes")
    parser.add_argument("--trace", type=Path, help="CloudSimPy's list of Alibaba's jobs of 2017")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    figures = measure(options.quick, options.trace)
    show(Console(width=None if sys.stdout.isatty() else 110), figures)
    finish(figures, rows_of(figures), options.out)


if __name__ == "__main__":
    main()
