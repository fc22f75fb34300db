"""The report: a comparison of policies on one page."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from cloudarena import __version__
from cloudarena.base.files import write_text
from cloudarena.experiments.compare import CONFIDENCE, Comparison, Estimate
from cloudarena.report import fragments
from cloudarena.report.numbers import format_number
from cloudarena.report.page import asset, render_page
from cloudarena.report.reproduce import SPEC_FILE, spec_yaml
from cloudarena.report.tables import confidence_text, difference_text, mean_text
from cloudarena.report.timeline import timelines


def write_report(comparison: Comparison, path: str | Path) -> Path:
    """Writes the report of a comparison as one HTML file and returns its path.

    The same comparison gives the same bytes. When writing fails, nothing half-written stays.
    """
    return write_text(path, render_report(comparison))


def render_report(comparison: Comparison) -> str:
    """The page as text."""
    scenario = comparison.scenario
    data = report_data(comparison)
    metrics = fragments.drawn_metrics(comparison)
    headline, others = metrics[:1], metrics[1:]
    several = len(comparison.policies) > 1
    answer, *reasons = comparison.sentences()
    sections = Template(asset("report.html")).substitute(
        table=fragments.metrics_table(comparison),
        metric_count=len(scenario.kind.metrics),
        charts_hint=fragments.charts_hint(comparison),
        charts=fragments.mean_charts(comparison, others),
        differences=fragments.difference_charts(comparison, others) if several else "",
        differences_hidden="" if several else "hidden",
        trade_offs=fragments.trade_off_charts(comparison),
        trade_offs_hidden="" if scenario.kind.trade_offs and several else "hidden",
        first=escape(comparison.policies[0]),
        switches=fragments.policy_switches(comparison),
        timelines=fragments.time_charts(data["timelines"]),
        timelines_hidden="" if data["timelines"] else "hidden",
        seed=comparison.seed,
        guide=fragments.reading_guide(comparison),
        spec=escape(spec_yaml(scenario)),
        spec_file=SPEC_FILE,
    )
    return render_page(
        kind="report",
        title=scenario.name,
        description=scenario.description,
        conclusion=answer,
        reasons=reasons,
        notes=fragments.notes(comparison),
        facts=fragments.facts(comparison),
        hero=fragments.mean_charts(comparison, headline)
        + (fragments.difference_charts(comparison, headline, named=True) if several else ""),
        sections=sections,
        numbers="the table of metrics",
        script="report.js",
        data=data,
    )


def report_data(comparison: Comparison) -> dict[str, Any]:
    """All numbers of the page as plain values for JSON."""
    scenario, policies = comparison.scenario, comparison.policies
    return {
        "scenario": scenario.name,
        "version": __version__,
        "policies": list(policies),
        "replications": comparison.replications,
        "seed": comparison.seed,
        "confidence": CONFIDENCE,
        "headline": scenario.kind.headline,
        "level": confidence_text(comparison),
        "conclusion": comparison.conclusion(),
        "out_of_the_running": list(comparison.out_of_the_running),
        "metrics": [
            {
                "name": metric.name,
                "description": metric.description,
                "better": metric.better,
                "leaders": list(comparison.starred(metric)),
                "estimates": [
                    _estimate(
                        comparison.estimate(policy, metric.name),
                        mean_text(comparison, policy, metric),
                    )
                    for policy in policies
                ],
                "differences": [
                    {
                        **_estimate(
                            comparison.difference(policy, metric.name),
                            difference_text(comparison, policy, metric),
                        ),
                        "verdict": comparison.verdict(policy, metric),
                    }
                    for policy in policies[1:]
                ],
            }
            for metric in scenario.kind.metrics
        ],
        "values": {
            name: [[_number(value) for value in row] for row in rows.tolist()]
            for name, rows in comparison.values.items()
        },
        "bounds": {name: flags.tolist() for name, flags in comparison.bounds.items()},
        "trade_offs": [
            {**pair._asdict(), "front": [policies.index(name) for name in comparison.front(pair)]}
            for pair in scenario.kind.trade_offs
        ],
        "timelines": timelines(scenario, comparison.samples),
    }


def _estimate(estimate: Estimate, text: str) -> dict[str, Any]:
    half_width = estimate.half_width
    ends = [format_number(end, half_width) for end in estimate[1:] if math.isfinite(half_width)]
    return {
        **{key: _number(value) for key, value in estimate._asdict().items()},
        "text": text,
        "range": " to ".join(ends),
        "bound": "least" if estimate.is_at_least else "most" if estimate.is_at_most else "",
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
