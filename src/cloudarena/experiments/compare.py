"""Policies side by side, on common random numbers, with statistical honesty.

Replication r of every policy has the seed ``seed + r``: the same work arrives, whatever the
policy draws. So differences are taken pair by pair, which removes the noise that the policies
share. Intervals are Student's, at 95 %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.catalogue import load
from cloudarena.contract import Metric, Policy, Scenario, TradeOff
from cloudarena.errors import CloudarenaError
from cloudarena.experiments.pool import compile_once
from cloudarena.experiments.simulate import simulate
from cloudarena.parallel import check_workers, in_parallel
from cloudarena.policies import policy_name

if TYPE_CHECKING:
    import pyarrow as pa

CONFIDENCE = 0.95
MOST_REPLICATIONS = 1_000_000

Verdict = Literal["better", "worse", "no difference", ""]


class Estimate(NamedTuple):
    """A mean and its confidence interval; without one (NaN) after a single replication."""

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Comparison:
    """What was measured, and what can be said of it."""

    scenario: Scenario
    policies: tuple[str, ...]
    seed: int
    values: dict[str, NDArray[np.float64]]
    """For each metric an array of (policies, replications)."""
    samples: dict[str, dict[str, pa.Table]]
    """For each policy the tables of its first replication that the scenario's plots need."""

    @property
    def replications(self) -> int:
        """How often each policy ran."""
        return int(next(iter(self.values.values())).shape[1])

    @property
    def is_deterministic(self) -> bool:
        """Whether all replications of each policy gave the same numbers."""
        return self.replications > 1 and all(
            bool((values == values[:, :1]).all()) for values in self.values.values()
        )

    def estimate(self, policy: str, metric: str) -> Estimate:
        """The mean of a metric under a policy."""
        return interval(self.values[metric][self.policies.index(policy)])

    def difference(self, policy: str, metric: str, against: str | None = None) -> Estimate:
        """The mean paired difference from another policy, by default from the first."""
        values = self.values[metric]
        other = 0 if against is None else self.policies.index(against)
        return interval(values[self.policies.index(policy)] - values[other])

    def verdict(self, policy: str, metric: Metric) -> Verdict:
        """Whether a policy is better than the first, where the metric has a direction."""
        if metric.better is None or policy == self.policies[0]:
            return ""
        low, high = self.difference(policy, metric.name)[1:]
        if np.isnan(low):
            return ""
        if low <= 0 <= high:
            return "no difference"
        return "better" if (low > 0) == (metric.better == "higher") else "worse"

    def front(self, trade_off: TradeOff) -> tuple[str, ...]:
        """The policies on the Pareto front of two metrics, by their means, from low x to high x.

        On the front is who is at least as good in one metric as everyone who is as good in the
        other, and not the same as an earlier one.
        """
        better = {metric.name: metric.better for metric in self.scenario.measures}
        x, y = (
            self.values[name].mean(axis=1) * (-1.0 if better[name] == "higher" else 1.0)
            for name in (trade_off.x, trade_off.y)
        )
        on_front, lowest = [], np.inf
        for k in np.lexsort((y, x)):
            if y[k] < lowest:
                on_front.append(int(k))
                lowest = y[k]
        by_x = self.values[trade_off.x].mean(axis=1)
        return tuple(self.policies[k] for k in sorted(on_front, key=lambda k: float(by_x[k])))

    def leaders(self, metric: Metric) -> tuple[str, ...]:
        """The best policy, and all that cannot be told from it.

        Each other policy is compared with the one of the best mean; the level of the intervals
        is raised for the number of comparisons (Bonferroni).
        """
        values = self.values[metric.name]
        sign = 1.0 if metric.better == "higher" else -1.0
        best = int(np.argmax(sign * values.mean(axis=1)))
        level = 1 - (1 - CONFIDENCE) / max(1, len(self.policies) - 1)
        tied = [self.policies[best]]
        for k, name in enumerate(self.policies):
            low = interval(sign * (values[best] - values[k]), level).low
            if k != best and not low > 0:
                tied.append(name)
        return tuple(tied)

    def conclusion(self, metric_name: str | None = None) -> str:
        """One sentence: a winner, or that there is none."""
        name = metric_name or self.scenario.headline
        metric = next(m for m in self.scenario.measures if m.name == name)
        way = "highest" if metric.better == "higher" else "lowest"
        if len(self.policies) == 1:
            return f"{self.policies[0]} alone: there is nothing to compare it with."
        if self.replications == 1:
            best = self.leaders(metric)[0]
            return f"{best} has the {way} {name} in one replication: too few to call a winner."
        first, *others = self.leaders(metric)
        if not others:
            if self.is_deterministic:
                return f"{first} wins: {way} {name}; all replications gave the same numbers."
            return f"{first} wins: {way} {name}, by more than chance ({CONFIDENCE:.0%})."
        if len(others) + 1 == len(self.policies):
            return f"No difference in {name} between the policies ({CONFIDENCE:.0%})."
        return f"{first} has the {way} {name}, but cannot be told from {', '.join(others)}."

    def table(self) -> pa.Table:
        """One row per policy and replication, one column per metric."""
        import pyarrow as pa

        count = self.replications
        return pa.table(
            {
                "policy": np.repeat(np.array(self.policies), count),
                "seed": np.tile(self.seed + np.arange(count), len(self.policies)),
                **{name: values.ravel() for name, values in self.values.items()},
            }
        )

    def summary(self) -> dict[str, Any]:
        """All estimates as plain values for JSON."""
        names = list(self.values)
        return {
            "scenario": self.scenario.name,
            "kind": self.scenario.kind,
            "policies": list(self.policies),
            "replications": self.replications,
            "seed": self.seed,
            "confidence": CONFIDENCE,
            "metrics": {
                policy: {name: _plain(self.estimate(policy, name)) for name in names}
                for policy in self.policies
            },
            "differences": {
                policy: {
                    metric.name: {
                        **_plain(self.difference(policy, metric.name)),
                        "verdict": self.verdict(policy, metric),
                    }
                    for metric in self.scenario.measures
                }
                for policy in self.policies[1:]
            },
            **(
                {
                    "trade_offs": [
                        {"x": pair.x, "y": pair.y, "front": list(self.front(pair))}
                        for pair in self.scenario.trade_offs
                    ]
                }
                if self.scenario.trade_offs
                else {}
            ),
            "conclusion": self.conclusion(),
        }


