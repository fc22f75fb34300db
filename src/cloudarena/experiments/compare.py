"""Policies side by side, on common random numbers, with statistical honesty.

Replication r of every policy has the seed ``seed + r``: the same work arrives, whatever the
policy draws. So differences are taken pair by pair, which removes the noise that the policies
share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cloudarena.base.errors import CloudarenaError, check_choice
from cloudarena.base.measures import AtLeast
from cloudarena.base.notices import notebook_bar
from cloudarena.base.parallel import check_workers, in_parallel
from cloudarena.base.statistics import CONFIDENCE, Estimate, interval
from cloudarena.catalogue import load
from cloudarena.contract import Policy, Scenario
from cloudarena.experiments.comparison import Comparison, Verdict
from cloudarena.experiments.limits import limits_on
from cloudarena.experiments.pool import compile_once
from cloudarena.experiments.simulate import simulate
from cloudarena.policies import policy_name

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CONFIDENCE", "Comparison", "Estimate", "Verdict", "compare", "interval"]

MOST_REPLICATIONS = 1_000_000


def compare(
    scenario: Scenario | str | Path | Mapping[str, Any],
    policies: Sequence[str | Policy] | None = None,
    replications: int = 10,
    seed: int = 0,
    workers: int = -1,
    progress: Callable[[int, int], None] | None = None,
    ignore_service: bool = False,
    service_margin: float = 0.0,
    executor: Executor | None = None,
    by: str | None = None,
    where: Sequence[str] = (),
    baseline: str | None = None,
) -> Comparison:
    """Runs each policy ``replications`` times on the same work and compares them.

    Args:
        scenario: a scenario, a name of the catalogue, a YAML file or a dict.
        policies: names or callables; by default the scenario's ``compared_policies``.
        replications: how often each policy runs, with the seeds ``seed``, ``seed + 1``, ...
        seed: of the first replication.
        workers: processes; -1 is one for each core. The result does not depend on it.
        progress: is called with the numbers of finished and of all replications.
        ignore_service: lets a policy win that leaves more work undone than another.
        service_margin: lets it win if that is no more than this part of the work, such as 0.001.
        executor: any ``concurrent.futures.Executor`` to run on, such as that of a cluster.
        by: the metric by which they are ranked; the headline of the kind by default.
        where: limits that every replication must keep, such as ``response_p95_s<=0.5``.
        baseline: the policy with which the others are compared; the first one by default.
    """
    if not isinstance(scenario, Scenario):
        scenario = load(scenario)
    if replications < 1:
        raise CloudarenaError(f"replications: {replications} is not allowed: at least 1")
    if replications > MOST_REPLICATIONS:
        most = f"at most {MOST_REPLICATIONS:,}"
        raise CloudarenaError(f"replications: {replications} is not allowed: {most}")
    if not 0 <= service_margin <= 1:
        raise CloudarenaError(f"service_margin: {service_margin} is not allowed: 0 to 1")
    check_workers(workers)
    progress = progress or notebook_bar("replications")
    limits = limits_on(scenario.kind, where)
    if by is not None:
        directed = [metric.name for metric in scenario.kind.metrics if metric.better]
        check_choice("--by", by, directed)
    chosen = list(policies or scenario.compared_policies())
    if baseline is not None:
        chosen = [baseline, *(one for one in chosen if policy_name(one) != baseline)]
    names = tuple(policy_name(policy) for policy in chosen)
    for name in names:
        if names.count(name) > 1:
            raise CloudarenaError(f"policies: {name!r} is a duplicate")
    for policy in chosen:
        compile_once(scenario, policy)
    shape = len(names), replications
    values = {metric.name: np.empty(shape) for metric in scenario.kind.metrics}
    bounds = {metric.name: np.zeros(shape, np.bool_) for metric in scenario.kind.metrics}
    samples: dict[str, dict[str, pa.Table]] = {}
    jobs = [(scenario, chosen, replication, seed) for replication in range(replications)]
    finished = in_parallel(_replication, jobs, workers, executor)
    for done, (replication, results) in enumerate(finished, start=1):
        for k, (metrics, tables) in enumerate(results):
            for name in values:
                values[name][k, replication] = metrics[name]
                bounds[name][k, replication] = isinstance(metrics[name], AtLeast)
            if replication == 0:
                samples[names[k]] = tables
        if progress is not None:
            progress(done, replications)
    return Comparison(
        scenario,
        names,
        seed,
        values,
        samples,
        bounds={name: flags for name, flags in bounds.items() if flags.any()},
        saw={
            name: seen
            for name, policy in zip(names, chosen, strict=True)
            if (seen := what_it_sees(scenario, policy))
        },
        ignore_service=ignore_service,
        service_margin=service_margin,
        by=by,
        limits=limits,
        baseline=baseline,
    )


def what_it_sees(scenario: Scenario, policy: str | Policy) -> str:
    """What a policy looks at that no real decider knows, such as true durations; or nothing.

    That is the future for who has ``oracle`` in its name, and what its ``needs`` say as far as
    the spec lets it be known. Estimates are what users say themselves: everybody has them.
    """
    if "oracle" in policy_name(policy):
        return "the future"
    resolved = scenario.kind.policies.resolve(policy)
    parts = getattr(resolved, "parts", None)
    needs = [getattr(one, "needs", "") for one in (resolved, *(parts or {}).values())]
    known = getattr(scenario, "known", needs)
    if "durations" in known:  # who asks for estimates is shown the truth then
        needs = ["durations" if need == "estimates" else need for need in needs]
    told = [need for need in needs if need and need != "estimates" and need in known]
    return ", ".join(dict.fromkeys(told))


Measured = list[tuple[dict[str, float], "dict[str, pa.Table]"]]


def _replication(
    scenario: Scenario, policies: list[str | Policy], replication: int, seed: int
) -> tuple[int, Measured]:
    """All policies on the work of one replication, which is made once."""
    needed = {plot.table for plot in scenario.kind.plots}
    needed |= {plot.marks[0] for plot in scenario.kind.plots if plot.marks}
    results: Measured = []
    for policy in policies:
        first = replication == 0
        result = simulate(scenario, policy, seed + replication, "summary" if first else "none")
        kept = {name: table for name, table in result.tables.items() if first and name in needed}
        results.append((result.metrics, kept))
    return replication, results
