"""NSGA-II, the usual genetic algorithm for several objectives, by pymoo. For comparison.

It takes means over a few replications for the truth, and claims nothing about what it finds. It
needs the extra ``opt``: ``pip install 'cloudarena[opt]'``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.base.statistics import front_of
from cloudarena.engine.streams import stream
from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.budget.moments import Moments, moments_of
from cloudarena.optimizers.methods.method import Claim, FinalChoice, FixedBudget, method
from cloudarena.optimizers.ordinal.alignment import no_claim
from cloudarena.optimizers.ordinal.final_rules import choose, resolved
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection, select

PATIENCE = 20
"""Generations without a new design after which the search ends."""


class Nsga2Options(FixedBudget, Claim, FinalChoice):
    """The options of NSGA-II; a design is evaluated once, however often it comes up."""

    replications: int = Field(10, ge=2)
    """Replications of each design that comes up."""
    population: int = Field(100, ge=2)
    """How many designs a generation has."""


@method("nsga2", Nsga2Options, searches=True)
def nsga2(problem: Problem, options: Nsga2Options, watcher: Watcher | None) -> Selection:
    """The usual genetic algorithm for several objectives, by pymoo; claims nothing."""
    evaluations, replications = options.evaluations, options.replications
    confidence, population, seed = options.confidence, options.population, options.seed
    rule = resolved(options.final_rule, problem)
    if evaluations < replications:
        raise SpecError(f"evaluations: {evaluations:,} are not enough: {replications} for a design")
    meter = Meter(problem, evaluations, evaluations, watcher)
    found = _Archive()
    algorithm, tell = _algorithm(problem, population, seed)
    idle = 0
    while idle < PATIENCE and evaluations - meter.spent >= replications:
        infills = algorithm.ask()
        if infills is None:
            break  # crossing and mutation find no design that is not in the population
        genes = np.rint(infills.get("X")).astype(np.int64)
        designs = problem.encoding.decode(genes).tolist()
        new = [design for design in dict.fromkeys(designs) if design not in found.means]
        idle = 0 if new else idle + 1
        new = new[: (evaluations - meter.spent) // replications]
        if new:
            found.add(new, moments_of(meter.evaluate(np.array(new), range(replications))))
        # What can no longer be evaluated counts as bad.
        tell(infills, np.array([found.means.get(design, found.worst) for design in designs]))
        if watcher is not None:
            numbers, moments = found.front()
            meter.best = int(numbers[choose(rule, moments.mean, seed)])
    numbers, moments = found.front()
    return select(
        problem,
        "nsga2",
        numbers,
        moments,
        evaluations=meter.spent,
        alignment=no_claim("it does not look at all designs"),
        confidence=confidence,
        compared=len(found.means),
        all_losses=found.all_moments(),
        final_rule=rule,
        seed=seed,
    )


class _Archive:
    """All designs that were evaluated."""

    def __init__(self) -> None:
        self.means: dict[int, Floats] = {}
        self.worst: Floats | None = None
        self._parts: list[Moments] = []

    def add(self, designs: list[int], losses: Moments) -> None:
        self.means |= zip(designs, losses.mean, strict=True)
        worst = losses.mean.max(axis=0)
        self.worst = worst if self.worst is None else np.maximum(worst, self.worst)
        self._parts.append(losses)

    def all_moments(self) -> Moments:
        """The moments of all designs that were evaluated."""
        return Moments(*(np.concatenate(part) for part in zip(*self._parts, strict=True)))

    def front(self) -> tuple[Ints, Moments]:
        """The designs that no other dominates, ascending, and their moments."""
        numbers, moments = np.array(list(self.means), np.int64), self.all_moments()
        front = front_of(moments.mean)
        front = front[np.argsort(numbers[front])]
        return numbers[front], moments.at(front)


def _algorithm(problem: Problem, population: int, seed: int) -> tuple[Any, Any]:
    """The algorithm of pymoo, and a function that tells it the losses it asked for."""
    try:
        from pymoo.algorithms.moo.nsga2 import NSGA2
        from pymoo.core.evaluator import Evaluator
        from pymoo.core.problem import Problem as PymooProblem
        from pymoo.operators.crossover.sbx import SBX
        from pymoo.operators.mutation.pm import PM
        from pymoo.operators.repair.rounding import RoundingRepair
        from pymoo.operators.sampling.rnd import IntegerRandomSampling
        from pymoo.problems.static import StaticProblem
    except ImportError:
        raise CloudarenaError(
            "nsga2: needs pymoo, which is not installed: pip install 'cloudarena[opt]'"
        ) from None
    levels = problem.encoding.levels
    space = PymooProblem(
        n_var=len(levels),
        n_obj=len(problem.objectives),
        xl=np.zeros(len(levels)),
        xu=np.array(levels) - 1.0,
        vtype=int,
    )
    algorithm = NSGA2(
        pop_size=population,
        sampling=IntegerRandomSampling(),
        crossover=SBX(vtype=float, repair=RoundingRepair()),
        mutation=PM(vtype=float, repair=RoundingRepair()),
        eliminate_duplicates=True,
    )
    number = int(stream(seed, "nsga2").integers(2**31))
    algorithm.setup(space, termination=("n_gen", 10**9), seed=number, verbose=False)

    def tell(infills: Any, losses: Floats) -> None:
        Evaluator().eval(StaticProblem(space, F=losses), infills)
        algorithm.tell(infills=infills)

    return algorithm, tell
