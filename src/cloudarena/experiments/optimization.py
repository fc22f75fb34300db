"""What was chosen among the designs of a study, and what can be said of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from cloudarena.base.arrays import Ints
from cloudarena.base.records import pack, unpack
from cloudarena.base.results import SPEC, Contents, needed
from cloudarena.contract import Result, Saved, Scenario
from cloudarena.experiments.designs import design_text
from cloudarena.experiments.simulate import simulate
from cloudarena.experiments.study import LoadedStudy, study_from_yaml
from cloudarena.optimizers import Problem, Selection
from cloudarena.optimizers.ordinal.alignment import NOTHING
from cloudarena.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa


class Selections(NamedTuple):
    """The outcomes of the methods, as they are kept in a file."""

    selection: Selection
    others: tuple[Selection, ...]


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
    version: str = __version__
    """The version of cloudarena that ran it."""

    @cached_property
    def winner(self) -> Any:
        """The chosen design."""
        return self.problem.design(self.selection.best)

    @cached_property
    def winning_scenario(self) -> Scenario:
        """The scenario as the chosen design has it, its policy included."""
        return self.study.winner(self.winner)

    @cached_property
    def winning_run(self) -> Result:
        """Replication 0 of the winner, with its tables."""
        return simulate(self.winning_scenario, seed=self.seed)

    @property
    def monte_carlo_evaluations(self) -> int:
        """What Monte Carlo needs to know every design as well as the chosen one is known."""
        place = int(np.flatnonzero(self.selection.estimates.designs == self.selection.best)[0])
        return self.selection.designs * int(self.selection.estimates.replications[place])

    @property
    def saving(self) -> float:
        """How many times as many evaluations Monte Carlo needs for that."""
        return self.monte_carlo_evaluations / self.selection.evaluations

    def designs(self, selection: Selection, numbers: Ints) -> list[dict[str, Any]]:
        """Selected designs with their objectives, as plain values."""
        rows = []
        for number in numbers.tolist():
            place = int(np.flatnonzero(selection.estimates.designs == number)[0])
            design = self.problem.design(number)
            row: dict[str, Any] = {"design": number, "text": design_text(design)}
            row |= self.study.plain(design)
            row["objectives"] = selection.estimates.plain(place, selection.objectives)
            row["replications"] = int(selection.estimates.replications[place])
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
            "chosen": self.designs(self.selection, self.selection.chosen),
            "front": self.designs(self.selection, self.selection.front.designs),
            "monte_carlo_evaluations": self.monte_carlo_evaluations,
            "times_fewer_than_monte_carlo": self.saving,
            "conclusion": self.conclusion(),
            "compared": [
                {**other.summary(), "chosen": self.designs(other, other.chosen)}
                for other in self.others
            ]
            + [{"method": method, "error": why} for method, why in self.failures.items()],
            "tables": ["designs"],
        }

    def contents(self) -> Contents:
        """The figures, every design, the study, the winner's spec, and what the methods kept."""
        return Contents(
            self.summary(),
            {"designs": self.table()},
            {
                SPEC: self.study.to_yaml(self.selection.objectives),
                "winner.yaml": self.winning_scenario.to_yaml(absolute=True),
            },
            pack(Selections(self.selection, self.others)),
        )

    @classmethod
    def restore(cls, contents: Contents) -> Self:
        """The optimisation whose contents these are; nothing is simulated again."""
        said, asked = contents.summary, contents.summary["asked"]
        text = needed(contents, cls.stored_as, SPEC)
        study = study_from_yaml(text, said["scenario"], asked["set"])
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
            said["version"],
        )

    def table(self) -> pa.Table:
        """A row for each design that was evaluated: what it is, and its objectives.

        ``layer`` and the columns ``rough_...`` are of the first look. Those that were selected have
        means, the ends of their intervals, ``low_...`` and ``high_...``, and ``replications``.
        """
        import pyarrow as pa

        selection, look = self.selection, self.selection.look
        estimates = selection.estimates
        numbers = estimates.designs if look is None else np.arange(selection.designs)
        rows = np.searchsorted(numbers, estimates.designs)
        columns: dict[str, Any] = {
            "design": numbers,
            "text": [design_text(self.problem.design(number)) for number in numbers.tolist()],
            "selected": np.isin(numbers, selection.selected),
            "front": np.isin(numbers, selection.front.designs),
            "chosen": np.isin(numbers, selection.chosen),
            "replications": np.zeros(len(numbers), np.int64),
        }
        columns["replications"][rows] = estimates.replications
        if look is not None:
            columns["layer"] = look.layer + 1
        for k, objective in enumerate(selection.objectives):
            if look is not None:
                columns[f"rough_{objective.name}"] = look.moments.mean[:, k] * objective.sign
            for prefix, values in (
                ("", estimates.mean),
                ("low_", estimates.low),
                ("high_", estimates.high),
            ):
                column = np.full(len(numbers), np.nan)
                column[rows] = values[:, k]
                columns[f"{prefix}{objective.name}"] = pa.array(column, from_pandas=True)
        return pa.table(columns)

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
        words = [self.headline(), f"Claimed: {self.sure()}.", self.at_most()]
        return " ".join(word for word in (*words, self.trade()) if word)

    def sure(self) -> str:
        """What is claimed, and what that takes for granted."""
        alignment = self.selection.alignment
        if not alignment.says_something or alignment.assumes == NOTHING:
            return str(alignment)
        return f"{alignment}, if {alignment.assumes}"

    def at_most(self) -> str:
        """By how much another design may be better, in a sentence, if the method can tell."""
        selection = self.selection
        if selection.shortfall is None:
            return ""
        place = int(np.flatnonzero(selection.estimates.designs == selection.best)[0])
        size = abs(float(selection.estimates.mean[place, 0]))
        share = f" ({selection.shortfall / size:.2%} of its own)" if size > 0.0 else ""
        return (
            f"With probability {selection.confidence:g} no design is better by more than "
            f"{selection.shortfall:.3g}{share} in {selection.objectives[0].name}."
        )

    def trade(self) -> str:
        """What the chosen design has of each objective, and what the front has, in a sentence."""
        selection = self.selection
        if len(selection.objectives) == 1 or len(selection.front.designs) < 2:
            return ""
        place = int(np.flatnonzero(selection.estimates.designs == selection.best)[0])
        parts = []
        for k, objective in enumerate(selection.objectives):
            means = selection.front.mean[:, k] * objective.sign
            best, worst = (means.min() * objective.sign, means.max() * objective.sign)
            parts.append(
                f"{objective.name} {_digits(selection.estimates.mean[place, k])} "
                f"(on the front from {_digits(best)}, the best, to {_digits(worst)})"
            )
        return f"It trades one objective for another: {', '.join(parts)}."

    def cost(self) -> str:
        """One sentence: what it cost, and what Monte Carlo would have."""
        spent = f"{self.selection.evaluations:,} evaluations"
        needed = f"{self.monte_carlo_evaluations:,}"
        if self.selection.method == "monte-carlo":
            return f"It took {spent}, the same for every design."
        if self.saving <= 1.0:
            return f"It took {spent}; Monte Carlo needs {needed} to know all designs as well."
        return (
            f"It took {spent}; to know every design as well as this one, Monte Carlo needs "
            f"{needed}: {self.saving:.3g} times as many. How sure the choice is says only the "
            "claim."
        )


def _digits(value: float) -> str:
    """Four digits, or all before the point: ``0.1234``, ``170,832``."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
