"""The answer to a question with an amount in it: what the best costs, and how much less."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cloudarena.base.statistics import CONFIDENCE, Estimate
from cloudarena.contract import Metric
from cloudarena.experiments.conclusion import (
    amount_text,
    listed,
    perhaps_less_text,
    share_text,
    unknown_text,
)
from cloudarena.experiments.limits import least_probability

if TYPE_CHECKING:
    from cloudarena.experiments.comparison import Comparison

DAY_S, HOUR_S = 86400.0, 3600.0
SHORT = 0.0005
"""Differences of less than this part are not worth a per cent."""


def answer(comparison: Comparison, metric: Metric) -> list[str]:
    """Sentences: who has the best value of those that keep the limits, against whom, how sure."""
    leaders = comparison.leaders(metric)
    broken = _broken(comparison)
    if not leaders:
        if comparison.limits and len(comparison.beyond_limits) == len(comparison.policies):
            words = f"No policy keeps {_limits(comparison)} in all replications"
            return [f"{words}{_nearest(comparison, metric)}.", *broken]
        if len(comparison.out_of_the_running) == len(comparison.policies):
            who = f"who keeps {_limits(comparison)} leaves more undone than who does not"
            return [f"No policy is in the running: {who}.", *broken]
        return [f"{unknown_text(comparison, metric)}.", *broken]
    best, *tied = leaders
    baseline = comparison.baseline or _runner_up(comparison, metric, best)
    first = f"{best} {_has(comparison, metric, best)}"
    if baseline == best:
        way = "highest" if metric.better == "higher" else "lowest"
        among = "those in the running" if comparison.out_of_the_running else "all"
        first += f", the {way} of {among}"
    elif baseline is not None:
        first += _against(comparison, metric, best, baseline)
    if comparison.limits:
        others = len(comparison.policies) - 1
        alone = "alone " if 0 < others == len(comparison.beyond_limits) else ""
        first += f", and {alone}{_keeps(comparison, best)}"
    sentences = [f"{first}."]
    unsure = [one for one in tied if one != baseline]
    if unsure:
        sentences.append(f"It cannot be told from {listed(unsure)} ({CONFIDENCE:.0%}).")
    if best in comparison.perhaps_less_served:
        sentences.append(f"But it {perhaps_less_text(comparison, best)}")
    return [*sentences, *broken]


def times_broken(comparison: Comparison, policy: str) -> int:
    """How often a policy breaks limits, over all replications."""
    return sum(int((~comparison.kept(policy, one)).sum()) for one in comparison.limits)


def _nearest(comparison: Comparison, metric: Metric) -> str:
    """What the policy costs that breaks limits least often, where all break them.

    If several break them as often it is the best by the metric.
    """
    sign = -1.0 if metric.better == "higher" else 1.0

    def place(policy: str) -> tuple[int, float]:
        mean = comparison.estimate(policy, metric.name).mean
        return times_broken(comparison, policy), sign * mean

    known = [one for one in comparison.policies if comparison.counted(one, metric.name)]
    if not known:
        return ""
    nearest = min(known, key=place)
    return f"; of those that break them least often, {nearest} {_has(comparison, metric, nearest)}"


def _runner_up(comparison: Comparison, metric: Metric, best: str) -> str | None:
    """The next best of those that may win; None if the best is alone."""
    out = comparison.out_of_the_running
    others = [one for one in comparison.policies if one != best and one not in out]
    others = [one for one in others if comparison.counted(one, metric.name)]
    sign = -1.0 if metric.better == "higher" else 1.0
    key = lambda one: sign * comparison.estimate(one, metric.name).mean  # noqa: E731
    return min(others, key=key) if others else None


def _has(comparison: Comparison, metric: Metric, policy: str) -> str:
    """What a policy costs, or has of a metric: ``costs $66.56 a day``."""
    value = comparison.estimate(policy, metric.name).mean
    if metric.name.endswith("_usd"):
        verb = "costs" if metric.better == "lower" else "earns"
        scale, per = rate_of(comparison.scenario.length_s)
        return f"{verb} {dollars(value * scale)}{per}"
    return f"has a {metric.name} of {amount_text(value, metric.name)}"


def rate_of(length_s: float | None) -> tuple[float, str]:
    """What amounts of a run are multiplied by to be those of a day, and the words for it.

    A run that is short, or that lasts until all work is done, is paid for as a whole.
    """
    if length_s and length_s >= HOUR_S:
        return DAY_S / length_s, " a day"
    return 1.0, " a run"


def dollars(value: float) -> str:
    """An amount of money: ``$66.56``, ``$1,234``, ``$0.0042``."""
    size = abs(value)
    sign = "-" if value < 0 else ""
    if size >= 1000:
        return f"{sign}${size:,.0f}"
    return f"{sign}${size:,.2f}" if size >= 0.995 or size == 0 else f"{sign}${size:.3g}"


def _amount(comparison: Comparison, metric: Metric, value: float) -> str:
    if metric.name.endswith("_usd"):
        return dollars(value * rate_of(comparison.scenario.length_s)[0])
    return amount_text(value, metric.name)


def _against(comparison: Comparison, metric: Metric, best: str, baseline: str) -> str:
    """How much less, or more, than the baseline, in per cent, with the interval."""
    difference = comparison.difference(best, metric.name, baseline)
    level = comparison.estimate(baseline, metric.name).mean
    if math.isnan(difference.mean) or comparison.counted(baseline, metric.name) == 0:
        return f" ({baseline} has no {metric.name})"
    verdict = comparison.verdict(best, metric, baseline)
    is_fixed = comparison.is_fixed(best) and comparison.is_fixed(baseline)
    if difference.mean == 0:
        if is_fixed:
            return f", as {baseline} does on this one trace"
        if verdict == "not told apart":
            span = _interval(comparison, metric, difference)
            return f", on average as {baseline} [{span}], which may be chance"
        return f", no difference from {baseline}"
    way = "less" if difference.mean < 0 else "more"
    amount = _amount(comparison, metric, abs(difference.mean))
    share = abs(difference.mean / level) if level else math.nan
    percent = f" ({share_text(share)})" if share >= SHORT else ""
    words = f", {amount}{percent} {way} than {baseline}"
    if comparison.replications == 1:
        return f"{words} in one replication, too few to call a winner"
    if is_fixed:
        return f"{words} on this one trace (no claim beyond it)"
    words += f" [{_interval(comparison, metric, difference)}]"
    return words if verdict in ("better", "worse") else f"{words}, which may be chance"


def _interval(comparison: Comparison, metric: Metric, difference: Estimate) -> str:
    """The interval of the amount by which one is less, or more, than the other."""
    ends = sorted((difference.low, difference.high), key=abs)
    sign = -1.0 if difference.mean < 0 else 1.0
    low, high = (_amount(comparison, metric, abs(end)) for end in ends)
    if (ends[0] * sign) < 0 or (ends[1] * sign) < 0:
        low, high = (
            f"{'-' if end * sign < 0 else ''}{_amount(comparison, metric, abs(end))}"
            for end in sorted((difference.low, difference.high), key=lambda end: end * sign)
        )
    return f"{low} to {high}"


def _limits(comparison: Comparison) -> str:
    return listed([str(limit) for limit in comparison.limits])


def _keeps(comparison: Comparison, best: str) -> str:
    """What the best keeps, and how sure that is for other runs."""
    runs = comparison.replications
    words = f"keeps {_limits(comparison)}"
    if runs == 1:
        return f"{words} in the one replication"
    if comparison.is_fixed(best):
        return f"{words} on this one trace"
    least = least_probability(runs, runs, len(comparison.policies))
    return (
        f"{words} in all {runs} replications (at least {share_text(least)} of such runs, 95 % sure)"
    )


def _broken(comparison: Comparison) -> list[str]:
    """Which policies break which limits, and in how many replications; those alike together."""
    runs = comparison.replications
    every, noun = ("the one", "replication") if runs == 1 else ("all", "replications")
    groups: dict[str, list[str]] = {}
    for policy in comparison.beyond_limits:
        counts = [
            (limit, int((~comparison.kept(policy, limit)).sum())) for limit in comparison.limits
        ]
        parts = [
            f"{limit} in {every if count == runs else f'{count} of {runs}'}"
            for limit, count in counts
            if count
        ]
        groups.setdefault(listed(parts), []).append(policy)
    return [
        f"{listed(who)} {'breaks' if len(who) == 1 else 'break'} {what} {noun}."
        for what, who in groups.items()
    ]
