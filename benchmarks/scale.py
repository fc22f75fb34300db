"""One run at the size of a region: ``python -m benchmarks.scale [--quick] [--zone] [--out FILE]``.

- Against two small C programs of the same placement model, compiled here with ``cc -O2``: a binary
  heap of departures and first-fit by a linear search, and the same with a tournament tree of free
  cores (``first_fit.c`` of ``cloudarena.bench``). They place VMs and let them go; cloudarena also
  counts energy, money, stranded and allocated cores, tick by tick. Placements must be the same.
- The cost of a decision from 100 to 100,000 machines at constant load for each machine; that of the
  C program with an index grows by what misses of the caches cost there.
- The same for jobs.
- ``--zone``: 100,000 machines and 10 million VMs from a Parquet file, streamed, with the peak of
  memory; and jobs, drawn as they arrive.

Times are CPU seconds, the best of several, workloads made before the clock starts. Each line is
measured in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from cloudarena.bench.first_fit import CORES, GB, LIFETIME, LOAD, MEAN_CORES, ours, spec, theirs

SIZES = ((1_000, 100_000), (10_000, 1_000_000))
GROWTH = (100, 1_000, 10_000, 100_000)
ZONE = (100_000, 10_000_000)
JOBS_ZONES = ((1_000, 1_000_000), (1_000, 4_000_000))
POLICIES = ("first-fit", "best-fit", "best-fit-memory", "worst-fit", "round-robin", "random")
JOBS_POLICIES = ("first-fit", "best-fit", "worst-fit", "random")


def jobs_spec(machines: int, jobs: int, stream: bool = False) -> dict[str, Any]:
    """The same as batch jobs."""
    rate = LOAD * machines * CORES / (MEAN_CORES * LIFETIME)
    source = {"source": "poisson-jobs", "jobs": jobs, "rate": rate, "duration_s": LIFETIME}
    return {
        "scenario": "jobs",
        "record": "none",
        "machines": [{"count": machines, "cpu": CORES, "memory": GB}],
        "workload": {**source, "stream": stream},
    }


def our_jobs(machines: int, jobs: int, policy: str, repeats: int) -> dict[str, Any]:
    """A run of jobs in this process."""
    import cloudarena

    scenario = cloudarena.load(jobs_spec(machines, jobs))
    scenario.load_workload(0)
    cloudarena.simulate(cloudarena.load(jobs_spec(300, 1000)), policy)  # compiles
    best, metrics = np.inf, {}
    for _ in range(repeats):
        run = scenario.start(0, record="none")  # the state is made before the clock starts
        chosen = scenario.kind.policies.resolve(policy)
        begin = time.process_time()
        run.play(chosen)
        best = min(best, time.process_time() - begin)
        metrics = run.result().metrics
    return {"s": best, "finished": metrics["jobs_finished"], "wait_s": metrics["wait_mean_s"]}


def jobs_zone(machines: int, jobs: int) -> dict[str, Any]:
    """A streamed run of jobs, and its peak of memory."""
    import cloudarena

    cloudarena.simulate(cloudarena.load(jobs_spec(300, 1000)), "first-fit")
    begin = time.process_time()
    scenario = cloudarena.load(jobs_spec(machines, jobs, stream=True))
    metrics = cloudarena.simulate(scenario, "first-fit", 0, record="none").metrics
    return {
        "s": time.process_time() - begin,
        "finished": metrics["jobs_finished"],
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def zone(machines: int, vms: int) -> dict[str, Any]:
    """A streamed run, and its peak of memory."""
    import cloudarena

    path = Path(sys.argv[-1])
    workload = {"source": "files", "vmtable": str(path), "cpu_percent": 0, "stream": True}
    cloudarena.simulate(cloudarena.load(spec(300, 1000)), "first-fit")
    begin, wall = time.process_time(), time.perf_counter()
    scenario = cloudarena.load({**spec(machines, vms), "workload": workload})
    metrics = cloudarena.simulate(scenario, "first-fit", 0, record="none").metrics
    return {
        "s": time.process_time() - begin,
        "wall_s": time.perf_counter() - wall,
        "placed": metrics["allocated"],
        "alive": metrics["running_at_end"],
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def write_zone(machines: int, vms: int, path: Path) -> dict[str, Any]:
    """Writes the trace of a zone, sorted by arrival, a part at a time."""
    import pyarrow.parquet as pq

    import cloudarena
    from cloudarena.workloads.vm.columns import vmtable

    scenario = cloudarena.load(spec(machines, vms, stream=True))
    writer = None
    for part in scenario.workload._draw(0):
        rows = vmtable(part)
        writer = writer or pq.ParquetWriter(path, rows.schema, compression="zstd")
        writer.write_table(rows)
    assert writer is not None
    writer.close()
    return {"gb": path.stat().st_size / 2**30}


def measured(section: str, *arguments: Any) -> Any:
    """A section in a process of its own."""
    print(f"{section} {arguments}", file=sys.stderr, flush=True)
    words = [json.dumps(one) if not isinstance(one, Path) else str(one) for one in arguments]
    command = [sys.executable, "-m", "benchmarks.scale", "--section", section, *words]
    folder = Path(__file__).parent.parent
    child = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=folder)
    return json.loads(child.stdout)


def against_c(console: Console, quick: bool) -> list[dict[str, Any]]:
    """First-fit beside the C programs."""
    rows = []
    table = Table(title="first-fit, ticks of 1 s, CPU s")
    for name in ("hosts", "VMs", "cloudarena", "C, linear", "C, indexed", "/ linear", "/ indexed"):
        table.add_column(name, justify="right")
    for machines, vms in SIZES[:1] if quick else SIZES:
        mine = measured("ours", machines, vms, "first-fit", 5)
        other = measured("theirs", machines, vms, 3)
        for name, run in other.items():
            if run["placed"] != mine["placed"]:
                raise AssertionError(f"{name}: {run['placed']} placed, here {mine['placed']}")
        linear, indexed = other["linear"]["s"], other["indexed"]["s"]
        rows.append({"machines": machines, "vms": vms, "ours": mine, **other})
        cells = (mine["s"], linear, indexed, mine["s"] / linear, mine["s"] / indexed)
        table.add_row(f"{machines:,}", f"{vms:,}", *(f"{cell:.3g}" for cell in cells))
    console.print(table)
    return rows


def growth(
    console: Console, quick: bool, section: str, policies: tuple[str, ...]
) -> list[dict[str, Any]]:
    """The cost of a decision at each number of machines."""
    rows = []
    sizes = GROWTH[:3] if quick else GROWTH
    what = "VM" if section == "ours" else "job"
    table = Table(title=f"µs of CPU a {what}, 30 of them for each machine (at least 100,000)")
    for name in ("policy", *(f"{machines:,}" for machines in sizes), "growth"):
        table.add_column(name, justify="right")
    for policy in policies:
        costs = []
        for machines in sizes:
            vms = max(100_000, 30 * machines)
            run = measured(section, machines, vms, policy, 3)
            costs.append(1e6 * run["s"] / vms)
            rows.append({"policy": policy, "machines": machines, "us": costs[-1], **run})
        cells = [f"{cost:.2f}" for cost in costs]
        table.add_row(policy, *cells, f"{costs[-1] / costs[0]:.2f}")
    if section == "ours":  # what larger arrays cost the same machine in any program
        costs = []
        for machines in sizes:
            vms = max(100_000, 30 * machines)
            run = measured("theirs", machines, vms, 3, ["indexed"])["indexed"]
            costs.append(1e6 * run["s"] / vms)
            rows.append({"policy": "C, indexed", "machines": machines, "us": costs[-1], **run})
        cells = [f"{cost:.2f}" for cost in costs]
        table.add_row("C, indexed", *cells, f"{costs[-1] / costs[0]:.2f}")
    console.print(table)
    return rows


def main() -> None:
    """Measures, prints and writes."""
    if sys.argv[1:2] == ["--section"]:
        section, arguments = sys.argv[2], [json.loads(one) for one in sys.argv[3:5]]
        if section in ("zone", "write_zone"):
            more = [Path(sys.argv[-1])] if section == "write_zone" else []
            found = {"zone": zone, "write_zone": write_zone}[section](*arguments, *more)
        else:
            sections: dict[str, Any] = {
                "ours": ours,
                "theirs": theirs,
                "our_jobs": our_jobs,
                "jobs_zone": jobs_zone,
            }
            found = sections[section](*(json.loads(one) for one in sys.argv[3:]))
        print(json.dumps(found))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and smaller clouds")
    parser.add_argument("--zone", action="store_true", help="only the zone")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 100)
    figures: dict[str, Any] = {}
    if not options.zone:
        figures["against_c"] = against_c(console, options.quick)
        figures["growth"] = growth(console, options.quick, "ours", POLICIES)
        figures["growth_jobs"] = growth(console, options.quick, "our_jobs", JOBS_POLICIES)
    if not options.quick:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "zone.parquet"
            written = measured("write_zone", *ZONE, path)
            figures["zone"] = {**written, **measured("zone", *ZONE, path)}
        figures["jobs_zone"] = [measured("jobs_zone", *size) for size in JOBS_ZONES]
        console.print(
            f"a zone of {ZONE[0]:,} machines, {ZONE[1]:,} VMs streamed: {figures['zone']}"
        )
        for size, found in zip(JOBS_ZONES, figures["jobs_zone"], strict=True):
            console.print(f"{size[0]:,} machines, {size[1]:,} jobs streamed: {found}")
    if options.out is not None:
        options.out.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
