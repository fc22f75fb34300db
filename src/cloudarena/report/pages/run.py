"""The page of one run."""

from __future__ import annotations

from html import escape

from cloudarena.base.names import UNSERVED
from cloudarena.contract import Metric, Result
from cloudarena.experiments.conclusion import share_text
from cloudarena.report.cloud import cloud_section
from cloudarena.report.numbers import UNKNOWN, format_number
from cloudarena.report.page import (
    ARROWS_HINT,
    File,
    Section,
    Sheet,
    command_fact,
    html_table,
    meaning_of,
    metric_head,
)
from cloudarena.report.reproduce import SPEC_FILE, run_again
from cloudarena.report.spoken import NO_BREAK, name_of
from cloudarena.report.timeline import time_charts

GUIDE = (
    "One run of one policy: everything that is random in it follows from the seed, so the same "
    "command gives the same numbers.",
    "How far chance moves them one run does not tell: <code>cloudarena compare</code> runs several "
    "seeds, and gives intervals and verdicts.",
    f"A <b>{UNKNOWN}</b> stands where there is no value, such as the mean over nothing served; "
    "<b>> x</b> is a lower bound, since some work had not finished.",
    "Lines over time with many points are drawn as means of neighbours; the recorded tables have "
    "all of them.",
)

"""What stands between a number and its unit."""


def make_sheet(result: Result) -> Sheet:
    """What is on the page of a run."""
    charts = [] if result.spec is None else time_charts(result.spec, {result.policy: result.tables})
    metrics = _metrics(result)
    highlights = sum(metric.highlight for metric in metrics)
    fold = f"All {len(metrics)} metrics" if highlights else ""
    sections = [Section("Metrics", ARROWS_HINT, table=_metrics_table(result, metrics), fold=fold)]
    if len(charts) > 1:
        hint = "Drag the slider below a chart to zoom all of them."
        sections.append(Section("Over time", hint, charts[1:]))
    if cloud := cloud_section(result.spec, result.tables, result.policy):
        sections.append(cloud)
    if result.tables:
        sections.append(_tables_section(result))
    files = []
    if result.spec is not None:
        files.append(File(SPEC_FILE, "The scenario, defaults included", result.spec.to_yaml()))
    return Sheet(
        kind="run",
        title=result.scenario,
        description="" if result.spec is None else result.spec.description,
        conclusion=_answer(result),
        reasons=_reasons(result),
        notes=result.notes,
        facts=_facts(result),
        hero=charts[:1],
        sections=sections,
        guide=GUIDE,
        files=files,
    )


def _metrics(result: Result) -> list[Metric]:
    """The metrics of the run, the highlights first; by name alone if nobody knows its kind."""
    known = {} if result.spec is None else result.spec.kind.metric
    found = [known.get(name, Metric(name, "", highlight=not known)) for name in result.metrics]
    return sorted(found, key=lambda metric: not metric.highlight)


def _answer(result: Result) -> str:
    """The headline in a sentence, such as ``Profit: 173,420 $ under best-fit``."""
    policy = result.policy or "the policy"
    if result.spec is None or result.spec.kind.headline not in result.metrics:
        return f"{len(result.metrics)} metrics of {policy}."
    headline = result.spec.kind.metric[result.spec.kind.headline]
    value = f"{format_number(result.metrics[headline.name])}{NO_BREAK}{headline.unit}".strip()
    return f"{name_of(headline)}: {value} under {policy}."


def _reasons(result: Result) -> list[str]:
    """How much of the work was served."""
    share = result.metrics.get(UNSERVED)
    if share is None or result.spec is None:
        return []
    work = result.spec.kind.unit_of_work
    served = "All were served." if share == 0 else f"{share_text(share)} of {work} were unserved."
    return [served.replace("All were", f"All {work} were")]


def _facts(result: Result) -> list[tuple[str, str]]:
    facts = [
        ("Policy", f"<code>{escape(result.policy)}</code>"),
        ("Seed", f"{result.seed}"),
        ("Version", f"cloudarena {escape(result.version)}"),
    ]
    if result.spec is not None:
        again = run_again(result, result.spec)
        facts.append(("Run again with", command_fact(again.command, again.notes)))
    return facts


def _metrics_table(result: Result, metrics: list[Metric]) -> str:
    rows = ""
    for metric in metrics:
        kind = "" if metric.highlight else ' class="more"'
        value = escape(format_number(result.metrics[metric.name]))
        rows += (
            f'<tr{kind}>{metric_head(metric, with_meaning=False)}<td data-label="Value">'
            f'<span class="mean">{value}</span></td>'
            f'<td class="words meant">{meaning_of(metric)}</td></tr>'
        )
    return (
        '<table class="metrics"><thead><tr><th scope="col">Metric</th><th scope="col">Value</th>'
        f'<th scope="col" class="words">What it is</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _tables_section(result: Result) -> Section:
    rows = [
        [f"{name}.parquet", f"{table.num_rows:,}", ", ".join(table.column_names)]
        for name, table in result.tables.items()
    ]
    hint = "Beside this page, if the run was saved; result.tables in Python."
    return Section("What was recorded", hint, table=html_table(["file", "rows", "columns"], rows))
