"""How long workflows take at best: longest paths through their DAGs, without transfers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.dag_paths import longest_paths

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
    seconds = function_seconds(workload, single_core_speed)
    remaining: NDArray[np.float64] = longest_paths(
        workload.first_parent, workload.parents, seconds, np.zeros(0)
    )
    return remaining


def critical_path_s(workload: WorkflowWorkload, single_core_speed: float) -> NDArray[np.float64]:
    """The least time of each workflow, in seconds: the longest path through its functions."""
    remaining = remaining_path_s(workload, single_core_speed)
    path: NDArray[np.float64] = np.maximum.reduceat(remaining, workload.first_function[:-1])
    return path
