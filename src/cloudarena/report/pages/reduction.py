"""The page of a reduction of metrics."""

from __future__ import annotations

from html import escape

from cloudarena.experiments.metric_table import MetricReduction
from cloudarena.report.charts import order_scatter, reduction_charts
from cloudarena.report.numbers import format_number
from cloudarena.report.page import Section, Sheet, html_table
from cloudarena.version import __version__

GUIDE = (
    "The score of a strategy is the sum of its metrics, each in standard deviations, with the sign "
    "that makes more of it better. A few metrics predict it by least squares.",
    "Residual: the standard deviation of what they leave of the score. Information: how much they "
    "tell of which strategy is the best; all of it is log2 of the number of strategies.",
    "Alignment probability: that the s best by prediction hold at least k of the g best. It is "
    "judged by cross-validation, with the metrics chosen again in each part by the same method.",
    "Strategies that are held out had no part in the choice.",
)


def make_sheet(done: MetricReduction) -> Sheet:
    """What is on the page of a reduction."""
    steps, kept = done.reduction.steps, len(done.chosen)
    charts = reduction_charts(
        [step.residual_sd for step in steps],
        [step.information_bits for step in steps],
        [step.alignment for step in steps],
        kept,
    )
    weights = [
        [name, format_number(float(weight))]
        for name, weight in zip(done.chosen, done.reduction.coefficients, strict=True)
    ]
    facts = [
        ("Strategies", f"{len(done.table.values):,}, of which {done.sample:,} chose the metrics"),
        ("Metrics", f"{len(done.table.names):,}"),
        ("Measure", ", ".join(f"<code>{escape(name)}</code>" for name in done.chosen)),
    ]
    if done.held_out is not None:
        words = f"correlation of score and prediction {done.held_out.correlation:.3f}"
        facts.append(("Held out", f"{done.held_out.strategies:,} strategies; {words}"))
    facts.append(("Version", f"cloudarena {escape(__version__)}"))
    answer, *reasons = done.sentences()
    return Sheet(
        kind="reduction",
        title=done.table.source,
        description=f"Which of {len(done.table.names):,} metrics need be measured",
        conclusion=answer,
        reasons=reasons,
        notes=(),
        facts=facts,
        hero=charts[2:],
        sections=[
            Section(
                "Predicted against exact orders",
                "Each point is a strategy; on the line both orders agree.",
                [order_scatter(*done.reduction.ranks(done.table.values), done.unseen_flags)],
            ),
            Section("Residual and information", "Against the number of metrics.", charts[:2]),
            Section(
                "The prediction",
                f"Score = {format_number(done.reduction.intercept)} + sum of weight times metric.",
                table=html_table(["metric", "weight"], weights),
            ),
        ],
        guide=GUIDE,
    )
