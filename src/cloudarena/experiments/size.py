"""How many machines are needed: the fewest, or the cheapest, that keep limits.

All counts are tried on the same work (common random numbers). Of one type of machines the fewest
are found by bisection, which takes it that more machines never keep limits worse; what was
tried is the curve, and where it shows otherwise the answer says so. Of several types the mix is
found by descent: all are scaled together, then each is reduced, the dearest first, as far as the
others allow. Where machines have prices each type alone is tried too, and one machine of a
type for some of another, either way, as long as that is cheaper. That is the cheapest mix
in its neighbourhood, not of all.

What is said of other runs: of one type the fewest machines are the most that any replication needs,
so that all n of them keep limits says of a further run what it says of a number that was chosen
before. A mix is fitted to its replications in several ways at once and keeps limits there more
often than elsewhere; so does a number of machines where more are not always better. These are run
again on new replications, and what is said rests on those.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.errors import CloudarenaError, check_choice
from cloudarena.base.limits import Limit
from cloudarena.base.measures import AtLeast
from cloudarena.base.names import UNSERVED
from cloudarena.base.parallel import check_workers, in_parallel
from cloudarena.catalogue import leave_out, load, override, read_overrides, read_spec
from cloudarena.contract import Policy, Scenario
from cloudarena.contract.scenario import MachineGroup
from cloudarena.experiments.answer import dollars, rate_of
from cloudarena.experiments.conclusion import listed, share_text, trace_text
from cloudarena.experiments.limits import is_upper, kept, least_probability, limits_on
from cloudarena.experiments.pool import compile_once
from cloudarena.experiments.prices import is_unpriced, unpriced_text
from cloudarena.experiments.simulate import simulate
from cloudarena.policies import policy_name

COST = "cost_usd"
MOST_DOUBLINGS = 12
MOST_ROUNDS = 4
"""How often every type is reduced, where there are several."""
MOST_EXCHANGES = 100
MOST_ALONE = 8
"""How many times as many as a mix has are tried of one type alone, or what costs as much."""


class Tried(NamedTuple):
    """Numbers of machines that were tried."""

    counts: tuple[int, ...]
    kept: int
    """Replications that kept all limits."""
    runs: int
    worst: tuple[float, ...]
    """The worst value of each limit's metric."""
    cost_usd: float
    """The mean cost; NaN if the kind has none."""
    unserved: float = math.nan
    """The mean share of the work that is left undone."""

    @property
    def is_enough(self) -> bool:
        """Whether all replications kept all limits."""
        return self.kept == self.runs