def interval(values: NDArray[np.float64], level: float = CONFIDENCE) -> Estimate:
    """The mean of independent values with Student's confidence interval."""
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, float("nan"), float("nan"))
    if (values == values[0]).all():
        return Estimate(float(values[0]), float(values[0]), float(values[0]))
    from scipy.stats import t

    half = float(t.ppf((1 + level) / 2, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5)
    return Estimate(mean, mean - half, mean + half)


def compare(
    scenario: Scenario | str | Path | Mapping[str, Any],
    policies: Sequence[str | Policy] | None = None,
    replications: int = 10,
    seed: int = 0,
    workers: int = -1,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Runs each policy ``replications`` times on the same work and compares them.

    Args:
        scenario: a scenario, a name of the catalogue, a YAML file or a dict.
        policies: names or callables; by default the scenario's ``compared_policies``.
        replications: how often each policy runs, with the seeds ``seed``, ``seed + 1``, ...
        seed: of the first replication.
        workers: processes; -1 is one for each core. The result does not depend on it.
        progress: is called with the numbers of finished and of all replications.
    """
    if not isinstance(scenario, Scenario):
        scenario = load(scenario)
    if replications < 1:
        raise CloudarenaError(f"replications: {replications} is not allowed: at least 1")
    if replications > MOST_REPLICATIONS:
        most = f"at most {MOST_REPLICATIONS:,}"
        raise CloudarenaError(f"replications: {replications} is not allowed: {most}")
    check_workers(workers)
    chosen = list(policies or scenario.compared_policies())
    names = tuple(policy_name(policy) for policy in chosen)
    for name in names:
        if names.count(name) > 1:
            raise CloudarenaError(f"policies: {name!r} stands twice")
    for policy in chosen:
        compile_once(scenario, policy)
    values = {metric.name: np.empty((len(names), replications)) for metric in scenario.measures}
    samples: dict[str, dict[str, pa.Table]] = {}
    jobs = [(scenario, chosen, replication, seed) for replication in range(replications)]
    finished = in_parallel(_replication, jobs, workers)
    for done, (replication, results) in enumerate(finished, start=1):
        for k, (metrics, tables) in enumerate(results):
            for name in values:
                values[name][k, replication] = metrics[name]
            if replication == 0:
                samples[names[k]] = tables
        if progress is not None:
            progress(done, replications)
    return Comparison(scenario, names, seed, values, samples)


Measured = list[tuple[dict[str, float], "dict[str, pa.Table]"]]


def _replication(
    scenario: Scenario, policies: list[str | Policy], replication: int, seed: int
) -> tuple[int, Measured]:
    """All policies on the work of one replication, which is made once."""
    needed = {plot.table for plot in scenario.plots}
    needed |= {plot.marks[0] for plot in scenario.plots if plot.marks}
    results: Measured = []
    for policy in policies:
        first = replication == 0
        result = simulate(scenario, policy, seed + replication, "summary" if first else "none")
        kept = {name: table for name, table in result.tables.items() if first and name in needed}
        results.append((result.metrics, kept))
    return replication, results


def _plain(estimate: Estimate) -> dict[str, float | None]:
    return {key: None if np.isnan(value) else value for key, value in estimate._asdict().items()}
