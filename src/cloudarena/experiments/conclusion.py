"""What a comparison says: in words, and as plain values for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cloudarena.base.names import UNSERVED
from cloudarena.base.statistics import CONFIDENCE, Estimate
from cloudarena.contract import Metric, Scenario
from cloudarena.experiments.prices import is_unpriced, unpriced_text

if TYPE_CHECKING:
    from cloudarena.experiments.comparison import Comparison

UNITS = {"usd": "$", "s": "s", "kwh": "kWh", "wh": "Wh", "j": "J", "w": "W", "gb": "GB"}
"""How the last word of a metric's name is written behind a number."""
LEVEL = f"({CONFIDENCE:.0%})"


def conclude(comparison: Comparison, metric: Metric) -> list[str]:
    """Sentences: a winner by a metric, or that there is none; who saw more; who cannot win."""
    if len(comparison.policies) == 1:
        return [f"{comparison.policies[0]} alone: there is nothing to compare it with."]
    leaders = comparison.leaders(metric)
    unpriced = _unpriced(comparison, metric)
    if metric.name in unpriced:
        answers = [f"There is no winner by {metric.name}."]
    elif comparison.asks_amount:
        from cloudarena.experiments.answer import answer as with_amounts

        answers = with_amounts(comparison, metric)
    else:
        answers = [_main(comparison, metric, leaders)]
    sentences = [
        *answers,
        unpriced_text(comparison.scenario.kind, unpriced) or _partly_priced(comparison, metric),
        _seen(comparison, leaders[0]) if leaders and answers[0].startswith(leaders[0]) else "",
        out_of_the_running_text(comparison),
        _undone_as_allowed(comparison, leaders),
        _without_value(comparison, metric),
        ignored_text(comparison),
        resampled_text(comparison),
    ]
    return [sentence for sentence in sentences if sentence]


def _unpriced(comparison: Comparison, metric: Metric) -> list[str]:
    """The metrics that were asked by and are amounts of money of which nothing has a price."""
    asked = dict.fromkeys([metric.name, *(limit.metric for limit in comparison.limits)])
    return [name for name in asked if is_unpriced(name, comparison.values[name])]


def _partly_priced(comparison: Comparison, metric: Metric) -> str:
    """Names machines without a price beside others that have one: who uses them pays less."""
    groups = comparison.scenario.machine_groups
    free = [one.name for one in groups if one.hourly_usd == 0.0]
    if not metric.name.endswith("_usd") or not free or len(free) == len(groups):
        return ""
    return f"{listed(free)} {'has' if len(free) == 1 else 'have'} no price in the spec."


def out_of_the_running_text(comparison: Comparison) -> str:
    """Who leaves more of the work undone than another, and how much; nothing if nobody does."""
    out = comparison.less_served
    if not out:
        return ""
    shares = [share_text(comparison.share_unserved(policy)) for policy in out]
    least = min(
        (one for one in comparison.policies if one not in out), key=comparison.share_unserved
    )
    verbs = ("leaves", "is") if len(out) == 1 else ("leave", "are")
    return (
        f"{listed(out)} {verbs[0]} {listed(shares)} of {comparison.scenario.kind.unit_of_work} "
        f"unserved and {verbs[1]} out of the running "
        f"({least}: {share_text(comparison.share_unserved(least))})."
    )


def _undone_as_allowed(comparison: Comparison, leaders: Sequence[str]) -> str:
    """Says what the best leaves undone, where a limit allows that and another leaves less."""
    if not leaders or not comparison.service_is_limited:
        return ""
    shares = {one: comparison.share_unserved(one) for one in comparison.policies}
    first, least = leaders[0], min(shares, key=lambda one: _or_all(shares[one]))
    if not shares[first] > shares[least]:
        return ""
    return (
        f"{first} leaves {share_text(shares[first])} of {comparison.scenario.kind.unit_of_work} "
        f"unserved, as the limit allows ({least}: {share_text(shares[least])})."
    )


def resampled_text(comparison: Comparison) -> str:
    """Says what the replications drew again of a recorded trace, or that they drew nothing."""
    scenario = comparison.scenario
    says_so = comparison.is_deterministic and not scenario.resampled  # what leads is on one trace
    return "" if comparison.replications == 1 or says_so else trace_text(scenario, "intervals are")


def trace_text(scenario: Scenario, what: str) -> str:
    """Says which traces something is about, where there is a recorded one.

    Args:
        scenario: whose work it is.
        what: with a verb, such as ``intervals are``.
    """
    if scenario.resampled:
        return f"Replications draw {scenario.resampled}: {what} about such traces."
    if scenario.is_one_trace:
        return f"All replications have the same recorded trace: {what} about it alone."
    return ""


def ignored_text(comparison: Comparison) -> str:
    """Says that service was ignored, where that matters."""
    if not comparison.ignore_service or comparison.service is None:
        return ""
    return "Work left unserved was ignored, as asked."