@dataclass(frozen=True)
class Size:
    """How many machines are needed, and the curve of what was tried."""

    scenario: Scenario
    policy: str
    limits: tuple[Limit, ...]
    groups: tuple[MachineGroup, ...]
    best: Tried
    curve: tuple[Tried, ...]
    is_fixed: bool
    """Whether all replications are the same, so that one was run."""
    checked: Tried | None = None
    """The best on new replications, where its own say too much of it."""

    def conclusion(self) -> str:
        """What is needed, what is too few, and what it costs, in words."""
        limits = listed([str(limit) for limit in self.limits])
        need = self._words(self.best.counts)
        verb = "keeps" if sum(self.best.counts) == 1 else "keep"
        if self.is_fixed:
            sure = "on this one trace (no claim beyond it)"
        else:
            seen = self.checked or self.best
            least = share_text(least_probability(seen.kept, seen.runs))
            again = (
                f" and in {'all' if seen.is_enough else seen.kept} of {seen.runs} new ones"
                if seen is self.checked
                else ""
            )
            sure = (
                f"in all {self.best.runs} replications{again} "
                f"(at least {least} of such runs, 95 % sure)"
            )
        words = [f"{need} {verb} {limits} under {self.policy} {sure}{self._cost(self.best)}."]
        unpriced = [COST] if self.best.cost_usd == 0.0 else []
        unpriced += [
            limit.metric
            for k, limit in enumerate(self.limits)
            if all(is_unpriced(limit.metric, np.array([one.worst[k]])) for one in self.curve)
        ]
        words.append(unpriced_text(self.scenario.kind, list(dict.fromkeys(unpriced))))
        if not self.is_fixed:
            words.append(trace_text(self.scenario, "what is said is"))
        if self.best.unserved > 0.0 and UNSERVED not in [limit.metric for limit in self.limits]:
            who = "It leaves" if sum(self.best.counts) == 1 else "They leave"
            work = self.scenario.kind.unit_of_work
            words.append(f"{who} {share_text(self.best.unserved)} of {work} unserved.")
        if len(self.groups) > 1:
            also = (
                "; no type alone, and no exchange, is cheaper" if self.best.cost_usd > 0.0 else ""
            )
            words.append(
                f"Found by descent: none of them can be spared{also}; other mixes were not tried."
            )
            return " ".join(word for word in words if word)
        below = [one for one in self.curve if one.counts < self.best.counts]
        if below:
            last = max(below)
            values = listed(
                [
                    f"{limit.metric} is {value:.4g}"
                    for limit, value in zip(self.limits, last.worst, strict=True)
                ]
            )
            words.append(f"{last.counts[0]:,} do not: {values} at worst.")
        above = [one for one in self.curve if one.counts > self.best.counts and not one.is_enough]
        if above:
            words.append(
                f"More machines are not always better here: {above[0].counts[0]:,} break a limit, "
                "so fewer might keep them too."
            )
        return " ".join(word for word in words if word)

    def _words(self, counts: Sequence[int]) -> str:
        parts = [
            f"{number:,} \N{MULTIPLICATION SIGN} {group.name}"
            for group, number in zip(self.groups, counts, strict=True)
            if number
        ]
        return listed(parts)

    def _cost(self, tried: Tried) -> str:
        if math.isnan(tried.cost_usd) or tried.cost_usd == 0.0:
            return ""
        scale, per = rate_of(self.scenario.length_s)
        return f"; they cost {dollars(tried.cost_usd * scale)}{per}"

    def summary(self) -> dict[str, Any]:
        """All of it as plain values for JSON."""
        return {
            "result": "size",
            "scenario": self.scenario.name,
            "policy": self.policy,
            "limits": [str(limit) for limit in self.limits],
            "machines": dict(
                zip([group.name for group in self.groups], self.best.counts, strict=True)
            ),
            "cost_usd": self.best.cost_usd,
            UNSERVED: self.best.unserved,
            "replications": self.best.runs,
            **(
                {"checked": {"kept": self.checked.kept, "runs": self.checked.runs}}
                if self.checked is not None
                else {}
            ),
            "curve": [
                {
                    "machines": list(one.counts),
                    "kept": one.kept,
                    "runs": one.runs,
                    **{
                        limit.metric: value
                        for limit, value in zip(self.limits, one.worst, strict=True)
                    },
                    "cost_usd": one.cost_usd,
                }
                for one in self.curve
            ],
            "conclusion": self.conclusion(),
        }


def size(
    spec: str | Path | Mapping[str, Any],
    where: Sequence[str],
    policy: str | Policy | None = None,
    machines: str | None = None,
    replications: int = 5,
    seed: int = 0,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    workers: int = -1,
    progress: Callable[[Tried], None] | None = None,
) -> Size:
    """The fewest machines, or the cheapest mix of types, with which a policy keeps limits.

    Args:
        spec: a name of the catalogue, a YAML file or a dict.
        where: limits that every replication must keep, such as ``wait_p95_s<=600``.
        policy: under which policy; the default one of the kind or of the spec.
        machines: the name of the one type whose number is asked for; all by default.
        replications: runs of each number of machines.
        seed: of the first replication.
        overrides: changes of the spec, as in ``["workload.scale=1.2"]``.
        workers: processes; -1 is one for each core.
        progress: is called with each number that was tried.
    """
    if not where:
        raise CloudarenaError("where: is required: a limit such as 'unserved_share<=0.001'")
    if replications < 1:
        raise CloudarenaError(f"replications: {replications} is not allowed: at least 1")
    check_workers(workers)
    data, name, folder = read_spec(spec)
    for key, value in read_overrides(overrides).items():
        override(data, key, value)
    scenario = load(data, folder=folder)
    scenario._name = name
    limits = limits_on(scenario.kind, where)
    chosen = policy or scenario.policy or scenario.kind.default_policy
    groups = _groups(scenario, machines)
    compile_once(scenario, chosen)
    tries = _Tries(data, folder, groups, limits, chosen, replications, seed, workers, progress)
    best = _scaled(tries, tuple(group.number for group in groups))
    if len(groups) > 1:
        best = _cheapest(tries, _reduced(tries, best))
    curve = tuple(sorted(tries.done.values()))
    is_uneven = any(one.counts > best.counts and not one.is_enough for one in curve)
    is_fitted = (len(groups) > 1 or is_uneven) and not tries.is_fixed
    checked = tries.again(best.counts) if is_fitted else None
    return Size(scenario, policy_name(chosen), limits, groups, best, curve, tries.is_fixed, checked)


def _groups(scenario: Scenario, only: str | None) -> tuple[MachineGroup, ...]:
    """The machines whose number is asked for, all of them or those of one name."""
    found = scenario.machine_groups
    if not found:
        raise CloudarenaError(f"{scenario.kind}: has no machines whose number is a key of the spec")
    if only is None:
        return found
    check_choice("machines", only, [group.name for group in found])
    return tuple(group for group in found if group.name == only)


