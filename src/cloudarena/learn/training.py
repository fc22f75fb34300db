"""What came of a training: the policy, its learning curve, and the comparison on unseen work."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.results import SPEC, Contents, number_or_null
from cloudarena.base.statistics import Estimate, differences
from cloudarena.contract import Metric, Saved
from cloudarena.contract.learned import Learned
from cloudarena.experiments.comparison import Comparison, Verdict
from cloudarena.experiments.pairs import holm, is_small, paired_test
from cloudarena.learn.explain import Importance
from cloudarena.version import __version__

NAME = "learned"
"""What the learned policy is called in its own comparison."""
CURVE = "curve"
IMPORTANCE = "importance"


class Duel(NamedTuple):
    """The learned policy against a heuristic."""

    against: str
    difference: Estimate
    """What the learned policy has more, pair by pair, with the interval it was tested at."""
    verdict: Verdict


@dataclass(frozen=True, eq=False)
class Training(Saved):
    """A learned policy, how it was learned, and how it does on work that it never saw."""

    stored_as: ClassVar[str] = "training"
    page: ClassVar[str] = "cloudarena.report.pages.training"

    comparison: Comparison
    learned: Learned
    curve: Floats
    """Rows of steps, what was earned on average, and the standard error of that."""
    reference: float
    """What the kind's default policy earns on the work of the curve."""
    importance: list[Importance]
    choice: Mapping[str, Any] | None = None
    """How the finalists were told apart; None if there was one."""
    version: str = field(default=__version__)

    @property
    def reward(self) -> Metric:
        """The metric that was learned to earn, the first if there are several."""
        return self.comparison.scenario.kind.metric[self.learned.training["metric"]]

    @cached_property
    def duels(self) -> list[Duel]:
        """The policy against each heuristic, by its reward."""
        return duels_of(self.comparison, self.reward)

    @property
    def beaten(self) -> tuple[str, ...]:
        """The heuristics that the policy is surely better than by its reward."""
        return tuple(one.against for one in self.duels if one.verdict == "better")

    @property
    def not_beaten(self) -> tuple[str, ...]:
        """The heuristics that it is not surely better than."""
        return tuple(one.against for one in self.duels if one.verdict != "better")

    @property
    def serves_less(self) -> bool:
        """Whether it leaves more of the work undone than another, or may do so."""
        comparison = self.comparison
        return NAME in (*comparison.out_of_the_running, *comparison.perhaps_less_served)

    @property
    def wins(self) -> bool:
        """Whether it is better than all, and does not serve less than another."""
        return not self.not_beaten and not self.serves_less

    def sentences(self) -> list[str]:
        """What came out, in words; the first is the answer."""
        comparison, reward = self.comparison, self.reward.name
        runs = f"on {comparison.replications} runs that it never saw"
        less = " But it leaves, or may leave, more of the work undone than another: that is no win."
        if not self.not_beaten:
            answer = f"The learned policy beats every heuristic in {reward} {runs}."
        elif self.beaten:
            rest = _few(self.not_beaten)
            answer = f"The learned policy beats some heuristics in {reward} {runs}, but not {rest}."
        else:
            answer = (
                f"The learned policy is not surely better in {reward} than any heuristic {runs}."
            )
        if self.serves_less:
            answer += less
        return [answer, *self._nearest()]

    def _nearest(self) -> list[str]:
        """How far it is from the heuristic with the best mean."""
        comparison, reward = self.comparison, self.reward
        sign = 1.0 if reward.better == "higher" else -1.0
        known = [one for one in self.duels if not math.isnan(one.difference.mean)]
        if not known:
            return []
        best = min(known, key=lambda one: sign * one.difference.mean)
        mean = comparison.estimate(best.against, reward.name).mean
        difference = best.difference
        return [
            f"The best of them is {best.against} with {mean:,.6g}: the learned policy has "
            f"{difference.mean:+,.4g} ({difference.low:+,.4g} to {difference.high:+,.4g})."
        ]

    def summary(self) -> dict[str, Any]:
        """All figures as plain values for JSON."""
        return {
            "result": self.stored_as,
            "tables": [CURVE, IMPORTANCE, *self.comparison.summary()["tables"]],
            "version": self.version,
            "wins": self.wins,
            "beaten": list(self.beaten),
            "not_beaten": list(self.not_beaten),
            "training": dict(self.learned.training),
            "results": dict(self.learned.results),
            "reference": number_or_null(self.reference),
            "choice": None if self.choice is None else dict(self.choice),
            "policy": {
                name: getattr(self.learned, name)
                for name in ("kind", "decides", "version", "most", "activation")
            }
            | {
                name: list(getattr(self.learned, name))
                for name in ("features", "context", "hidden")
            },
            "comparison": self.comparison.summary(),
        }

    def contents(self) -> Contents:
        """The figures, the curve, what decides, and all of the comparison."""
        import pyarrow as pa

        inner = self.comparison.contents()
        weights = io.BytesIO()
        np.savez(weights, allow_pickle=False, weights=self.learned.weights)
        steps, mean, error = self.curve.T
        tables = {
            CURVE: pa.table({"steps": steps.astype(np.int64), "mean": mean, "error": error}),
            IMPORTANCE: pa.table(
                {
                    name: [getattr(one, name) for one in self.importance]
                    for name in Importance._fields
                }
            ),
        }
        return Contents(
            self.summary(),
            {**tables, **inner.tables},
            {SPEC: inner.texts[SPEC]},
            weights.getvalue(),
        )

    @classmethod
    def restore(cls, contents: Contents) -> Self:
        """The training whose contents these are."""
        said = contents.summary
        curve, table = contents.tables[CURVE], contents.tables[IMPORTANCE]
        own = (CURVE, IMPORTANCE)
        inner = replace(
            contents,
            summary=said["comparison"],
            tables={name: one for name, one in contents.tables.items() if name not in own},
            state=b"",
        )
        with np.load(io.BytesIO(contents.state), allow_pickle=False) as arrays:
            weights = np.array(arrays["weights"])
        plain: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in said["policy"].items()
        }
        return cls(
            Comparison.restore(inner),
            Learned(weights=weights, training=said["training"], results=said["results"], **plain),
            np.column_stack([np.asarray(column, np.float64) for column in curve.columns]),
            float("nan") if said["reference"] is None else said["reference"],
            [Importance(**row) for row in table.to_pylist()],
            said["choice"],
            said["version"],
        )

    def save(self, folder: str | Path) -> Path:
        """Writes the policy, so that ``learned:FOLDER`` is it, and the results with their page."""
        self.learned.save(folder)
        return super().save(folder)