def share_text(share: float) -> str:
    """A share in per cent: ``100 %``, ``12 %``, ``3.1 %``, ``0.076 %``; 100 only if it is all."""
    if math.isnan(share):
        return "an unknown part"
    percent = 100 * share
    if percent == 0 or percent >= 100:
        return f"{percent:.0f} %"
    if percent >= 99:
        return f"{100 - float(f'{100 - percent:.2g}'):.10g} %"
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.2g} %"


def amount_text(value: float, metric: str) -> str:
    """An amount of a metric with its unit: ``8.40 $``, ``12.5 s``, ``306``."""
    unit = UNITS.get(metric.rpartition("_")[2], "") if "_per_" not in metric else ""
    size = abs(value)
    if unit == "$" and 0.01 <= size < 1e15:
        text = f"{size:,.2f}"
    elif size == int(size) and size < 1e15:
        text = f"{int(size):,}"
    else:
        text = f"{size:.4g}" if size < 1000 or size >= 1e15 else f"{size:,.1f}"
    return f"{text} {unit}".strip()


def listed(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _main(comparison: Comparison, metric: Metric, leaders: tuple[str, ...]) -> str:
    name, way = metric.name, "highest" if metric.better == "higher" else "lowest"
    if not leaders:
        return f"{unknown_text(comparison, metric)}: there is no winner."
    first, *tied = leaders
    rest = _rivals(comparison, metric)
    if comparison.replications == 1:
        if len(rest) == 1 and comparison.out_of_the_running:
            return f"{first} is alone in the running in one replication: too few to call a winner."
        return f"{first} has the {way} {name} in one replication: too few to call a winner."
    if not tied and comparison.winner(metric) is None:
        return _no_win(comparison, metric, first, way)
    if not tied:
        if len(rest) == 1:
            return f"{first} wins: it is alone in the running."
        return f"{first} wins: {way} {name}, {_margin(comparison, metric, first, rest)}."
    if len(leaders) == len(rest):
        who = "the policies" if len(rest) == len(comparison.policies) else "those in the running"
        if any(comparison.is_bounded(one, name) for one in leaders):
            return f"Which of {who} has the {way} {name} is not known: work had not finished."
        is_same = all(comparison.difference(one, name, first) == (0, 0, 0) for one in tied)
        if is_same:
            return f"No difference in {name} between {who} (all replications gave the same)."
        if all(comparison.verdict(one, metric, first) == "no difference" for one in tied):
            return f"No difference in {name} between {who} {LEVEL}."
        return f"{name} does not tell {who} apart {LEVEL}: {_range(comparison, metric, leaders)}."
    unsure = [one for one in tied if comparison.is_bounded(one, name)]
    more = f" ({listed(unsure)}: work had not finished)" if unsure else ""
    return f"{first} has the {way} {name}, but cannot be told from {', '.join(tied)}{more}."


def _range(comparison: Comparison, metric: Metric, leaders: tuple[str, ...]) -> str:
    """Says between which amounts differences are that are not told from none."""
    first, *tied = leaders
    found = [comparison.difference(one, metric.name, first) for one in tied]
    low, high = (
        f"{'-' if end < 0 else '+'}{amount_text(end, metric.name)}"
        for end in (min(one.low for one in found), max(one.high for one in found))
    )
    words = "the difference from" if len(tied) == 1 else "differences from"
    verb = "is" if len(tied) == 1 else "are"
    return f"{words} {first} {verb} between {low} and {high}"


def _rivals(comparison: Comparison, metric: Metric) -> list[str]:
    """Who is in the running in a metric."""
    out = () if metric.name == UNSERVED else comparison.out_of_the_running
    return [one for one in comparison.policies if one not in out]


def _no_win(comparison: Comparison, metric: Metric, first: str, way: str) -> str:
    """Why the one that leads alone does not win."""
    words = f"{first} has the {way} {metric.name}"
    if first not in comparison.perhaps_less_served:
        return f"{words} of those that have one in all replications: there is no winner."
    return f"{words}, but {perhaps_less_text(comparison, first)}"


def perhaps_less_text(comparison: Comparison, first: str) -> str:
    """Says what the one that leads left undone, which may be chance, and that it does not win."""
    least = min(comparison.policies, key=lambda one: _or_all(comparison.share_unserved(one)))
    shares = [share_text(comparison.share_unserved(one)) for one in (first, least)]
    return (
        f"left {shares[0]} of {comparison.scenario.kind.unit_of_work} unserved, "
        f"{least} {shares[1]}: there is no winner until more replications show whether that is "
        "chance."
    )


def unknown_text(comparison: Comparison, metric: Metric) -> str:
    """Says that no policy that may win has a value of a metric in all replications."""
    who = "No policy in the running" if comparison.out_of_the_running else "No policy"
    return f"{who} has a value of {metric.name} that is known in all replications"


def _margin(comparison: Comparison, metric: Metric, first: str, rest: list[str]) -> str:
    """Says by how much, or how surely, a winner is ahead of the others in the running."""
    others = [one for one in rest if one != first]
    pairs = {one: comparison.pair(first, metric.name, one) for one in others}
    constant = [one for one in others if pairs[one].basis == "constant"]
    tested = [one for one in others if one not in constant]
    if not constant:
        return f"by more than chance {LEVEL}"
    nearest = min(constant, key=lambda one: abs(pairs[one].difference.mean))
    amount = amount_text(pairs[nearest].difference.mean, metric.name)
    of_whom = f" from {nearest}" if len(others) > 1 else ""
    same = f"by {amount}{of_whom}, the same in all replications"
    if comparison.is_fixed(first) and comparison.is_fixed(nearest):
        same += ": one trace, so no claim beyond it"
    if not tested:
        return same
    return f"by more than chance {LEVEL} from {listed(tested)}, and {same}"


def _seen(comparison: Comparison, first: str) -> str:
    """What the one that leads saw and others did not."""
    seen = comparison.saw.get(first)
    others = [one for one in comparison.policies if one != first]
    blind = [one for one in others if comparison.saw.get(one) != seen]
    if seen is None or not blind:
        return ""
    if len(blind) > 3 or len(blind) == len(others) > 1:
        who = "the others" if len(blind) == len(others) else f"{len(blind)} of the others"
    else:
        who = listed(blind)
    return f"{first} saw {seen}, which {who} did not."


def _without_value(comparison: Comparison, metric: Metric) -> str:
    """Who in the running has no value of the metric in some or all replications."""
    runs = {one: comparison.runs_of(one) for one in comparison.policies}
    missing = {
        one: runs[one] - comparison.counted(one, metric.name)
        for one in _rivals(comparison, metric)
        if comparison.counted(one, metric.name) < runs[one]
    }
    none = [one for one, count in missing.items() if count == runs[one]]
    some = [
        f"{one} has none in {count} of {runs[one]}"
        for one, count in missing.items()
        if count < runs[one]
    ]
    words = (
        [f"{listed(none)} {'has' if len(none) == 1 else 'have'} no {metric.name}"] if none else []
    )
    if some:
        words.append(f"{listed(some)} replications")
    return f"{'; '.join(words)}." if words else ""


def _or_all(share: float) -> float:
    return 1.0 if math.isnan(share) else share


def comparison_summary(comparison: Comparison) -> dict[str, Any]:
    """All estimates and verdicts as plain values for JSON; null where there is no number."""
    measures, policies = comparison.scenario.kind.metrics, comparison.policies
    headline = comparison.scenario.kind.metric[comparison.headline]
    trade_offs = [
        {"x": pair.x, "y": pair.y, "front": list(comparison.front(pair))}
        for pair in comparison.scenario.kind.trade_offs
    ]
    return {
        "result": comparison.stored_as,
        "version": comparison.version,
        "scenario": comparison.scenario.name,
        "kind": comparison.scenario.kind.name,
        "policies": list(policies),
        "replications": comparison.replications,
        "seed": comparison.seed,
        "confidence": CONFIDENCE,
        "correction": f"Holm over {comparison.family.tests} paired tests",
        "ignore_service": comparison.ignore_service,
        "service_margin": comparison.service_margin,
        "by": comparison.by,
        "limits": [list(limit) for limit in comparison.limits],
        "baseline": comparison.baseline,
        "beyond_limits": list(comparison.beyond_limits),
        "out_of_the_running": list(comparison.out_of_the_running),
        "perhaps_less_served": list(comparison.perhaps_less_served),
        "saw": comparison.saw,
        "metrics": {
            policy: {
                metric.name: {
                    **plain_estimate(comparison.estimate(policy, metric.name)),
                    "replications": comparison.counted(policy, metric.name),
                }
                for metric in measures
            }
            for policy in policies
        },
        "differences": {
            policy: {metric.name: plain_pair(comparison, policy, metric) for metric in measures}
            for policy in policies[1:]
        },
        "leaders": {metric.name: list(comparison.leaders(metric)) for metric in measures},
        "winner": comparison.winner(headline),
        **({"trade_offs": trade_offs} if trade_offs else {}),
        "conclusion": comparison.conclusion(),
    }


def plain_pair(comparison: Comparison, policy: str, metric: Metric) -> dict[str, Any]:
    """A policy against the first."""
    pair = comparison.pair(policy, metric.name)
    return {
        **plain_estimate(pair.difference),
        "replications": pair.replications,
        "basis": pair.basis,
        "verdict": comparison.verdict(policy, metric),
    }


def plain_estimate(estimate: Estimate) -> dict[str, Any]:
    """An estimate with null for what is not known, and whether its mean is a bound."""
    plain = {key: _number(value) for key, value in estimate._asdict().items()}
    flags = {"at_least": estimate.is_at_least, "at_most": estimate.is_at_most}
    return {**plain, **{key: True for key, is_so in flags.items() if is_so}}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
