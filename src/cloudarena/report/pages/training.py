"""The page of a training: what was learned, how it went, and the comparison on unseen work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from cloudarena.learn.explain import Importance
from cloudarena.learn.training import Training
from cloudarena.report.charts import Chart, Series
from cloudarena.report.numbers import UNKNOWN, format_number
from cloudarena.report.page import Section, Sheet, command_fact, html_table, label_of
from cloudarena.report.pages.comparison import make_sheet as comparison_sheet
from cloudarena.report.pages.comparison import means_chart
from cloudarena.report.spoken import name_of, spoken
from cloudarena.report.terminal.comparison import mean_text

GUIDE = (
    "The work that was trained on, that the learning curve is measured on, that finalists are told "
    "apart by, and that the comparison is on have no seed in common.",
    "The band around the curve is one standard error of the mean over its runs. Points of the "
    "curve are looked at while training goes on, so the best of them is flattered; the comparison "
    "is not.",
    "Against each heuristic one question is asked, by one metric, so its answer needs fewer runs "
    "than the verdicts further down: those are on all pairs of policies in all metrics at once.",
    "<b>changed</b> is the share of decisions that come out otherwise when a feature is shuffled "
    "among the candidates of a decision (of the context: among decisions).",
)

DUEL_HEADS = ("policy", "mean", "unserved", "learned has more (95 %)", "learned is")


def make_sheet(training: Training) -> Sheet:
    """What is on the page of a training."""
    inner = comparison_sheet(training.comparison)
    known = training.comparison.scenario.kind.metric
    answer, *reasons = (spoken(one, known) for one in training.sentences())
    decides = Section(
        "What decides",
        "The features of the policy, the most important first.",
        table=html_table(
            ("feature", "of", "weight", "changed"), importance_rows(training.importance)
        ),
    )
    duels = Section(
        "Against each heuristic",
        f"By {name_of(training.reward)}, on work that nobody trained on. The intervals hold "
        "together with 95 %; one that leaves out zero is a verdict.",
        table=html_table(DUEL_HEADS, duel_rows(training), marked=[0]),
    )
    return Sheet(
        kind="training",
        title=training.comparison.scenario.name,
        description=training.comparison.scenario.description,
        conclusion=answer,
        reasons=reasons,
        notes=inner.notes,
        facts=_facts(training),
        hero=[_curve(training), means_chart(training.comparison, training.reward)],
        sections=[duels, decides, *inner.sections],
        guide=[*GUIDE, *inner.guide],
        files=inner.files,
        rows=inner.rows,
    )


def duel_rows(training: Training) -> list[list[str]]:
    """How each policy did by the reward, and what the learned one has more, as texts."""
    comparison, reward = training.comparison, training.reward
    duels = {one.against: one for one in training.duels}
    rows = []
    for policy in comparison.policies:
        unserved = (
            "" if comparison.service is None else mean_text(comparison, policy, comparison.service)
        )
        row = [policy, mean_text(comparison, policy, reward), unserved]
        if policy in duels:
            one = duels[policy]
            known = not math.isnan(one.difference.mean)
            low, high = (format_number(end) for end in one.difference[1:])
            row += [
                f"{format_number(one.difference.mean)} ({low} to {high})" if known else UNKNOWN,
                one.verdict or UNKNOWN,
            ]
        else:
            row += ["", ""]
        rows.append(row)
    return rows


def importance_rows(importance: Sequence[Importance]) -> list[list[str]]:
    """The features of a policy with their weights, as texts."""
    return [
        [one.feature, one.of, format_number(one.weight), f"{one.changed:.1%}"] for one in importance
    ]


def _facts(training: Training) -> list[tuple[str, str]]:
    said, learned = training.learned.training, training.learned
    network = "x".join(map(str, learned.hidden)) if learned.hidden else "linear"
    unit = "whole runs" if said["algorithm"] == "cross-entropy" else "decisions"
    facts = [
        ("Learned by", escape(f"{said['algorithm']}, {said['steps']:,} {unit}")),
        ("To earn", f"<code>{escape(said['reward'])}</code>"),
        ("Score", escape(f"{network}, {len(learned.weights):,} weights")),
        ("Candidates", f"at most {learned.most}"),
    ]
    if training.choice is not None:
        facts.append(("Chosen", escape(f"of {training.choice['designs']} finalists")))
    facts.append(("Version", f"cloudarena {escape(training.version)}"))
    facts.append(("Train again with", command_fact(said["command"])))
    return facts


def _curve(training: Training) -> Chart:
    steps, mean, error = training.curve.T
    ends = np.array([steps.min(), steps.max()]) if len(steps) else np.zeros(0)
    scenario, names = training.comparison.scenario, training.comparison.policies
    default = scenario.policy or scenario.kind.default_policy
    colour = names.index(default) if default in names else len(names)
    return Chart(
        "Learning curve",
        "What the policy earned on work that it was not trained on.",
        "steps",
        f"earned ({label_of(training.reward)})",
        (
            Series("learned", steps, mean, colour=0),
            Series("one standard error below", steps, mean - error, "dashed", colour=0),
            Series("one standard error above", steps, mean + error, "dashed", colour=0),
            Series(default, ends, np.full(len(ends), training.reference), "line", colour=colour),
        ),
    )
