"""Work for many processes. What comes out never depends on how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cloudarena.contract import Policy, Scenario
from cloudarena.errors import CloudarenaError
from cloudarena.policies import ArrayPolicy


def check_workers(workers: int) -> int:
    """The number of processes, if it is one: at least 1, or -1 for all cores."""
    if workers == 0 or workers < -1:
        raise CloudarenaError(f"workers: {workers} is not allowed: at least 1, or -1 for all cores")
    return workers


def worker_count(workers: int) -> int:
    """How many processes there will be."""
    from joblib import cpu_count

    return int(cpu_count()) if workers == -1 else workers


def in_parallel(
    function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[Any]:
    """What the function gives for each tuple of arguments, as they are done, in any order."""
    if workers == 1 or len(jobs) < 2:
        return (function(*job) for job in jobs)
    from joblib import Parallel, delayed

    calls = (delayed(function)(*job) for job in jobs)
    results: Iterator[Any] = Parallel(n_jobs=workers, return_as="generator_unordered")(calls)
    return results


def compile_once(scenario: Scenario, policy: str | Policy) -> None:
    """Finds, checks and compiles a policy before the workers start, so that they need not."""
    resolved = scenario.book.resolve(policy)
    if isinstance(resolved, ArrayPolicy):
        resolved.machine_code  # noqa: B018
