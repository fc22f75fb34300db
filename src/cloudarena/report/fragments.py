"""The pieces of the page that are words and tables: they need no script."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from html import escape

from cloudarena import __version__
from cloudarena.contract import Metric
from cloudarena.experiments.compare import CONFIDENCE, Comparison
from cloudarena.report.numbers import UNKNOWN
from cloudarena.report.reproduce import reproduction
from cloudarena.report.tables import (
    DETERMINISTIC_NOTE,
    OUT,
    confidence_text,
    count,
    difference_text,
    mean_text,
    seeds_text,
    shown_metrics,
)

_DIRECTIONS = {"higher": "↑ higher is better", "lower": "↓ lower is better", None: ""}
_MARKS = {"better": "✓", "worse": "✕", "no difference": "≈"}


def breakable(text: str) -> str:
    """Text as HTML that may go on in a new line between parameters, or the words of a long name."""
    words = re.sub(r":(?=\S)", ":<wbr>", escape(text))
    return re.sub(r"\w{25,}", lambda name: name[0].replace("_", "_<wbr>"), words)


def drawn_metrics(comparison: Comparison) -> list[Metric]:
    """The metrics with a chart: the headline and the highlights, with what was left undone."""
    scenario = comparison.scenario
    names = dict.fromkeys((scenario.kind.headline, *scenario.kind.highlights))
    known = {metric.name: metric for metric in scenario.kind.metrics}
    return [known[name] for name in names if name in known]


def facts(comparison: Comparison) -> list[tuple[str, str]]:
    """What was run: terms, and what they are as HTML."""
    again = reproduction(comparison)
    policies = ", ".join(f"<code>{escape(name)}</code>" for name in comparison.policies)
    notes = "".join(f'<span class="hint">{escape(note)}</span>' for note in again.notes)
    words = f"<span>{escape(again.command)}</span>".replace(" --", "</span> <span>--")
    words = words.replace(",", ",</span><span>")  # lines break before options and after commas
    command = (
        f'<span class="command"><code id="command">{words}</code>'
        f'<button type="button" data-copy="command" hidden>Copy</button></span>{notes}'
    )
    return [
        ("Policies", policies),
        ("Replications", f"{comparison.replications:,} of each policy, {seeds_text(comparison)}"),
        ("Ranked by", f"<code>{escape(comparison.scenario.kind.headline)}</code>"),
        ("Version", f"cloudarena {escape(__version__)}"),
        ("Run again with", command),
    ]


def notes(comparison: Comparison) -> list[str]:
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


def metrics_table(comparison: Comparison) -> str:
    """A row for each metric, a column for each policy; metrics that are no highlights fold away."""
    heads = "".join(
        f'<th scope="col"{_out_class(comparison, name)}><span class="key" data-policy="{k}"></span>'
        f"{escape(name)}{_out_chip(comparison, name)}</th>"
        for k, name in enumerate(comparison.policies)
    )
    rows = "".join(
        _metric_row(comparison, metric)
        for metric in shown_metrics(comparison.scenario, every_metric=True)
    )
    return (
        '<table class="metrics"><thead><tr><th scope="col">Metric</th>'
        f"{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def charts_hint(comparison: Comparison) -> str:
    """What the marks of the charts are."""
    if comparison.replications == 1:
        return "One run of each policy."
    return "The mean with its interval; small dots are single replications."


def mean_charts(comparison: Comparison, metrics: Iterable[Metric]) -> str:
    """A frame for each metric's means; the script draws into it."""
    figures = []
    for metric in metrics:
        values = (f"{name} {mean_text(comparison, name, metric)}" for name in comparison.policies)
        figures.append(_figure("means", metric, f"{metric.name} by policy: {'; '.join(values)}"))
    return "".join(figures)


def difference_charts(
    comparison: Comparison, metrics: Iterable[Metric], named: bool = False
) -> str:
    """A frame for each metric's paired differences, if there are any.

    Args:
        comparison: what to show.
        metrics: which of its metrics.
        named: says in the title from which policy they differ.
    """
    figures = []
    first, *others = comparison.policies
    for metric in metrics:
        if all(math.isnan(comparison.difference(one, metric.name).mean) for one in others):
            continue
        values = (
            f"{name} {difference_text(comparison, name, metric)} "
            f"{comparison.verdict(name, metric)}".strip()
            for name in comparison.policies[1:]
        )
        title = f", difference from {first}"
        summary = f"{metric.name}{title}: {'; '.join(values)}"
        figures.append(_figure("differences", metric, summary, title if named else ""))
    return "".join(figures)


def trade_off_charts(comparison: Comparison) -> str:
    """A frame for each pair of metrics; the words name the policies on the Pareto front."""
    figures = []
    for number, pair in enumerate(comparison.scenario.kind.trade_offs):
        front = ", ".join(comparison.front(pair))
        label = f"{pair.y} against {pair.x}, one mark for each policy; on the front: {front}"
        figures.append(
            f'<figure class="chart" data-chart="trade-off" data-plot="{number}"><figcaption>'
            f"<h3>{escape(pair.title)}</h3><p>On the front: {escape(front)}</p></figcaption>"
            f'<div class="plot" role="img" aria-label="{escape(label)}"></div></figure>'
        )
    return "".join(figures)


