"""The eight published rows of the vm document beside ours. Run from the repository.

``python -m benchmarks.azure_rows [--seeds 10] [--first-seed 0] [--vms 10k|336k] [--out FILE]``

The rows are those of MARO's documentation of ``vm_scheduling``: 10,000 VMs of Azure's trace of 2019
on 100 machines and 336,000 on 880, of 32 cores and 128 GB or 16 cores and 112 GB, placed at random
or by best fit, over 8,638 ticks without a buffer and without oversubscription. Ours are means over
seeds with 95 % intervals. ``--neighbours`` shows other sizes of machines.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import cloudarena
from benchmarks.mapping import markdown
from cloudarena.base.files import write_text
from cloudarena.experiments.compare import interval

SCENARIO = {"10k": "vm/azure-like-10k", "336k": "vm/azure-like-336k"}
POLICIES = ("random", "best-fit")
MEMORY_GB = {16: 112.0, 32: 128.0}
ALLOCATED_WITHIN, COMPLETED_WITHIN = 0.10, 0.03
progress = Console(stderr=True)


class Published(NamedTuple):
    """A row of the document."""

    vms: str
    cores: int
    policy: str
    requests: int
    allocated: int
    completed: int


PUBLISHED = (
    Published("10k", 32, "random", 10_000, 9_850, 9_030),
    Published("10k", 32, "best-fit", 10_000, 10_000, 9_180),
    Published("10k", 16, "random", 10_000, 8_011, 7_411),
    Published("10k", 16, "best-fit", 10_000, 7_917, 7_313),
    Published("336k", 32, "random", 335_985, 176_468, 165_715),
    Published("336k", 32, "best-fit", 335_985, 171_044, 160_495),
    Published("336k", 16, "random", 335_985, 92_885, 87_153),
    Published("336k", 16, "best-fit", 335_985, 92_263, 86_600),
)

Counts = dict[tuple[str, int, str], NDArray[np.float64]]
"""By VMs, cores and policy: allocated and completed, a row for each seed."""


def run_rows(
    rows: Iterable[tuple[str, int, str]],
    seeds: Sequence[int],
    memory_gb: Mapping[int, float] = MEMORY_GB,
) -> Counts:
    """Runs settings on the same seeds; the VMs of a seed are drawn once."""
    wanted = list(dict.fromkeys(rows))
    counts: dict[tuple[str, int, str], list[tuple[float, float]]] = {row: [] for row in wanted}
    for vms in dict.fromkeys(vms for vms, _, _ in wanted):
        for seed in seeds:
            progress.print(f"{vms}, seed {seed}", style="dim", highlight=False)
            for row in wanted:
                if row[0] == vms:
                    _, cores, policy = row
                    size = {"cores": cores, "memory_gb": memory_gb[cores]}
                    changes = {f"machines[0].{name}": value for name, value in size.items()}
                    scenario = cloudarena.load(SCENARIO[vms], changes)
                    run = cloudarena.simulate(scenario, policy, seed=seed, record="none")
                    counts[row].append((run.metrics["allocated"], run.metrics["completed"]))
    return {row: np.array(values) for row, values in counts.items()}


def beside(counts: Counts) -> list[list[str]]:
    """A line for each published row that was run: theirs, ours, and whether ours is near."""
    lines = []
    for row in PUBLISHED:
        key = (row.vms, row.cores, row.policy)
        if key not in counts:
            continue
        allocated, completed = counts[key].T
        ours, done = interval(allocated), float(completed.sum() / allocated.sum())
        theirs = row.completed / row.allocated
        near = abs(ours.mean / row.allocated - 1.0) <= ALLOCATED_WITHIN
        near &= abs(done - theirs) <= COMPLETED_WITHIN
        lines.append(
            [
                f"{row.vms}, {row.cores} cores",
                row.policy,
                f"{row.allocated:,}",
                f"{ours.mean:,.0f} ± {ours.half_width:,.0f}",
                f"{ours.mean / row.allocated - 1.0:+.1%}",
                f"{theirs:.1%}",
                f"{done:.1%}",
                "yes" if near else "no",
            ]
        )
    return lines


def orders(counts: Counts) -> list[list[str]]:
    """Random against best-fit, paired by seed."""
    lines = []
    theirs = {(row.vms, row.cores, row.policy): row.allocated for row in PUBLISHED}
    for vms, cores in dict.fromkeys((row.vms, row.cores) for row in PUBLISHED):
        random, best = ((vms, cores, policy) for policy in POLICIES)
        if random in counts:
            difference = interval(counts[random][:, 0] - counts[best][:, 0])
            published = theirs[random] - theirs[best]
            lines.append(
                [
                    f"{vms}, {cores} cores",
                    f"{published:+,}",
                    f"{difference.mean:+,.0f} ± {difference.half_width:,.0f}",
                    "yes" if difference.mean * published > 0 else "no",
                ]
            )
    return lines


def neighbours(seeds: Sequence[int]) -> str:
    """Allocated VMs by the cores of a machine of 256 GB: more cores, more VMs."""
    sizes = (8, 12, 16, 20, 24, 28, 32, 40, 48)
    rows = [(vms, cores, policy) for vms in SCENARIO for cores in sizes for policy in POLICIES]
    counts = run_rows(rows, seeds, dict.fromkeys(sizes, 256.0))
    header = ["VMs", "policy", *(f"{cores} cores" for cores in sizes)]
    lines = [
        [vms, policy, *(f"{counts[vms, cores, policy][:, 0].mean():,.0f}" for cores in sizes)]
        for vms in SCENARIO
        for policy in POLICIES
    ]
    return markdown(header, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--vms", choices=sorted(SCENARIO))
    parser.add_argument("--neighbours", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    if asked.neighbours:
        text = neighbours(seeds)
    else:
        rows = [(r.vms, r.cores, r.policy) for r in PUBLISHED if asked.vms in (None, r.vms)]
        counts = run_rows(rows, seeds)
        header = ["setting", "policy", "allocated", "ours", "", "completed", "ours", "near"]
        text = markdown(header, beside(counts))
        header = ["setting", "random less best-fit", "ours, paired", "same order"]
        text += "\n" + markdown(header, orders(counts))
    print(text)
    if asked.out:
        write_text(asked.out, text)


if __name__ == "__main__":
    main()