def duels_of(comparison: Comparison, reward: Metric) -> list[Duel]:
    """The learned policy against each heuristic by one metric, tested together (Holm).

    The question is one metric and one policy against the others. All pairs in all metrics, which a
    comparison tests, would need many more runs for the same answer.
    """
    own, *others = (comparison.values[reward.name][k] for k in range(len(comparison.policies)))
    names = comparison.policies[1:]
    unsure = [
        bool(np.isnan(own).any() or np.isnan(row).any())
        or comparison.is_bounded(NAME, reward.name)
        or comparison.is_bounded(name, reward.name)
        for name, row in zip(names, others, strict=True)
    ]
    tests = [
        paired_test(differences(own, row))
        for row, skip in zip(others, unsure, strict=True)
        if not skip
    ]
    outcome = iter(zip(tests, *holm([one.p for one in tests], [1.0] * len(tests)), strict=True))
    found = []
    for name, skip in zip(names, unsure, strict=True):
        if skip:
            found.append(Duel(name, Estimate(math.nan, math.nan, math.nan), ""))
            continue
        test, is_sure, level = next(outcome)
        is_better = (test.mean > 0) == (reward.better == "higher")
        difference = test.interval(level)
        means = [comparison.estimate(one, reward.name).mean for one in (NAME, name)]
        verdict: Verdict = "no difference" if is_small(difference, *means) else "not told apart"
        if is_sure:
            verdict = "better" if is_better else "worse"
        found.append(Duel(name, difference, verdict))
    return found


def learned_results(comparison: Comparison, reward: str) -> dict[str, Any]:
    """What a learned policy reached, as plain values for its file."""
    metric = comparison.scenario.kind.metric[reward]
    mean, low, high = comparison.estimate(NAME, reward)
    return {
        "reward": reward,
        "better": metric.better,
        "seeds": [comparison.seed, comparison.seed + comparison.replications - 1],
        "mean": number_or_null(mean),
        "low": number_or_null(low),
        "high": number_or_null(high),
        "against": {
            one.against: {
                "difference": number_or_null(one.difference.mean),
                "low": number_or_null(one.difference.low),
                "high": number_or_null(one.difference.high),
                "verdict": one.verdict,
            }
            for one in duels_of(comparison, metric)
        },
    }


def _few(names: tuple[str, ...]) -> str:
    """Some names in a sentence."""
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