class _Tries:
    """Runs numbers of machines, each once."""

    def __init__(
        self,
        data: dict[str, Any],
        folder: Path | None,
        groups: Sequence[MachineGroup],
        limits: tuple[Limit, ...],
        policy: str | Policy,
        replications: int,
        seed: int,
        workers: int,
        progress: Callable[[Tried], None] | None,
    ) -> None:
        self.data, self.folder, self.groups, self.limits = data, folder, groups, limits
        self.policy, self.replications, self.seed = policy, replications, seed
        self.workers, self.progress = workers, progress
        self.done: dict[tuple[int, ...], Tried] = {}
        self.is_fixed = False

    def __call__(self, counts: tuple[int, ...]) -> Tried:
        if counts not in self.done:
            self.done[counts] = self._run(counts)
            if self.progress is not None:
                self.progress(self.done[counts])
        return self.done[counts]

    def again(self, counts: tuple[int, ...]) -> Tried:
        """Runs the machines on as many new replications."""
        return self._run(counts, self.seed + self.replications)

    def _run(self, counts: tuple[int, ...], seed: int | None = None) -> Tried:
        try:
            scenario = self._scenario(counts)
        except CloudarenaError:
            # Too few for a single task, say: as bad as can be.
            nothing = tuple(math.nan for _ in self.limits)
            return Tried(counts, 0, 1 if self.is_fixed else self.replications, nothing, math.nan)
        names = [*(limit.metric for limit in self.limits), UNSERVED]
        runs = 1 if self.is_fixed else self.replications
        start = self.seed if seed is None else seed
        jobs = [(scenario, self.policy, start + k, names) for k in range(runs)]
        if not self.done and runs > 1:
            # The first two of the first tell whether others would differ: by all that is measured,
            # since limits are often kept to the last bit by different work.
            every = list(scenario.kind.metric)
            first = [_measured(*job[:3], every) for job in jobs[:2]]
            self.is_fixed = _same(*first)
            chosen = [*(every.index(name) for name in names), -1]
            first = [[row[k] for k in chosen] for row in first]
            rest = [] if self.is_fixed else list(in_parallel(_measured, jobs[2:], self.workers))
            rows = first[:1] if self.is_fixed else [*first, *rest]
        else:
            rows = list(in_parallel(_measured, jobs, self.workers))
        values = np.array([[value for value, _ in row] for row in rows])
        flags = np.array([[flag for _, flag in row] for row in rows], np.bool_)
        good = np.ones(len(rows), np.bool_)
        worst = []
        for k, limit in enumerate(self.limits):
            good &= kept(limit, values[:, k], flags[:, k])
            far = np.max if is_upper(limit) else np.min
            worst.append(float(far(values[:, k])))
        unserved, cost = values[:, -2:].mean(axis=0).tolist()
        return Tried(counts, int(good.sum()), len(rows), tuple(worst), cost, unserved)

    def _scenario(self, counts: tuple[int, ...]) -> Scenario:
        data = copy.deepcopy(self.data)
        for group, number in zip(self.groups, counts, strict=True):
            for key in (group.key, *group.also):
                override(data, key, number)
        unused = [
            group.entry
            for group, number in zip(self.groups, counts, strict=True)
            if group.entry and not number
        ]
        for key in reversed(unused):  # so that the indices of those before stay
            leave_out(data, key)
        return load(data, folder=self.folder)


def _measured(
    scenario: Scenario, policy: str | Policy, seed: int, names: Sequence[str]
) -> list[tuple[float, bool]]:
    """The metrics of the limits and, last, the cost of one run; and which are lower bounds."""
    metrics = simulate(scenario, policy, seed, "none").metrics
    found = [(float(metrics[name]), isinstance(metrics[name], AtLeast)) for name in names]
    return [*found, (float(metrics.get(COST, math.nan)), False)]


def _same(first: list[tuple[float, bool]], second: list[tuple[float, bool]]) -> bool:
    """Whether two runs measured the same; what has no value is the same as what has none."""
    return np.array_equal(
        [value for value, _ in first], [value for value, _ in second], equal_nan=True
    )


def _times(counts: tuple[int, ...], factor: float) -> tuple[int, ...]:
    """All counts by one factor, each at least 1 if it was."""
    return tuple(max(1, round(number * factor)) if number else 0 for number in counts)


