"""How long workflows take at best: longest paths through their DAGs, without transfers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import lean
from cloudarena.workloads.jobs.graph import task_levels

if TYPE_CHECKING:
    from cloudarena.workloads.workflow.columns import WorkflowWorkload


def function_seconds(workload: WorkflowWorkload, single_core_speed: float) -> NDArray[np.float64]:
    """The time of each function on enough idle cores, with all the memory it needs.

    ``computation / (parallelism * single_core_speed)``, in seconds.
    """
    seconds: NDArray[np.float64] = workload.computation / (
        workload.parallelism * float(single_core_speed)
    )
    return seconds


def remaining_path_s(workload: WorkflowWorkload, single_core_speed: float) -> NDArray[np.float64]:
    """The least time from the start of each function to the end of its workflow, in seconds.

    The function's own time and the longest path through those that wait for it: the upward rank
    of HEFT (Topcuoglu et al. 2002) without transfers.
    """
    remaining = np.zeros(len(workload.computation))
    seconds = function_seconds(workload, single_core_speed)
    _sweep(_backwards(workload), workload.first_parent, workload.parents, seconds, remaining)
    return remaining


def critical_path_s(workload: WorkflowWorkload, single_core_speed: float) -> NDArray[np.float64]:
    """The least time of each workflow, in seconds: the longest path through its functions."""
    remaining = remaining_path_s(workload, single_core_speed)
    path: NDArray[np.float64] = np.maximum.reduceat(remaining, workload.first_function[:-1])
    return path


def _backwards(workload: WorkflowWorkload) -> NDArray[np.int64]:
    """The functions in an order in which each comes before its parents."""
    functions = len(workload.computation)
    child = np.repeat(np.arange(functions), np.diff(workload.first_parent))
    if (workload.parents < child).all():
        return np.arange(functions)[::-1].copy()
    levels = task_levels(workload.first_parent, workload.parents)
    return np.argsort(-levels, kind="stable")


@lean
def _sweep(
    order: NDArray[np.int64],
    first_parent: NDArray[np.int64],
    parents: NDArray[np.int64],
    seconds: NDArray[np.float64],
    remaining: NDArray[np.float64],
) -> None:
    """Fills ``remaining``; on the way it holds the longest path after each function."""
    for function in order:
        remaining[function] += seconds[function]
        for edge in range(first_parent[function], first_parent[function + 1]):
            parent = parents[edge]
            remaining[parent] = max(remaining[parent], remaining[function])