def time_charts(timelines: list[dict[str, Any]]) -> str:
    """A frame for each plot over time."""
    figures = []
    for number, timeline in enumerate(timelines):
        hint = timeline["unit"]
        if timeline["mean_of"] > 1:
            hint += f"; {timeline['points']:,} points, drawn as means of {timeline['mean_of']}"
        label = f"{timeline['title']} over time, one line for each policy"
        figures.append(
            f'<figure class="chart" data-chart="time" data-plot="{number}"><figcaption>'
            f"<h3>{escape(timeline['title'])}</h3><p>{escape(hint)}</p></figcaption>"
            f'<div class="plot" role="img" aria-label="{escape(label)}"></div></figure>'
        )
    return "".join(figures)


def policy_switches(comparison: Comparison) -> str:
    """A button for each policy that shows and hides its lines."""
    return "".join(
        f'<button type="button" class="switch" data-switch="{k}" aria-pressed="true">'
        f'<span class="key line" data-policy="{k}"></span>{escape(name)}</button>'
        for k, name in enumerate(comparison.policies)
    )


def reading_guide(comparison: Comparison) -> str:
    """How the numbers were made and what the words mean."""
    level = f"{CONFIDENCE:.0%}"
    first = escape(comparison.policies[0])
    items = [
        "Replication r of every policy runs on the same work (common random numbers). So "
        "differences are taken pair by pair, which removes the noise the policies share.",
        f"± behind a mean is half the width of its {level} confidence interval (Student's) over "
        f"{count(comparison.replications, 'replication')}, each by itself.",
        f"<b>Better</b> and <b>worse</b>: the paired difference from <code>{first}</code> is more "
        f"than chance. All verdicts of this page have one level, {confidence_text(comparison)}: "
        "the probability that any of them is wrong is below "
        f"{100 - 100 * CONFIDENCE:g} %. The interval of a difference is at the level at which it "
        "was tested, so it leaves out zero exactly where there is a verdict. <b>No difference</b>: "
        "it cannot be told from zero.",
        "A difference without ± is the same in all replications: it is compared as it is, and "
        "says nothing about other work.",
        "A <b>★</b> marks the best mean and every policy that cannot be told from it, by the same "
        "tests.",
        "Service comes first: a policy with a higher <code>unserved_share</code> than another, by "
        f"the same tests, is <b>out of the running</b> ({OUT}): it gets no ★, is on no front and "
        "does not win, whatever else it saves. <code>--ignore-service</code> ranks it all the "
        "same.",
        f"A <b>{UNKNOWN}</b> stands where there is no value, such as the mean over nothing served; "
        "<b>&gt; x</b> is a lower bound, since some work had not finished. Who has no value does "
        "not lead, and a bound is never called the lower of two.",
    ]
    return "".join(f"<li>{item}</li>" for item in items)


def _metric_row(comparison: Comparison, metric: Metric) -> str:
    leaders = comparison.starred(metric)
    cells = []
    for policy in comparison.policies:
        mean, _, half_width = escape(mean_text(comparison, policy, metric)).partition(" ± ")
        interval = f' <span class="half">± {half_width}</span>' if half_width else ""
        star = '<span class="star" title="leads">★</span>' if policy in leaders else ""
        mark = f" {OUT}" if policy in comparison.out_of_the_running else ""
        kind = ' class="leads"' if star else _out_class(comparison, policy)
        cells.append(
            f'<td data-label="{escape(policy)}{mark}"{kind}>'
            f'<span class="mean">{star}{mean}'
            f"{interval}</span>{_difference_line(comparison, policy, metric)}</td>"
        )
    tip = f"{metric.description.rstrip('.')}. {_DIRECTIONS[metric.better]}".strip(". ")
    kind = "" if metric.name in comparison.scenario.kind.highlights else ' class="more"'
    return (
        f'<tr{kind}><th scope="row"><span class="tip" tabindex="0" data-tip="{escape(tip)}">'
        f'{breakable(metric.name)}</span><span class="way">{_DIRECTIONS[metric.better]}</span>'
        f'<span class="meaning">{escape(metric.description)}</span></th>{"".join(cells)}</tr>'
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
        f'<b class="verdict {kind}">{_MARKS[verdict]} {verdict}</b></span>'
    )


def _figure(chart: str, metric: Metric, summary: str, more: str = "") -> str:
    tip = escape(metric.description)
    return (
        f'<figure class="chart" data-chart="{chart}" data-metric="{escape(metric.name)}">'
        f'<figcaption><h3><span class="tip" tabindex="0" data-tip="{tip}">{escape(metric.name)}'
        f"</span>{escape(more)}</h3><p>{_DIRECTIONS[metric.better]}</p></figcaption>"
        f'<div class="plot" role="img" aria-label="{escape(summary)}"></div></figure>'
    )