def _scaled(tries: _Tries, counts: tuple[int, ...]) -> Tried:
    """The smallest common factor of all counts that is enough, by doubling and bisection."""
    if len(counts) == 1:
        low, high = 0, max(1, counts[0])
        for _ in range(MOST_DOUBLINGS):
            if tries((high,)).is_enough:
                break
            low, high = high, 2 * high
        else:
            raise _never(tries)
        return tries((_bisected(lambda number: tries((number,)).is_enough, low, high),))
    factor = 1.0
    for _ in range(MOST_DOUBLINGS):
        if tries(_times(counts, factor)).is_enough:
            return tries(_times(counts, factor))
        factor *= 2
    raise _never(tries)


def _bisected(is_enough: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest number above ``low``, which is too few, up to ``high``, which is enough."""
    while high - low > 1:
        middle = (low + high) // 2
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high


def _reduced(tries: _Tries, best: Tried) -> Tried:
    """The mix with each type reduced as far as the others allow, the dearest first."""
    order = sorted(range(len(tries.groups)), key=lambda k: -tries.groups[k].hourly_usd)
    for _ in range(MOST_ROUNDS):
        before = best.counts
        for k in order:
            best = _with_fewer(tries, best, k)
        if best.counts == before:
            break
    return best


def _with_fewer(tries: _Tries, mix: Tried, k: int) -> Tried:
    """The mix with as few of one type as the others allow."""

    def with_number(number: int) -> Tried:
        return tries((*mix.counts[:k], number, *mix.counts[k + 1 :]))

    is_last = sum(mix.counts) == mix.counts[k]
    if mix.counts[k] == 0 or (not is_last and with_number(0).is_enough):
        return mix if mix.counts[k] == 0 else with_number(0)
    return with_number(_bisected(lambda number: with_number(number).is_enough, 0, mix.counts[k]))


def _cheapest(tries: _Tries, mix: Tried) -> Tried:
    """The mix, or one type alone where that costs less; then all exchanges that are cheaper."""
    if math.isnan(mix.cost_usd) or mix.cost_usd <= 0.0:
        return mix
    alone = [_alone(tries, mix, k) for k in range(len(tries.groups))]
    mix = min([mix, *(one for one in alone if one is not None)], key=lambda one: one.cost_usd)
    pairs = list(itertools.permutations(range(len(tries.groups)), 2))
    for _ in range(MOST_EXCHANGES):
        others = [one(tries, mix, *pair) for pair in pairs for one in (_exchanged, _replaced)]
        cheaper = [one for one in others if one is not None and one.cost_usd < mix.cost_usd]
        if not cheaper:
            break
        mix = _reduced(tries, min(cheaper, key=lambda one: one.cost_usd))
    return mix


def _exchanged(tries: _Tries, mix: Tried, less: int, more: int) -> Tried | None:
    """One machine less of a type, for as few more of another as are enough.

    None if that takes more than have the price of the one.
    """
    counts, hourly = mix.counts, [group.hourly_usd for group in tries.groups]
    if not counts[less]:
        return None
    most = counts[more] + max(1, int(hourly[less] / hourly[more]) if hourly[more] else 1)

    def with_number(number: int) -> Tried:
        changed = {less: counts[less] - 1, more: number}
        return tries(tuple(changed.get(k, counts[k]) for k in range(len(counts))))

    if not with_number(most).is_enough:
        return None
    return with_number(_bisected(lambda number: with_number(number).is_enough, counts[more], most))


def _alone(tries: _Tries, mix: Tried, k: int) -> Tried | None:
    """The fewest of one type that are enough alone; None if too many would be needed."""

    def with_number(number: int) -> Tried:
        return tries(tuple(number if j == k else 0 for j in range(len(tries.groups))))

    hourly = [group.hourly_usd for group in tries.groups]
    most = MOST_ALONE * sum(mix.counts)
    if hourly[k]:
        most = max(most, int(np.dot(hourly, mix.counts) / hourly[k]))
    low, high = 0, max(1, mix.counts[k])
    while not with_number(high).is_enough:
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    return with_number(_bisected(lambda number: with_number(number).is_enough, low, high))


def _replaced(tries: _Tries, mix: Tried, less: int, more: int) -> Tried | None:
    """One machine more of a type, and as few of another as that allows."""
    if not mix.counts[less]:
        return None
    grown = tries(tuple(number + (k == more) for k, number in enumerate(mix.counts)))
    return _with_fewer(tries, grown, less) if grown.is_enough else None


def _never(tries: _Tries) -> CloudarenaError:
    last = max(tries.done.values())
    values = ", ".join(
        f"{limit.metric} is {value:g}"
        for limit, value in zip(tries.limits, last.worst, strict=True)
    )
    return CloudarenaError(
        f"no number of machines up to {sum(last.counts):,} keeps "
        f"{listed([str(limit) for limit in tries.limits])}: with that many {values}"
    )
