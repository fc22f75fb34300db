"""What was chosen among the designs of a study, and what can be said of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.html import html_table, number_text
from cloudarena.base.names import UNSERVED
from cloudarena.base.records import pack, unpack
from cloudarena.base.results import SPEC, Contents, needed
from cloudarena.base.statistics import Estimate
from cloudarena.contract import Result, Saved, Scenario
from cloudarena.contract.own_metrics import described, restored
from cloudarena.experiments.conclusion import plain_estimate, share_text, trace_text
from cloudarena.experiments.designs import design_text
from cloudarena.experiments.input_uncertainty import InputUncertainty
from cloudarena.experiments.limit_words import digits, kept_words
from cloudarena.experiments.macro import MacroComparison
from cloudarena.experiments.prices import is_unpriced, unpriced_text
from cloudarena.experiments.simulate import simulate
from cloudarena.experiments.study import LoadedStudy, study_from_yaml
from cloudarena.experiments.tried import Importance, Tried, importances
from cloudarena.optimizers import Problem, Selection
from cloudarena.optimizers.ordinal.alignment import NOTHING
from cloudarena.optimizers.risk import split_risk
from cloudarena.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

    from cloudarena.experiments.pictures import OptimizationPlots

SHOWN_DESIGNS = 10
"""Designs in the table of a notebook."""


class Selections(NamedTuple):
    """The outcomes of the methods, as they are kept in a file."""

    selection: Selection
    others: tuple[Selection, ...]
    macro: MacroComparison | None
    risk: RiskFigures | None
    inputs: InputUncertainty | None
    tried: Tried | None


class RiskFigures(NamedTuple):
    """Statistics of a design over all its runs, each with an interval."""

    runs: int
    batch: int
    """Runs of an evaluation."""
    names: tuple[str, ...]
    estimates: Floats  # (names, 3): the value, and the ends of its interval

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        figures = {
            name: plain_estimate(Estimate(*row))
            for name, row in zip(self.names, self.estimates.tolist(), strict=True)
        }
        return {"runs": self.runs, "runs_of_an_evaluation": self.batch, "figures": figures}

    def words(self, confidence: float) -> str:
        """Sentences with the figures, and what a claim is about."""
        parts = []
        for name, (value, low, high) in zip(self.names, self.estimates.tolist(), strict=True):
            ends = f"{_end(low, 'no least end')} to {_end(high, 'no end')}"
            statistic = split_risk(name)[1].words()
            parts.append(f"{name}, {statistic}, is {digits(value)} ({ends}, {confidence:g})")
        batches = (
            f" Methods compare, and claim, means over batches of {self.batch} runs."
            if self.batch > 1
            else ""
        )
        return f"Over all {self.runs:,} runs of the choice {'; '.join(parts)}.{batches}"


@dataclass(frozen=True, eq=False)
class Optimization(Saved):
    """What was chosen among the designs of a study, and what others would have chosen."""

    stored_as: ClassVar[str] = "optimization"
    page: ClassVar[str] = "cloudarena.report.pages.optimization"

    study: LoadedStudy
    problem: Problem
    selection: Selection
    others: tuple[Selection, ...]
    """The selections of methods that were to be compared, with as many evaluations."""
    failures: dict[str, str]
    """Methods that could not be compared, and why."""
    asked_method: str
    """What was asked for; ``auto`` may have become another."""
    evaluations: int
    """How many were allowed."""
    seed: int
    options: dict[str, Any]
    """The options of the methods that the user gave."""
    unserved: float = math.nan
    """The share of the work that the chosen design leaves undone in replication 0.

    It is NaN for closed-form models, which serve everything."""
    version: str = __version__
    """The version of cloudarena that ran it."""
    macro: MacroComparison | None = None
    """The methods over macro-replications, if they were asked for."""
    risk: RiskFigures | None = None
    """The statistics of the chosen design over all its runs, if they are more than means."""
    inputs: InputUncertainty | None = None
    """What of the variance of the chosen design comes from its trace, if that was asked."""
    tried: Tried | None = None
    """All designs that were evaluated, with their means."""
    repeated: int = 0
    """Evaluations that were not run, since all runs of a design on one trace are the same."""

    @cached_property
    def winner(self) -> Any:
        """The chosen design."""
        return self.problem.design(self.selection.best)

    @cached_property
    def winning_scenario(self) -> Scenario:
        """The scenario as the chosen design has it, its policy included."""
        return self.study.winner(self.winner)

    @property
    def sure_scenario(self) -> Scenario | None:
        """The scenario as the best design has it that surely keeps all limits, if there is one."""
        kept = self.selection.feasibility
        if kept is None or kept.sure is None:
            return None
        return self.study.winner(self.problem.design(kept.sure))

    @cached_property
    def winning_run(self) -> Result:
        """Replication 0 of the winner, with its tables."""
        return simulate(self.winning_scenario, seed=self.seed)

    @cached_property
    def importance(self) -> list[Importance]:
        """The keys of designs by how much of the first objective goes with them."""
        tried = self.tried
        if tried is None or not isinstance(self.winner, Mapping):
            return []
        sign = self.selection.objectives[0].sign
        designs = [self.problem.design(one) for one in tried.designs.tolist()]
        return importances(designs, sign * tried.means[:, 0])

    @property
    def monte_carlo_evaluations(self) -> int:
        """What Monte Carlo needs to know every design as well as the chosen one is known."""
        row = self.selection.row(self.selection.best)
        return self.selection.designs * int(self.selection.estimates.replications[row])

    @property
    def saving(self) -> float:
        """How many times as many evaluations Monte Carlo needs for that."""
        return self.monte_carlo_evaluations / self.selection.evaluations

    def designs(self, selection: Selection, indices: Ints) -> list[dict[str, Any]]:
        """Selected designs with their objectives, as plain values."""
        rows = []
        for index in indices.tolist():
            at = selection.row(index)
            design = self.problem.design(index)
            row: dict[str, Any] = {"design": index, "text": design_text(design)}
            row |= self.study.plain(design)
            row["objectives"] = selection.estimates.plain(at, selection.objectives)
            if selection.feasibility is not None:
                row["limits"] = selection.feasibility.plain(at)
            row["replications"] = int(selection.estimates.replications[at])
            rows.append(row)
        return rows

    def summary(self) -> dict[str, Any]:
        """All of it as plain values for JSON."""
        return {
            "result": self.stored_as,
            "version": self.version,
            "scenario": self.study.name,
            "kind": self.winning_scenario.kind.name,
            "seed": self.seed,
            "asked": {
                "method": self.asked_method,
                "evaluations": self.evaluations,
                "options": self.options,
                "set": self.study.overrides,
            },
            **self.selection.summary(),
            **({} if math.isnan(self.unserved) else {UNSERVED: self.unserved}),
            **({"risk": self.risk.plain()} if self.risk is not None else {}),
            **({} if self.inputs is None else {"input_uncertainty": self.inputs.plain()}),
            "chosen": self.designs(self.selection, self.selection.chosen),
            "front": self.designs(self.selection, self.selection.front.designs),
            **({"sampled_of": self.problem.sampled_of} if self.problem.sampled_of else {}),
            "monte_carlo_evaluations": self.monte_carlo_evaluations,
            "times_fewer_than_monte_carlo": self.saving,
            "evaluations_not_run": self.repeated,
            "conclusion": self.conclusion(),
            "compared": [
                {**other.summary(), "chosen": self.designs(other, other.chosen)}
                for other in self.others
            ]
            + [{"method": method, "error": why} for method, why in self.failures.items()],
            **({} if self.macro is None else {"macro": self.macro.plain(self.problem.columns)}),
            "importance": {one.key: one.share for one in self.importance},
            "tables": ["designs"],
            **described(self.winning_scenario.kind),
        }

    def contents(self) -> Contents:
        """The figures, every design, the study, the winner's spec, and what the methods kept."""
        specs = {
            SPEC: self.study.to_yaml(self.selection.objectives),
            "winner.yaml": self.winning_scenario.to_yaml(absolute=True),
        }
        if (sure := self.sure_scenario) is not None:
            specs["sure.yaml"] = sure.to_yaml(absolute=True)
        return Contents(
            self.summary(),
            {"designs": self.table()},
            specs,
            pack(
                Selections(
                    self.selection, self.others, self.macro, self.risk, self.inputs, self.tried
                )
            ),
        )

    @classmethod
    def restore(cls, contents: Contents) -> Self:
        """The optimisation whose contents these are; nothing is simulated again."""
        said, asked = contents.summary, contents.summary["asked"]
        text = needed(contents, cls.stored_as, SPEC)
        study = study_from_yaml(text, said["scenario"], asked["set"]).measuring(*restored(said))
        kept = unpack(Selections, contents.state)
        failures = {one["method"]: one["error"] for one in said["compared"] if "error" in one}
        return cls(
            study,
            study.problem(kept.selection.objectives, said["seed"]),
            kept.selection,
            kept.others,
            failures,
            asked["method"],
            asked["evaluations"],
            said["seed"],
            asked["options"],
            said.get(UNSERVED, math.nan),
            said["version"],
            kept.macro,
            kept.risk,
            kept.inputs,
            kept.tried,
            said.get("evaluations_not_run", 0),
        )

    def table(self) -> pa.Table:
        """A row for each design that was evaluated: what it is, and its objectives.

        ``layer`` and the columns ``rough_...`` are of the screening stage. Those that were selected
        have means, the ends of their intervals, ``low_...`` and ``high_...``, and ``replications``.
        """
        import pyarrow as pa

        selection, screening = self.selection, self.selection.screening
        estimates = selection.estimates
        indices = estimates.designs if screening is None else np.arange(selection.designs)
        rows = np.searchsorted(indices, estimates.designs)
        columns: dict[str, Any] = {
            "design": indices,
            "text": [design_text(self.problem.design(index)) for index in indices.tolist()],
            "selected": np.isin(indices, selection.selected),
            "front": np.isin(indices, selection.front.designs),
            "chosen": np.isin(indices, selection.chosen),
            "replications": np.zeros(len(indices), np.int64),
        }
        columns["replications"][rows] = estimates.replications
        if screening is not None:
            columns["layer"] = screening.layer + 1
        for k, objective in enumerate(selection.objectives):
            if screening is not None:
                columns[f"rough_{objective.name}"] = screening.moments.mean[:, k] * objective.sign
            for prefix, values in (
                ("", estimates.mean),
                ("low_", estimates.low),
                ("high_", estimates.high),
            ):
                column = np.full(len(indices), np.nan)
                column[rows] = values[:, k]
                columns[f"{prefix}{objective.name}"] = pa.array(column, from_pandas=True)
        return pa.table(columns)

    def __repr__(self) -> str:
        """What was searched, and what to take."""
        return f"<Optimization of {self.study.name}: {self.headline()}>"

    def _repr_html_(self) -> str:
        """A table of the designs that were chosen and those near them, for notebooks."""
        names = [one.name for one in self.selection.objectives]
        known = [row for row in self.table().to_pylist() if row[names[0]] is not None]
        sign = self.selection.objectives[0].sign
        known.sort(key=lambda row: (not row["chosen"], sign * row[names[0]]))
        rows = [
            [
                "★" if row["chosen"] else "",
                row["text"],
                *(number_text(row[name], _half_width(row, name)) for name in names),
            ]
            for row in known[:SHOWN_DESIGNS]
        ]
        return html_table(["", "design", *names], rows, self.conclusion())

    def to_pandas(self) -> Any:
        """A row for each design that was evaluated as a pandas DataFrame."""
        return self.table().to_pandas()

    @property
    def plot(self) -> OptimizationPlots:
        """Pictures of the designs: ``designs``, ``trade_off``."""
        from cloudarena.experiments.pictures import OptimizationPlots

        return OptimizationPlots(self)

    def headline(self) -> str:
        """What to take, and who says so."""
        selection = self.selection
        several = f" and {len(selection.chosen) - 1} more" if len(selection.chosen) > 1 else ""
        return (
            f"Take {design_text(self.winner)}{several}: the choice of {selection.method} among "
            f"{selection.designs:,} designs."
        )

    def conclusion(self) -> str:
        """What to take, what is claimed of it, and what was traded for what."""
        words = [self.headline(), self.limits(), *self.doubts()]
        words += [
            f"Claimed: {self.sure()}.",
            self.sampled(),
            self.at_most(),
            self.trade(),
            self.risks(),
            self.traces(),
        ]
        words += [] if self.inputs is None else [self.inputs.words()]
        return " ".join(word for word in words if word)

    def doubts(self) -> list[str]:
        """What a choice by numbers alone would not tell: work left undone, and no prices."""
        kind, selection = self.winning_scenario.kind, self.selection
        asked = [
            *(one.name for one in selection.objectives),
            *(one.metric for one in self.problem.limits),
        ]
        words = []
        if self.unserved > 0.0 and UNSERVED not in asked:
            share = share_text(self.unserved)
            words.append(f"It leaves {share} of {kind.unit_of_work} unserved in replication 0.")
        amounts = [selection.estimates.mean, selection.estimates.high]
        unpriced = [
            one.name
            for k, one in enumerate(selection.objectives)
            if all(is_unpriced(one.name, values[:, k]) for values in amounts)
        ]
        return [*words, *filter(None, [unpriced_text(kind, unpriced)])]

    def sure(self) -> str:
        """What is claimed, and what that takes for granted."""
        alignment = self.selection.alignment
        if not alignment.says_something or alignment.assumes == NOTHING:
            return str(alignment)
        return f"{alignment}, if {alignment.assumes}"

    def sampled(self) -> str:
        """Says that what is claimed is relative to a sample, if the designs are one."""
        whole = self.problem.sampled_of
        if whole is None:
            return ""
        return (
            f"The {self.problem.size:,} designs are a sample of {whole:,}: what is claimed is "
            "relative to the sample, and others may be better."
        )

    def limits(self) -> str:
        """How surely the chosen design keeps each limit, and which one surely keeps them all."""
        selection, kept = self.selection, self.selection.feasibility
        if kept is None:
            return ""
        row = selection.row(selection.best)
        level = f"{selection.confidence:g}"
        words = kept_words(kept, row, level)
        if kept.sure is None:
            return f"{words} No design is sure ({level}) to keep all limits."
        if kept.sure == selection.best:
            return (
                f"{words} No cheaper one was found that surely ({level}) does."
                if (selection.objectives[0].direction == "minimise")
                else f"{words} It surely ({level}) does."
            )
        name = selection.objectives[0].name
        mine, other = selection.estimates.mean[[row, selection.row(kept.sure)], 0]
        share = f", {abs(other - mine) / abs(mine):.2g} of it away" if mine else ""
        return (
            f"{words} The best that surely ({level}) keeps all limits is "
            f"{design_text(self.problem.design(kept.sure))}, with {name} {digits(other)} instead "
            f"of {digits(mine)}{share}."
        )

    def at_most(self) -> str:
        """Says by how much another design may be better, if the method can tell."""
        selection = self.selection
        if selection.shortfall is None:
            return ""
        row = selection.row(selection.best)
        size = abs(float(selection.estimates.mean[row, 0]))
        share = f" ({selection.shortfall / size:.2%} of its own)" if size > 0.0 else ""
        which = "design" if selection.visited is None else "finalist"
        return (
            f"With probability {selection.confidence:g} no {which} is better by more than "
            f"{selection.shortfall:.3g}{share} in {selection.objectives[0].name}."
        )

    def trade(self) -> str:
        """What the chosen design has of each objective, and what the front has, in a sentence."""
        selection = self.selection
        if len(selection.objectives) == 1 or len(selection.front.designs) < 2:
            return ""
        if selection.feasibility is not None:
            return f"The choice is by {selection.objectives[0].name} alone, the first objective."
        row = selection.row(selection.best)
        parts = []
        for k, objective in enumerate(selection.objectives):
            means = selection.front.mean[:, k] * objective.sign
            best, worst = (means.min() * objective.sign, means.max() * objective.sign)
            parts.append(
                f"{objective.name} {digits(selection.estimates.mean[row, k])} "
                f"(on the front from {digits(best)}, the best, to {digits(worst)})"
            )
        return f"It trades one objective for another: {', '.join(parts)}."

    def risks(self) -> str:
        """What quantiles, CVaR and probabilities of the chosen design are over all its runs."""
        if self.risk is None:
            return ""
        return self.risk.words(self.selection.confidence)

    def traces(self) -> str:
        """Says which traces what is claimed is about, where there is a recorded one."""
        return trace_text(self.winning_scenario, "what is claimed is")

    def cost(self) -> str:
        """One sentence: what it cost, and what Monte Carlo would have."""
        spent = f"{self.selection.evaluations:,} evaluations"
        if self.repeated > 0:
            return (
                f"Of {spent} {self.repeated:,} were not run: on this one trace all runs of a "
                "design are the same, as the second of each showed."
            )
        needed = f"{self.monte_carlo_evaluations:,}"
        if self.selection.visited is not None:
            return f"It took {spent}."
        if self.selection.method == "monte-carlo":
            return f"It took {spent}, the same for every design."
        if self.saving <= 1.0:
            return f"It took {spent}; Monte Carlo needs {needed} to know all designs as well."
        return (
            f"It took {spent}; to know every design as well as this one, Monte Carlo needs "
            f"{needed}: {self.saving:.3g} times as many. How sure the choice is says only the "
            "claim."
        )


def _end(value: float, words: str) -> str:
    """The end of an interval; so few runs may tell none."""
    return digits(value) if math.isfinite(value) else words


def _half_width(row: dict[str, Any], name: str) -> float:
    """Half of an interval of a row of the table; 0 where so few runs tell none."""
    low, high = row[f"low_{name}"], row[f"high_{name}"]
    return 0.0 if low is None or high is None else float(high - low) / 2
