"""What was measured of several policies, and what can be said of it.

All verdicts, in a terminal, on a page and in JSON, come from here, and all rest on the same
family of paired tests (``pairs``). Service comes first: who leaves more of the work undone than
another is out of the running, whatever else it saves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.html import html_table, number_text
from cloudarena.base.limits import Limit
from cloudarena.base.measures import AtLeast
from cloudarena.base.names import UNSERVED
from cloudarena.base.results import SPEC, Contents, needed
from cloudarena.base.statistics import (
    ROUNDING,
    Estimate,
    differences,
    front_of,
    interval,
)
from cloudarena.contract import Metric, Saved, Scenario, TradeOff, scenario_from_yaml
from cloudarena.contract.own_metrics import described, restored
from cloudarena.experiments.limits import is_upper, kept
from cloudarena.experiments.pairs import (
    RISK,
    Decisive,
    Family,
    Pair,
    is_fixed,
    is_small,
    make_family,
)
from cloudarena.experiments.samples import joined, names_of, separated
from cloudarena.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

    from cloudarena.experiments.pictures import ComparisonPlots

Verdict = Literal["better", "worse", "no difference", "not told apart", ""]
TIES = ("no difference", "not told apart")
"""The verdicts on two of which none is known to be better: there is hardly a difference, or the
interval is wide."""
DECISIVE_SHARE = 0.5
"""Who leaves so much more of the work undone in each of several runs needs no test."""
NEGLIGIBLE_SHARE = 0.001
"""Where no test can tell who serves less, it is a doubt if it may be more than this part of the
work; so is less that comes out in every run."""
REPLICATIONS = "replications"
"""The table with every replication of every policy."""
BOUND = "_is_at_least"
"""The end of the names of columns that say which values are lower bounds."""


@dataclass(frozen=True, eq=False)
class Comparison(Saved):
    """What was measured, and what can be said of it."""

    stored_as: ClassVar[str] = "comparison"
    page: ClassVar[str] = "cloudarena.report.pages.comparison"

    scenario: Scenario
    policies: tuple[str, ...]
    seed: int
    values: dict[str, NDArray[np.float64]]
    """Values by metric, arrays of (policies, replications); NaN where there is none."""
    samples: dict[str, dict[str, pa.Table]]
    """Tables by policy, of its first replication, that the scenario's plots need."""
    bounds: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    """Which values are lower bounds, since work had not finished; by metrics that have some."""
    saw: dict[str, str] = field(default_factory=dict)
    """What a policy looked at that no real decider knows."""
    ignore_service: bool = False
    """Whether a policy may win that leaves more work undone than another."""
    service_margin: float = 0.0
    """The part of the work by which a policy may leave more undone than another and still win."""
    by: str | None = None
    """The metric by which policies are ranked, if it is not the headline of the kind."""
    limits: tuple[Limit, ...] = ()
    """What every replication of a policy must keep for it to win."""
    baseline: str | None = None
    """The policy that the answer compares the best with."""
    ran: NDArray[np.bool_] | None = None
    """Which replications each policy ran, where not all ran them all: (policies, replications)."""
    risk: float = RISK
    """The probability that any verdict is wrong, at most."""
    version: str = __version__
    """The version of cloudarena that ran it."""

    @property
    def replications(self) -> int:
        """How often each policy ran."""
        return int(next(iter(self.values.values())).shape[1])

    @property
    def is_deterministic(self) -> bool:
        """Whether all replications of each policy gave the same numbers."""
        return all(self.is_fixed(policy) for policy in self.policies)

    def is_fixed(self, policy: str) -> bool:
        """Whether all replications of a policy gave the same numbers, in every metric."""
        k = self.policies.index(policy)
        if self.ran is None:
            return is_fixed(self.values, k)
        return is_fixed({name: rows[:, self.ran[k]] for name, rows in self.values.items()}, k)

    @property
    def headline(self) -> str:
        """The name of the metric by which policies are ranked."""
        return self.by or self.scenario.kind.headline

    @property
    def asks_amount(self) -> bool:
        """Whether the question names a metric, limits or a baseline, so that amounts answer it."""
        return self.by is not None or bool(self.limits) or self.baseline is not None

    def kept(self, policy: str, limit: Limit) -> NDArray[np.bool_]:
        """Flags of the replications in which a policy keeps a limit."""
        k, flags = self.policies.index(policy), self.bounds.get(limit.metric)
        return kept(limit, self.values[limit.metric][k], None if flags is None else flags[k])

    @cached_property
    def beyond_limits(self) -> tuple[str, ...]:
        """The policies that break a limit in some replication."""
        return tuple(
            one
            for one in self.policies
            if not all(self.kept(one, limit).all() for limit in self.limits)
        )

    @property
    def service_is_limited(self) -> bool:
        """Whether a limit says how much may be left undone: then no other rule does."""
        return any(limit.metric == UNSERVED and is_upper(limit) for limit in self.limits)

    @cached_property
    def family(self) -> Family:
        """All pairs of policies in all metrics, tested together."""
        judged = [metric.name for metric in self.scenario.kind.metrics if metric.better]
        important = (self.headline, UNSERVED)
        decisive = {UNSERVED: Decisive(DECISIVE_SHARE, nothing=1.0)}
        return make_family(
            self.values, self.bounds, judged, important, decisive, self.ran, self.risk
        )

    def estimate(self, policy: str, metric: str) -> Estimate:
        """The mean of a metric under a policy, over the replications in which it has a value."""
        k = self.policies.index(policy)
        row = self.values[metric][k]
        mean, low, high = interval(row[~np.isnan(row)])
        return (
            Estimate(mean, low, math.inf)
            if self.is_bounded(policy, metric)
            else Estimate(mean, low, high)
        )

    def counted(self, policy: str, metric: str) -> int:
        """The number of replications in which a policy has a value of a metric."""
        return int((~np.isnan(self.values[metric][self.policies.index(policy)])).sum())

    def runs_of(self, policy: str) -> int:
        """The number of replications that a policy ran."""
        if self.ran is None:
            return self.replications
        return int(self.ran[self.policies.index(policy)].sum())

    def is_bounded(self, policy: str, metric: str) -> bool:
        """Whether the mean of a metric is a lower bound: in some run work had not finished."""
        flags = self.bounds.get(metric)
        return flags is not None and bool(flags[self.policies.index(policy)].any())

    def pair(self, policy: str, metric: str, against: str | None = None) -> Pair:
        """A policy against another, by default against the first."""
        other = 0 if against is None else self.policies.index(against)
        return self.family.pair(metric, self.policies.index(policy), other)

    def difference(self, policy: str, metric: str, against: str | None = None) -> Estimate:
        """The mean paired difference from another policy, by default from the first.

        The interval is at the level at which the pair was tested, so it leaves out zero exactly
        where there is a verdict.
        """
        return self.pair(policy, metric, against).difference

    def verdict(self, policy: str, metric: Metric, against: str | None = None) -> Verdict:
        """Whether a policy is better than another, by default the first.

        It says nothing where the metric has no direction, after one replication, where one of the
        two has no value in some replication, and where unfinished work could turn it.
        """
        other = self.policies[0] if against is None else against
        if metric.better is None or policy == other:
            return ""
        pair = self.pair(policy, metric.name, other)
        if pair.sign:
            return "better" if (pair.sign > 0) == (metric.better == "higher") else "worse"
        is_known = not (pair.difference.is_at_least or pair.difference.is_at_most)
        is_known = is_known and not math.isnan(pair.difference.mean)
        if pair.basis == "none" or not is_known:
            return ""
        means = [self.estimate(one, metric.name).mean for one in (policy, other)]
        ends = np.abs(pair.difference[1:])
        is_negligible = metric.name == UNSERVED and bool((ends <= NEGLIGIBLE_SHARE).all())
        is_none = is_negligible or is_small(pair.difference, *means)
        return "no difference" if is_none else "not told apart"

    @property
    def service(self) -> Metric | None:
        """The metric of the work that is left undone, if the scenario has it."""
        return next((one for one in self.scenario.kind.metrics if one.name == UNSERVED), None)

    @cached_property
    def out_of_the_running(self) -> tuple[str, ...]:
        """The policies that cannot win: they break a limit, or leave more undone than another."""
        out = {*self.beyond_limits, *self.less_served}
        return tuple(one for one in self.policies if one in out)

    @cached_property
    def less_served(self) -> tuple[str, ...]:
        """The policies that surely leave more of the work undone than another.

        After one replication nothing can be tested: then these are the policies that left more
        undone by a part of the work that is not negligible.
        """
        metric = self.service
        if metric is None or self.ignore_service or self.service_is_limited:
            return ()
        if self.replications == 1:
            return self._less_served()
        beaten = (one for one in self.policies if self._is_beaten(one, metric))
        return tuple(one for one in beaten if self.share_unserved(one) > self._most_unserved())

    @cached_property
    def perhaps_less_served(self) -> tuple[str, ...]:
        """The policies in the running that left more undone, which may be chance: none can win."""
        if self.ignore_service or self.service_is_limited:
            return ()
        return tuple(one for one in self._less_served() if one not in self.out_of_the_running)

    def share_unserved(self, policy: str) -> float:
        """The mean part of the work that a policy left undone."""
        return self.estimate(policy, UNSERVED).mean

    def leaders(self, metric: Metric) -> tuple[str, ...]:
        """The best policy, and all that cannot be told from it.

        Who is out of the running, or has no value in some replication, does not lead. Where lower
        is better, a bound is never the best, but may be what the best cannot be told from.
        """
        eligible = self._eligible(metric)
        pool = [
            one
            for one in eligible
            if metric.better == "higher" or not self.is_bounded(one, metric.name)
        ]
        if not pool or metric.better is None:
            return ()
        sign = 1.0 if metric.better == "higher" else -1.0
        best = max(pool, key=lambda one: sign * self.estimate(one, metric.name).mean)
        # Of several that are the same up to rounding, the first.
        best = next(
            one for one in pool if one == best or self.difference(one, metric.name, best).mean == 0
        )
        others = [one for one in eligible if one != best]
        return (best, *(one for one in others if not self._is_beaten(one, metric, eligible)))

    def starred(self, metric: Metric) -> tuple[str, ...]:
        """The leaders, where others differ from them; none after one replication.

        The one that wins by the headline is starred in any case.
        """
        leaders = self.leaders(metric)
        if not leaders or self.replications == 1:
            return ()
        if metric.name == self.headline and self.winner(metric):
            return leaders
        behind = [one for one in self.policies if one not in leaders]
        differs = any(self.verdict(one, metric, leaders[0]) not in TIES for one in behind)
        return leaders if differs else ()

    def winner(self, metric: Metric) -> str | None:
        """The policy that is better than all others in the running, if there is one.

        A policy does not win if another in the running has no value of the metric, nor if it may
        serve less than another.
        """
        leaders = self.leaders(metric)
        in_running = len(self.policies) - len(self._out(metric))
        if len(leaders) != 1 or self.replications == 1 or len(self.policies) == 1:
            return None
        if len(self._eligible(metric)) < in_running or leaders[0] in self.perhaps_less_served:
            return None
        return leaders[0]

    def behind(self, metric: Metric) -> tuple[str, ...]:
        """The policies that are surely not the best by a metric: more replications need not ask.

        They are out of the running, or worse than another that surely serves as much as any.
        """
        unsure = self.perhaps_less_served
        rivals = [one for one in self._eligible(metric) if one not in unsure]
        out = self._out(metric)
        return tuple(
            one for one in self.policies if one in out or self._is_beaten(one, metric, rivals)
        )

    def front(self, trade_off: TradeOff) -> tuple[str, ...]:
        """The policies on the Pareto front of two metrics, by their means, from low x to high x.

        On the front is who is better in one metric than everyone who is as good in the other, and
        not the same as an earlier one. Nobody is on it who is out of the running, who has no
        value, or of whom only a bound is known where lower is better.
        """
        metrics = {metric.name: metric for metric in self.scenario.kind.metrics}
        pair = [metrics[name] for name in (trade_off.x, trade_off.y)]
        policies = [
            one
            for one in self.policies
            if all(one in self._eligible(metric) for metric in pair)
            and not any(m.better != "higher" and self.is_bounded(one, m.name) for m in pair)
        ]
        means = [[self.estimate(one, metric.name).mean for one in policies] for metric in pair]
        x, y = (
            _merged(np.array(values)) * (-1.0 if metric.better == "higher" else 1.0)
            for metric, values in zip(pair, means, strict=True)
        )
        points = np.column_stack((x, y))
        front = front_of(points)
        first = np.unique(points[front], axis=0, return_index=True)[1]  # of those that are the same
        return tuple(policies[k] for k in sorted(front[first], key=lambda k: means[0][k]))

    def conclusion(self, metric_name: str | None = None) -> str:
        """What came out, in a sentence or a few: a winner, or that there is none, and why."""
        return " ".join(self.sentences(metric_name))

    def sentences(self, metric_name: str | None = None) -> list[str]:
        """The sentences of the conclusion, of which the first is the answer."""
        from cloudarena.experiments.conclusion import conclude

        name = metric_name or self.headline
        return conclude(self, self.scenario.kind.metric[name])

    def __repr__(self) -> str:
        """What was compared, and the first sentence of what came out."""
        names = ", ".join(self.policies)
        runs = "1 replication" if self.replications == 1 else f"{self.replications} replications"
        return f"<Comparison of {names} on {self.scenario.name}, {runs}: {self.sentences()[0]}>"

    def _repr_html_(self) -> str:
        """A table of means and what came out, for notebooks."""
        shown = [metric for metric in self.scenario.kind.metrics if metric.highlight]
        shown = [self.scenario.kind.metric[self.headline], *shown]
        shown = list({metric.name: metric for metric in shown}.values())
        rows = [
            [one, *(self._shown(one, metric.name) for metric in shown)] for one in self.policies
        ]
        heads = ["policy", *(metric.name for metric in shown)]
        return html_table(heads, rows, self.conclusion())

    def _shown(self, policy: str, metric: str) -> str:
        """The mean of a metric under a policy, with half of its interval, or a lower bound."""
        estimate = self.estimate(policy, metric)
        if self.is_bounded(policy, metric):
            return number_text(AtLeast(estimate.mean))
        return number_text(estimate.mean, estimate.half_width)

    @property
    def plot(self) -> ComparisonPlots:
        """Pictures of the comparison: ``metric``, ``trade_off``, ``over_time``."""
        from cloudarena.experiments.pictures import ComparisonPlots

        return ComparisonPlots(self)

    def to_pandas(self) -> Any:
        """One row per policy and replication as a pandas DataFrame."""
        return self.table().to_pandas()

    def table(self) -> pa.Table:
        """One row per policy and replication, one column per metric; null where it has no value.

        For metrics with bounds there is a column ``<metric>_is_at_least``.
        """
        import pyarrow as pa

        count = self.replications
        return pa.table(
            {
                "policy": np.repeat(np.array(self.policies), count),
                "seed": np.tile(self.seed + np.arange(count), len(self.policies)),
                **{
                    name: pa.array(values.ravel(), from_pandas=True)
                    for name, values in self.values.items()
                },
                **{f"{name}{BOUND}": flags.ravel() for name, flags in self.bounds.items()},
            }
        )

    def summary(self) -> dict[str, Any]:
        """All estimates and verdicts as plain values for JSON."""
        from cloudarena.experiments.conclusion import comparison_summary

        tables = [REPLICATIONS, *names_of(self.samples)]
        own = described(self.scenario.kind)
        return {**comparison_summary(self), "tables": tables, **own}

    def contents(self) -> Contents:
        """The figures, every replication, the runs that are drawn over time, and the spec."""
        tables = {REPLICATIONS: self.table(), **joined(self.samples)}
        return Contents(self.summary(), tables, {SPEC: self.scenario.to_yaml(absolute=True)})

    @classmethod
    def restore(cls, contents: Contents) -> Self:
        """The comparison whose contents these are."""
        said, table = contents.summary, contents.tables[REPLICATIONS]
        shape = len(said["policies"]), said["replications"]
        columns = dict(zip(table.column_names[2:], table.columns[2:], strict=True))
        flags = [name for name in columns if name.endswith(BOUND)]
        spec = scenario_from_yaml(needed(contents, cls.stored_as, SPEC), said["scenario"])
        return cls(
            scenario=spec.measuring(*restored(said)),
            policies=tuple(said["policies"]),
            seed=said["seed"],
            values={
                name: np.array(column.to_numpy(), np.float64).reshape(shape)
                for name, column in columns.items()
                if name not in flags
            },
            samples=separated(contents.tables),
            bounds={
                name.removesuffix(BOUND): np.array(columns[name].to_numpy(), np.bool_).reshape(
                    shape
                )
                for name in flags
            },
            saw=dict(said["saw"]),
            ignore_service=said["ignore_service"],
            service_margin=said["service_margin"],
            by=said.get("by"),
            limits=tuple(Limit(*one) for one in said.get("limits", ())),
            baseline=said.get("baseline"),
            version=said["version"],
        )

    def _out(self, metric: Metric) -> tuple[str, ...]:
        """Who cannot lead in a metric for leaving work undone; in the share itself, all can."""
        return self.beyond_limits if metric.name == UNSERVED else self.out_of_the_running

    def _eligible(self, metric: Metric) -> list[str]:
        """Who can lead in a metric."""
        out = self._out(metric)
        return [
            one
            for one in self.policies
            if one not in out and self.counted(one, metric.name) == self.runs_of(one)
        ]

    def _is_beaten(self, policy: str, metric: Metric, by: list[str] | None = None) -> bool:
        others = (one for one in (self.policies if by is None else by) if one != policy)
        return any(self.verdict(policy, metric, other) == "worse" for other in others)

    def _most_unserved(self) -> float:
        """The share of the best policy, with the margin: who leaves more undone cannot win."""
        least = float(np.nanmin([self.share_unserved(one) for one in self.policies]))
        return least + self.service_margin * (1 + ROUNDING)

    def _less_served(self) -> tuple[str, ...]:
        """The policies whose mean share is not known, or above another's and not negligibly so.

        It is negligible if it is within the margin that was asked for, or else surely no more than
        ``NEGLIGIBLE_SHARE`` and not in each of several replications.
        """
        if self.service is None:
            return ()
        most = self._most_unserved()
        return tuple(
            one
            for one in self.policies
            if self.counted(one, UNSERVED) < self.runs_of(one)
            or (
                self.share_unserved(one) > most
                and (self._may_serve_less(one) or self._is_always_behind(one))
            )
        )

    def _may_serve_less(self, policy: str) -> bool:
        """Whether a policy left more undone than another on average, and maybe not negligibly."""
        most = NEGLIGIBLE_SHARE * (1 + ROUNDING)
        others = (one for one in self.policies if one != policy)
        behind = [self.difference(policy, UNSERVED, one) for one in others]
        if self.replications == 1:
            return any(one.mean > most for one in behind)
        return any(one.mean > 0.0 and one.high > most for one in behind)

    def _is_always_behind(self, policy: str) -> bool:
        """Whether a policy left more undone than some other in each of several replications."""
        if self.replications == 1:
            return False
        rows, k = self.values[UNSERVED], self.policies.index(policy)
        done = np.ones(rows.shape, np.bool_) if self.ran is None else self.ran
        both = [done[k] & some for some in done]
        return any(
            bool(some.any() and (differences(rows[k][some], row[some]) > 0).all())
            for row, some in zip(rows, both, strict=True)
        )


def _merged(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values, of which those that are the same up to rounding are the lowest of them."""
    order = np.argsort(values, kind="stable")
    merged = values.copy()
    for before, k in pairwise(order):
        if values[k] - merged[before] <= ROUNDING * max(abs(values[k]), abs(merged[before])):
            merged[k] = merged[before]
    return merged
