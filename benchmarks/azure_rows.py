"""The eight published rows of the vm document beside ours. Run from the repository.

``python -m benchmarks.azure_rows [--seeds 10] [--first-seed 0] [--vms 10k|336k] [--out FILE]``

The rows are those of MARO's documentation of ``vm_scheduling``: 10,000 VMs of Azure's trace of 2019
on 100 machines and 336,000 on 880, of 32 cores and 128 GB or 16 cores and 112 GB, placed at random
or by best fit, over 8,638 ticks without a buffer and without oversubscription. Ours are means over
seeds with 95 % intervals. ``--neighbours`` shows other sizes of machines.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.mapping import markdown
from cloudarena.base.files import write_text
from cloudarena.base.statistics import interval
from cloudarena.reproduce.azure_rows import (
    ALLOCATED_WITHIN,
    COMPLETED_WITHIN,
    POLICIES,
    PUBLISHED,
    SCENARIO,
    Counts,
    run_rows,
)


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
