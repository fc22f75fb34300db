"""VMs that fail and come back: when, and how many of them are up in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import SpecError
from cloudarena.engine.streams import stream
from cloudarena.scenarios.clusters.spec import ClustersScenario
from cloudarena.workloads.clusters.batches import Batches

LASTING = 4.0
"""How long VMs go on to fail after the last batch, by default: this times what all work takes.

Of several virtual clusters that which needs longest counts."""
MOST_CELLS = 20_000_000
"""How many numbers may say which VMs are up when."""


class Down(NamedTuple):
    """A time in which a VM is down."""

    vm: int
    begin: float
    end: float


def outages(scenario: ClustersScenario, batches: Batches, seed: int) -> list[Down]:
    """All times in which VMs are down under a seed, by begin; the same for all policies.

    Those of a VM do not overlap: what is given and drawn together counts as one.
    """
    failures = scenario.failures
    if failures is None:
        return []
    found = [Down(one.vm, one.time_s, one.time_s + one.seconds) for one in failures.outages]
    if failures.mean_up_s is not None:
        until = failures.until_s
        if until is None:
            means = np.array([one.seconds.mean for one in scenario.classes])
            work = batches.tasks * means
            longest = 0.0
            for group in scenario.groups:
                own = np.isin(np.arange(len(means)), group.classes)
                longest = max(longest, LASTING * float((work * own).sum()) / group.vms)
            until = float(batches.times[-1]) + longest
        _check_number(scenario.vms, failures.mean_up_s, failures.mean_down_s, until)
        for vm in range(scenario.vms):
            # A VM has a stream of its own, so that others may be added.
            rng = stream(seed, f"failures/{vm}")
            time = rng.exponential(failures.mean_up_s)
            while time < until:
                back = time + rng.exponential(failures.mean_down_s)
                found.append(Down(vm, time, back))
                time = back + rng.exponential(failures.mean_up_s)
    return sorted(_merged(found), key=lambda one: (one.begin, one.vm))


def _check_number(vms: int, mean_up_s: float, mean_down_s: float, until: float) -> None:
    """Refuses failures of which nobody could keep account."""
    expected = vms * until / (mean_up_s + mean_down_s)
    if 2.0 * expected * (vms + 1) > MOST_CELLS:
        raise SpecError(
            f"failures.mean_up_s: {mean_up_s:g} is not allowed: some {expected:.3g} failures of "
            f"{vms} VMs in {until:.3g} s are too many; fewer VMs, a longer time or an earlier "
            "until_s"
        )


def _merged(found: Sequence[Down]) -> list[Down]:
    """Makes one of the times of a VM that overlap or touch."""
    merged: list[Down] = []
    for one in sorted(found):
        if merged and merged[-1].vm == one.vm and one.begin <= merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, one.end))
        else:
            merged.append(one)
    return merged


def changes_of(vms: int, found: Sequence[Down]) -> tuple[Floats, Ints]:
    """When something changes, after a first 0, and how many of the first VMs are up from then on.

    In the last part all are up.
    """
    if not found:
        return np.zeros(1), np.zeros((1, 1), np.int64)
    times = np.unique([0.0, *(one.begin for one in found), *(one.end for one in found)])
    if len(times) * (vms + 1) > MOST_CELLS:
        raise SpecError(
            f"failures: {len(found)} outages of {vms} VMs are not allowed: too many to keep account"
        )
    changed = np.zeros((len(times), vms), np.int64)
    numbers = np.array([one.vm for one in found])
    np.add.at(changed, (np.searchsorted(times, [one.begin for one in found]), numbers), -1)
    np.add.at(changed, (np.searchsorted(times, [one.end for one in found]), numbers), 1)
    is_up = 1 + np.cumsum(changed, axis=0)
    return times, np.ascontiguousarray(np.insert(np.cumsum(is_up, axis=1), 0, 0, axis=1))
