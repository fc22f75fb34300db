"""What a sweep costs beyond its simulations: ``python -m benchmarks.sweep [overhead|store|dask]``.

``overhead``: 10,000 small runs on one machine with one worker and with two, beside the same runs in
a plain loop. CPU seconds are of the process and all its workers; starting and compiling is apart.
``dask``: the same by a Dask cluster of this machine. ``store``: a store of a million rows: its
size, and how long it takes to merge, to open, to filter and to aggregate.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cloudarena.base.parallel import LocalExecutor
from cloudarena.catalogue import load
from cloudarena.experiments.simulate import simulate
from cloudarena.experiments.sweep.executors import opened
from cloudarena.experiments.sweep.ledger import Outcome
from cloudarena.experiments.sweep.results import open_results
from cloudarena.experiments.sweep.rows import part_name, table_of
from cloudarena.experiments.sweep.run import sweep
from cloudarena.experiments.sweep.run_key import run_key
from cloudarena.experiments.sweep.store import Store, write_part

SPEC = "vm/toy"
POLICIES = ("best-fit", "first-fit")
PART = 5_000


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall-clock seconds, CPU seconds of this process, and what a call gives."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    return time.perf_counter() - wall, time.process_time() - cpu, value


def of_descendants() -> float:
    """CPU seconds of all processes that this one has started, and they; Linux alone tells."""
    parents, seconds = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(file.parent.name)
        parents[number] = int(words[1])
        seconds[number] = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    family, fresh = {os.getpid()}, {os.getpid()}
    while fresh:
        fresh = {one for one, parent in parents.items() if parent in fresh} - family
        family |= fresh
    return sum(seconds[one] for one in family - {os.getpid()})


def overhead(runs: int, dask: bool) -> dict[str, float]:
    """The cost of a run in a loop, and in sweeps."""
    scenario = load(SPEC)
    each = runs // len(POLICIES)
    for policy in POLICIES:
        simulate(scenario, policy, 0, "none")
    wall, cpu, _ = timed(
        lambda: [simulate(scenario, policy, k, "none") for k in range(each) for policy in POLICIES]
    )
    figures = {"loop: ms of CPU per run": 1e3 * cpu / runs, "loop: ms per run": 1e3 * wall / runs}
    for workers in (1, 2):
        with LocalExecutor(workers) as pool:
            figures |= _on(pool, f"{workers} worker(s)", runs, figures)
    if dask:
        with opened(2, "local-dask") as pool:
            figures |= _on(pool, "Dask, 2 workers", runs, figures)
    alone, both = (figures[f"{n} worker(s): ms per run"] for n in (1, 2))
    figures["two workers: times as fast as one"] = alone / both
    return figures


def _on(pool: Any, name: str, runs: int, before: dict[str, float]) -> dict[str, float]:
    folder = Path(tempfile.mkdtemp())
    try:
        source = {"spec": SPEC, "policies": list(POLICIES), "replications": 40}
        sweep(source, folder / "warm", executor=pool)  # which starts and compiles
        source["replications"] = runs // len(POLICIES)
        before_cpu = of_descendants()
        wall, cpu, outcome = timed(lambda: sweep(source, folder / "store", executor=pool))
        assert outcome.ran == runs
        of_workers = of_descendants() - before_cpu
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        f"{name}: ms per run": 1e3 * wall / runs,
        f"{name}: ms of CPU of the sweep": 1e3 * cpu / runs,
        f"{name}: ms of CPU of workers": 1e3 * of_workers / runs,
        f"{name}: ms of CPU beyond the loop": 1e3 * (cpu + of_workers) / runs
        - before["loop: ms of CPU per run"],
    }


def store(rows: int) -> dict[str, float]:
    """A store of many rows of a toy with 25 metrics, in parts of 5,000."""
    folder = Path(tempfile.mkdtemp())
    figures: dict[str, float] = {}

    def measure(what: str, call: Callable[[], Any]) -> Any:
        wall, cpu, value = timed(call)
        figures[f"{what}: s"], figures[f"{what}: CPU s"] = wall, cpu
        return value

    try:
        with Store(folder) as kept:
            measure("write all parts", lambda: _fill(kept, rows))
            measure("open with parts", lambda: len(open_results(folder)))
            measure("compact", kept.compact)
        size = sum(file.stat().st_size for file in (folder / "runs").iterdir())
        figures["Parquet: bytes per run"] = size / rows
        figures["ledger: bytes per run"] = (folder / "ledger.sqlite").stat().st_size / rows
        query = "select * from runs where policy = 'best-fit' and \"oversubscription.cpu\" = 1.25"
        found = measure("open and filter", lambda: open_results(folder).sql(query))
        figures["rows found"] = found.num_rows
        group = 'select policy, "oversubscription.cpu", avg(profit_usd) from runs group by all'
        measure("open and group", lambda: open_results(folder).sql(group))
        measure("all as Arrow", lambda: open_results(folder).arrow())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return figures


def _fill(kept: Store, rows: int) -> None:
    """Rows as workers write them; the numbers are drawn, the cells go round."""
    rng = np.random.default_rng(0)
    names = list(load(SPEC).kind.metric)
    cells = [
        {"cell": run_key(b"cell", number % 100), "scenario": SPEC, "case": "",
         "policy": POLICIES[number % 2], "oversubscription.cpu": 1.0 + (number // 2 % 50) / 100}
        for number in range(PART)
    ]  # fmt: skip
    template = table_of([("", cell, 0, dict.fromkeys(names, 0.0)) for cell in cells])
    for start in range(0, rows, PART):
        keys = [run_key(b"toy", number) for number in range(start, start + PART)]
        seeds = (start + np.arange(PART)) // 100
        table = template.set_column(0, template.schema.field(0), pa.array(keys))
        for place, field in enumerate(template.schema):
            if field.name == "seed":
                table = table.set_column(place, field, pa.array(seeds))
            elif field.name in names:
                table = table.set_column(place, field, pa.array(rng.normal(100.0, 10.0, PART)))
        name = part_name("vm", keys)
        write_part(kept.runs, name, table)
        done = [
            Outcome(key, "", 0.001, "", seed)
            for key, seed in zip(keys, seeds.tolist(), strict=True)
        ]
        kept.note(done, name, PART)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["overhead", "dask", "store"])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    figures: dict[str, float] = {}
    if {"overhead", "dask"} & set(given.what):
        figures |= overhead(given.runs, "dask" in given.what)
    if "store" in given.what:
        figures |= store(given.rows)
    for name, value in figures.items():
        print(f"{name:45} {value:12,.4g}")
    if given.out is not None:
        given.out.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
