"""The page of a comparison of policies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from cloudarena.base.results import number_or_null
from cloudarena.contract import Metric, TradeOff
from cloudarena.experiments.answer import times_broken
from cloudarena.experiments.compare import CONFIDENCE, Comparison, Estimate
from cloudarena.experiments.comparison import TIES
from cloudarena.experiments.pairs import SMALL
from cloudarena.report.charts import WIDE, AnyChart, Chart, Dot, Dots, Series
from cloudarena.report.numbers import UNKNOWN, format_number
from cloudarena.report.page import (
    ARROWS_HINT,
    DIRECTIONS,
    File,
    Rows,
    Section,
    Sheet,
    command_fact,
    label_of,
    metric_head,
    metric_tip,
)
from cloudarena.report.reproduce import SPEC_FILE, compare_again
from cloudarena.report.spoken import spoken
from cloudarena.report.terminal.comparison import (
    DETERMINISTIC_NOTE,
    confidence_text,
    count,
    difference_text,
    mean_text,
    seeds_text,
    shown_metrics,
)
from cloudarena.report.terminal.grid import OUT
from cloudarena.report.timeline import time_charts

FEW_REPLICATIONS = 100
"""The number of replications up to which each is drawn as a point."""
MARKS = {"better": "✓ ", "worse": "✕ ", "no difference": "≈ ", "not told apart": "? ", "": ""}


def make_sheet(comparison: Comparison) -> Sheet:
    """What is on the page of a comparison."""
    scenario = comparison.scenario
    headline, *others = _drawn_metrics(comparison)
    answer, *reasons = (spoken(one, scenario.kind.metric) for one in comparison.sentences())
    several = len(comparison.policies) > 1
    hero: list[AnyChart] = [means_chart(comparison, headline)]
    hero += _differences(comparison, [headline], named=True)
    sections = [
        Section(
            "Policies",
            ARROWS_HINT,
            table=_metrics_table(comparison),
            fold=f"All {len(scenario.kind.metrics)} metrics and what they mean",
        )
    ]
    if others:
        means = [means_chart(comparison, metric) for metric in others]
        differences = _differences(comparison, others)
        views = {"Values": len(means)}
        if differences:
            views[f"Differences from {comparison.policies[0]}"] = len(differences)
        sections.append(
            Section(
                "Metric by metric",
                _charts_hint(comparison),
                [*means, *differences],
                views=views if differences else {},
            )
        )
    if several and scenario.kind.trade_offs:
        hint = (
            "The means with their intervals. No policy in the running is better in both than one "
            "on the front, the dashed line."
        )
        pairs = [_trade_off(comparison, pair) for pair in scenario.kind.trade_offs]
        sections.append(Section("Trade-offs", hint, pairs))
    if drawn := time_charts(scenario, comparison.samples):
        hint = (
            f"The first replication (seed {comparison.seed}). Drag the slider below a chart to "
            "zoom all of them."
        )
        first = {ranked(comparison)[0], comparison.policies[0]}
        hidden = [one for one in comparison.policies if one not in first]
        sections.append(
            Section("Over time", hint, drawn, switches=comparison.policies, hidden=hidden)
        )
    return Sheet(
        kind="comparison",
        title=scenario.name,
        description=scenario.description,
        conclusion=answer,
        reasons=reasons,
        notes=_notes(comparison),
        facts=_facts(comparison),
        hero=hero,
        sections=sections,
        guide=_reading_guide(comparison),
        files=[File(SPEC_FILE, "The scenario, defaults included", scenario.to_yaml())],
        rows=[_replications(comparison)],
    )


def _drawn_metrics(comparison: Comparison) -> list[Metric]:
    """The metrics with a chart: the headline and the highlights, with what was left undone."""
    kind = comparison.scenario.kind
    limited = (limit.metric for limit in comparison.limits)
    names = dict.fromkeys((comparison.headline, *limited, *kind.highlights))
    return [kind.metric[name] for name in names]


def _facts(comparison: Comparison) -> list[tuple[str, str]]:
    """What was run: terms, and what they are as HTML."""
    again = compare_again(comparison)
    headline = comparison.scenario.kind.metric[comparison.headline]
    policies = ", ".join(f"<code>{escape(name)}</code>" for name in comparison.policies)
    return [
        ("Policies", policies),
        ("Replications", f"{comparison.replications:,} of each policy, {seeds_text(comparison)}"),
        ("Ranked by", f"{escape(label_of(headline))} (<code>{escape(headline.name)}</code>)"),
        ("Version", f"cloudarena {escape(comparison.version)}"),
        ("Run again with", command_fact(again.command, again.notes)),
    ]


def _notes(comparison: Comparison) -> list[str]:
    """What the reader must know before believing the numbers."""
    texts = []
    if comparison.is_deterministic:
        texts.append(DETERMINISTIC_NOTE)
    if comparison.replications == 1:
        texts.append(
            "One replication has no confidence interval: the numbers below are single runs, and "
            "differences may be chance."
        )
    return texts


def _charts_hint(comparison: Comparison) -> str:
    if comparison.replications == 1:
        return "One run of each policy."
    return "The mean with its interval; small dots are single replications."


def ranked(comparison: Comparison) -> list[str]:
    """The policies by the chosen metric: the winner first, those out of the running last.

    Of those, who breaks limits least often is the first, as in the answer.
    """
    metric = comparison.scenario.kind.metric[comparison.headline]
    sign = -1.0 if metric.better == "higher" else 1.0

    def place(policy: str) -> tuple[bool, int, bool, bool, float]:
        mean = comparison.estimate(policy, metric.name).mean
        is_out = policy in comparison.out_of_the_running
        is_leader = policy in comparison.starred(metric)
        unknown = math.isnan(mean)
        broken = times_broken(comparison, policy) if is_out else 0
        return is_out, broken, not is_leader, unknown, 0.0 if unknown else sign * mean

    return sorted(comparison.policies, key=place)


def _shared(comparison: Comparison) -> set[str]:
    """The metrics that have the same values under all policies, which tell nobody apart."""
    if len(comparison.policies) == 1:
        return set()
    asked = {comparison.headline, *(limit.metric for limit in comparison.limits)}
    return {
        name
        for name, values in comparison.values.items()
        if name not in asked
        and (np.isnan(values) | (values == values[:1])).all()
        and (np.isnan(values) == np.isnan(values[:1])).all()
    }


def _metrics_table(comparison: Comparison) -> str:
    """A row for each policy, a column for each metric.

    Metrics that are no highlights, or that all policies share, fold away.
    """
    shown = [metric.name for metric in _drawn_metrics(comparison)]
    shared = _shared(comparison)
    metrics = {metric.name: metric for metric in shown_metrics(comparison.scenario, True)}
    order = [metrics[name] for name in dict.fromkeys((*shown, *metrics)) if name in metrics]
    visible = {name for name in shown if name not in shared}
    heads = "".join(metric_head(one, scope="col", more=one.name not in visible) for one in order)
    rows = "".join(
        f'<tr{_out_class(comparison, policy)}><th scope="row"{_out_class(comparison, policy)}>'
        f'<span class="key" data-policy="{comparison.policies.index(policy)}"></span>'
        f"{escape(policy)}{_out_chip(comparison, policy)}</th>"
        + "".join(_cell(comparison, policy, one, one.name not in visible) for one in order)
        + "</tr>"
        for policy in ranked(comparison)
    )
    return (
        '<table class="policies"><thead><tr><th scope="col">Policy</th>'
        f"{heads}</tr></thead><tbody>{rows}</tbody></table>{_shared_line(comparison, shared)}"
    )


def _shared_line(comparison: Comparison, shared: set[str]) -> str:
    """The highlights that all policies share, in a line."""
    drawn = [metric for metric in _drawn_metrics(comparison) if metric.name in shared]
    if not drawn:
        return ""
    first = comparison.policies[0]
    parts = (f"{label_of(one)} {mean_text(comparison, first, one)}" for one in drawn)
    return f'<p class="shared">The same under all policies: {escape("; ".join(parts))}.</p>'


def _cell(comparison: Comparison, policy: str, metric: Metric, more: bool) -> str:
    mean, _, half_width = escape(mean_text(comparison, policy, metric)).partition(" ± ")
    interval = f' <span class="half">± {half_width}</span>' if half_width else ""
    star = ""
    if policy in comparison.starred(metric):
        star = '<span class="star" title="leads">★</span>'
    classes = " ".join(filter(None, ("leads" if star else "", "more" if more else "")))
    kind = f' class="{classes}"' if classes else ""
    return (
        f'<td data-label="{escape(label_of(metric))}"{kind}><span class="mean">{star}{mean}'
        f"{interval}</span>{_difference_line(comparison, policy, metric)}</td>"
    )


def _out_class(comparison: Comparison, policy: str) -> str:
    return ' class="out"' if policy in comparison.out_of_the_running else ""


def _out_chip(comparison: Comparison, policy: str) -> str:
    """What stands below the name of a policy that is out of the running."""
    if policy not in comparison.out_of_the_running:
        return ""
    return f'<span class="chip">{OUT} out of the running</span>'


def _difference_line(comparison: Comparison, policy: str, metric: Metric) -> str:
    if len(comparison.policies) == 1:
        return ""
    if policy == comparison.policies[0]:
        return '<span class="difference">reference</span>'
    if math.isnan(comparison.difference(policy, metric.name).mean):
        return ""
    difference = escape(difference_text(comparison, policy, metric))
    verdict = comparison.verdict(policy, metric)
    if not verdict:
        return f'<span class="difference">{difference}</span>'
    kind = verdict.replace(" ", "-")
    return (
        f'<span class="difference">{difference} '
        f'<b class="verdict {kind}">{MARKS[verdict]}{verdict}</b></span>'
    )


def means_chart(comparison: Comparison, metric: Metric) -> Dots:
    """A metric by policy."""
    leaders, out = comparison.starred(metric), comparison.out_of_the_running
    values = comparison.values[metric.name]
    rows = []
    for k, policy in enumerate(comparison.policies):
        estimate = comparison.estimate(policy, metric.name)
        leads, is_out = policy in leaders, policy in out
        rows.append(
            Dot(
                name=policy,
                text=mean_text(comparison, policy, metric),
                estimate=estimate,
                points=_points(comparison, values[k]),
                colour=k,
                ends=_ends(estimate),
                note="★" if leads else "out of the running" if is_out else "",
                prefix="★ " if leads else f"{OUT} " if is_out else "",
                is_hollow=is_out,
            )
        )
    level = f"{CONFIDENCE:.0%} interval"
    return Dots(
        label_of(metric),
        DIRECTIONS[metric.better],
        rows,
        level,
        metric=metric.name,
        tip=metric_tip(metric),
    )


def _differences(
    comparison: Comparison, metrics: Sequence[Metric], named: bool = False
) -> list[AnyChart]:
    """A chart of paired differences for each metric that has any.

    Args:
        comparison: what to show.
        metrics: which of its metrics.
        named: says in the title from which policy they differ.
    """
    charts: list[AnyChart] = []
    first, *others = comparison.policies
    for metric in metrics:
        estimates = {one: comparison.difference(one, metric.name) for one in others}
        if all(math.isnan(estimate.mean) for estimate in estimates.values()):
            continue
        values = comparison.values[metric.name]
        rows = []
        for k, (policy, estimate) in enumerate(estimates.items(), start=1):
            verdict = comparison.verdict(policy, metric)
            rows.append(
                Dot(
                    name=policy,
                    text=difference_text(comparison, policy, metric),
                    estimate=estimate,
                    points=_points(comparison, _minus(values[k], values[0])),
                    colour=verdict,
                    ends=_ends(estimate),
                    note=verdict,
                    prefix=MARKS[verdict],
                    is_hollow=verdict in TIES,
                )
            )
        title = label_of(metric) + (f": difference from {first}" if named else "")
        charts.append(
            Dots(
                title,
                DIRECTIONS[metric.better],
                rows,
                "interval at the level of the test",
                has_zero=True,
                metric=metric.name,
                tip=metric_tip(metric),
            )
        )
    return charts


def _minus(values: Any, others: Any) -> Any:
    """The differences of single runs; 0 where that is rounding."""
    change = values - others
    size = np.maximum(np.abs(values), np.abs(others))
    return np.where(np.abs(change) <= 1e-9 * size, 0.0, change)


def _points(comparison: Comparison, values: Any) -> list[float]:
    return values.tolist() if 1 < comparison.replications <= FEW_REPLICATIONS else []


def _ends(estimate: Estimate) -> str:
    """The ends of an interval in words; nothing where it has none."""
    half_width = estimate.half_width
    if not math.isfinite(half_width):
        return ""
    return " to ".join(format_number(end, half_width) for end in estimate[1:])


def _trade_off(comparison: Comparison, pair: TradeOff) -> Chart:
    """Two metrics against each other: a point for each policy, and the Pareto front."""
    metric = comparison.scenario.kind.metric
    x, y = metric[pair.x], metric[pair.y]
    front = comparison.front(pair)

    def at(policy: str) -> tuple[Estimate, Estimate]:
        return comparison.estimate(policy, x.name), comparison.estimate(policy, y.name)

    means = np.array([[one.mean for one in at(policy)] for policy in comparison.policies])
    series = [
        Series(
            "front",
            [at(policy)[0].mean for policy in front],
            [at(policy)[1].mean for policy in front],
            "dashed",
        )
    ]
    for k, policy in enumerate(comparison.policies):
        if np.isnan(means[k]).any():
            continue
        is_out = policy in comparison.out_of_the_running
        spans = [end for one in at(policy) for end in (one.low, one.high)]
        name = f"{OUT} {policy}" if is_out else policy
        series.append(
            Series(
                name,
                [means[k, 0]],
                [means[k, 1]],
                "named",
                [f"{mean_text(comparison, policy, x)} / {mean_text(comparison, policy, y)}"],
                colour=k,
                spans=spans,
                is_hollow=is_out,
            )
        )
    wide = [_is_wide(means[:, axis]) for axis in (0, 1)]
    return Chart(
        pair.title,
        f"On the front: {', '.join(front) or 'nobody'}",
        label_of(x),
        label_of(y),
        series,
        x_log=wide[0],
        y_log=wide[1],
        height=380,
    )


def _is_wide(means: Any) -> bool:
    """Whether one bad policy would push all others into a corner, were the axis not logarithmic."""
    known = means[~np.isnan(means)]
    return bool(len(known) and known.min() > 0 and known.max() > WIDE * known.min())


def _replications(comparison: Comparison) -> Rows:
    """Every replication of every policy, metric by metric."""
    runs, policies = comparison.replications, comparison.policies
    columns: dict[str, Sequence[Any]] = {
        "policy": [policy for policy in policies for _ in range(runs)],
        "replication": list(range(runs)) * len(policies),
        "seed": [comparison.seed + run for run in range(runs)] * len(policies),
    }
    for name, values in comparison.values.items():
        columns[name] = [number_or_null(value) for value in values.ravel().tolist()]
    bounds = {name: flags.ravel().tolist() for name, flags in comparison.bounds.items()}
    return Rows("replications.csv", "Every replication", columns, bounds)


def _reading_guide(comparison: Comparison) -> list[str]:
    """How the numbers were made and what the words mean."""
    level, first = f"{CONFIDENCE:.0%}", comparison.policies[0]
    return [
        "Replication r of every policy runs on the same work (common random numbers). So "
        "differences are taken pair by pair, which removes the noise the policies share.",
        f"± behind a mean is half the width of its {level} confidence interval (Student's) over "
        f"{count(comparison.replications, 'replication')}, each by itself.",
        f"<b>Better</b> and <b>worse</b>: the paired difference from <code>{first}</code> is more "
        f"than chance. All verdicts of this page have one level, {confidence_text(comparison)}: "
        "the probability that any of them is wrong is below "
        f"{100 - 100 * CONFIDENCE:g} %. The interval of a difference is at the level at which it "
        "was tested, so it leaves out zero exactly where there is a verdict. <b>No difference</b>: "
        f"all of the interval is within {SMALL:.0%} of the numbers. <b>Not told apart</b>: it is "
        "wider, and more replications may show a difference.",
        "A difference without ± is the same in all replications: it is compared as it is, and "
        "says nothing about other work.",
        "A <b>★</b> marks the best mean and every policy that cannot be told from it, by the same "
        "tests.",
        "Service comes first: a policy with a higher <code>unserved_share</code> than another, by "
        f"the same tests, is <b>out of the running</b> ({OUT}): it gets no ★, is on no front and "
        "does not win, whatever else it saves. <code>--ignore-service</code> ranks it all the "
        "same.",
        f"A <b>{UNKNOWN}</b> stands where there is no value, such as the mean over nothing served; "
        "<b>> x</b> is a lower bound, since some work had not finished. Who has no value does "
        "not lead, and a bound is never called the lower of two.",
    ]
