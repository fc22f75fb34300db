"""Final rules: how one design is chosen of a front."""

from __future__ import annotations

from typing import Literal, cast, get_args

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import check_choice
from cloudarena.base.statistics import front_of
from cloudarena.engine.streams import stream
from cloudarena.optimizers.problem import Problem

FinalRule = Literal["first_objective", "max_throughput", "knee", "random"]
FINAL_RULES: tuple[FinalRule, ...] = get_args(FinalRule)
"""``max_throughput`` is the thesis's name for the first objective being the makespan."""


def resolved(rule: str | None, problem: Problem) -> FinalRule:
    """The rule that is asked for, or the usual one: a compromise, if there are several objectives.

    The best by the first of several objectives may be the worst by all others.
    """
    if rule is None:
        return "first_objective" if len(problem.objectives) == 1 else "knee"
    check_choice("final_rule", rule, FINAL_RULES)
    return cast("FinalRule", rule)


def choose(rule: str, losses: Floats, seed: int = 0) -> int:
    """The index of the design to take, among those of a front.

    ``first_objective`` takes the best by the first objective, equals by the next; ``knee`` the
    one with the least sum of losses, each stretched to [0, 1] over the front, which for two
    objectives is the farthest from the line between the front's ends; ``random`` any.
    """
    check_choice("final_rule", rule, FINAL_RULES)
    if rule == "random":
        return int(stream(seed, "final rule").integers(len(losses)))
    return int(orders(rule, losses)[0][0])


def orders(rule: str, losses: Floats) -> list[Ints]:
    """The orders by which a rule compares designs, best first.

    The first order is that in which it takes them. It never puts a design before one that
    dominates it, so what it takes is on the front. The knee lies between the best designs by each
    objective, so it depends on these orders as well. The rule ``random`` has none.
    """
    if rule == "random":
        return []
    if rule != "knee" or losses.shape[1] == 1:
        return [_by_objective(losses, 0)]
    scores = knee_scores(losses, losses[front_of(losses)])
    ends = [_by_objective(losses, objective) for objective in range(losses.shape[1])]
    return [np.argsort(scores, kind="stable"), *ends]


def knee_scores(losses: Floats, front: Floats) -> Floats:
    """Sums of losses, each stretched so that it goes from 0 to 1 over a front.

    The knee of the front has the least. It is linear in the losses, so the mean of the scores of
    replications is the score of the means.

    Args:
        losses: objectives along the last axis.
        front: losses on the front, an array of (designs, objectives).
    """
    span = np.ptp(front, axis=0)
    return np.asarray(((losses - front.min(axis=0)) / np.where(span > 0.0, span, 1.0)).sum(axis=-1))


def _by_objective(losses: Floats, objective: int) -> Ints:
    """Best first by one objective, equals by the next, and so on round."""
    return np.lexsort(np.roll(losses, -objective, axis=1).T[::-1])
