"""LOS, layered ordinal optimisation: a rough look at all designs, then a proper one at the best.

It is far easier to tell which designs are better than by how much: the order of noisy means
settles exponentially fast, their values only as 1 / sqrt(n). So (Ho, Zhao and Jia, "Ordinal
optimization", 2007; chapter 4 of the thesis):

1. evaluate all designs with few replications;
2. sort them into non-dominated layers;
3. select so many that they hold at least k good designs with the wanted probability: all that
   cannot be dropped surely (``ordinal/screening.py``), by a table, or as many as are asked for;
4. evaluate these properly, with new replications, so that their estimates are not those that made
   them look good (``ordinal/second_stage.py``);
5. choose one of their front.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast, get_args

import numpy as np
from pydantic import Field, PlainValidator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_whole
from cloudarena.base.errors import SpecError, nearest
from cloudarena.base.statistics import front_of
from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.budget.moments import moments_of, own_squares, skewness_of
from cloudarena.optimizers.methods.method import Budget, FinalChoice, LayersClaim, method
from cloudarena.optimizers.ordinal.alignment import Alignment
from cloudarena.optimizers.ordinal.claims import check_claim, check_front, good_words
from cloudarena.optimizers.ordinal.final_rules import FinalRule, choose, orders, resolved
from cloudarena.optimizers.ordinal.order_curve import LOUD, Look, look_at
from cloudarena.optimizers.ordinal.screening import drop_levels
from cloudarena.optimizers.ordinal.second_stage import second_stage
from cloudarena.optimizers.ordinal.selection_table import layers_to_select
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection, select

Size = Literal["screening", "table"]

MOST_KEPT = 2**26
"""Values of a rough look, all of which are kept in memory."""
LEAST_EACH = 8
"""New replications of a selected design, on average: with fewer the second look tells nothing."""
LEVELS = 100
"""Probabilities for which it is said how many designs would have to be selected."""


def _read_size(size: Any) -> Size | int:
    """A word, or a number, which may come as text from the command line."""
    if size in get_args(Size):
        return cast("Size", size)
    try:
        return check_whole("size", int(size) if isinstance(size, str) else size, 1)
    except (SpecError, ValueError):
        raise PydanticCustomError(
            "not_allowed",
            f"{size!r} is not allowed: screening, table, or a whole number, at least 1."
            + nearest(str(size), get_args(Size)),
        ) from None


class LosOptions(Budget, LayersClaim, FinalChoice):
    """The options of LOS.

    With too few evaluations selected designs get fewer replications, the more the longer they are
    ahead, and fewer are selected if there are not 8 for each; if they are enough for the first look
    only, the choice is by that.
    """

    rough: int = Field(10, ge=2)
    """Replications of each design at the first look; with 2 none can be dropped surely."""
    replications: int = Field(1000, ge=2)
    """Replications of each selected design."""
    size: Annotated[Size | int, PlainValidator(_read_size)] = "screening"
    """How many designs are selected: by screening, by table, or a number."""


@method("los", LosOptions)
def los(problem: Problem, options: LosOptions, watcher: Watcher | None) -> Selection:
    """Layered ordinal optimisation: a rough look at all designs, a proper one at the best few."""
    rough, replications, evaluations = options.rough, options.replications, options.evaluations
    good_layers, at_least, confidence = options.good_layers, options.at_least, options.confidence
    size, seed = options.size, options.seed
    rule = resolved(options.final_rule, problem)
    margin = check_claim(problem, at_least, good_layers, options.within)
    if not isinstance(size, str):
        check_whole("size", size, 1, problem.size)
    if evaluations is not None and evaluations < problem.size * rough:
        raise SpecError(
            f"evaluations: {evaluations:,} are not enough: {rough} for each of "
            f"{problem.size:,} designs"
        )
    meter = Meter(problem, problem.size * (rough + replications // 100), evaluations, watcher)
    look, losses = rough_look(meter, rough)
    front = front_of(look.moments.mean)
    meter.best = int(front[choose(rule, look.moments.mean[front], seed)])
    check_front(losses, at_least, good_layers, confidence)

    level = drop_levels(losses, rule, at_least, good_layers, margin)
    skewness = skewness_of(losses)
    del losses
    selected = _selected(look, level, size, rule, at_least, good_layers, confidence)
    remark = _remark(look, len(selected), problem.size, rough, replications)
    left = None if evaluations is None else evaluations - meter.spent
    if left is not None and left < 2:
        means = look.moments.at(selected)
        remark = (
            "No evaluations are left for a second look: the objectives are those of the first, "
            f"which flatters the selected. {remark}".strip()
        )
        found = None
    else:
        each = max(rough, LEAST_EACH) if size == "screening" else rough
        affordable = len(selected) if left is None else max(1, left // each)
        if len(selected) > affordable:
            remark = (
                f"{len(selected):,} designs would have to be selected; the evaluations are enough "
                f"for {affordable:,}. {remark}".strip()
            )
            selected = _first(look, level, affordable, rule)
        found = second_stage(
            meter, selected, look.moments.at(selected), rough, replications, left, rule
        )
        means = found.losses
    rounds = None
    if found is not None and len(found.rounds) > 1:
        rounds = np.full((1 + len(found.rounds), problem.size), rough, np.int64)
        rounds[1:, selected] += found.rounds
    dropped = np.delete(level, selected)
    # What was dropped may be surer still, but more than was asked for is not claimed.
    claim = min(confidence, 1.0 - float(dropped.max(initial=0.0)))
    return select(
        problem,
        "los",
        selected,
        means,
        evaluations=meter.spent,
        alignment=Alignment(claim, at_least, good_words(problem, good_layers, margin)),
        confidence=confidence,
        compared=problem.size if found is None else len(selected),
        all_losses=look.moments,
        skewness=skewness,
        errors=None if found is None else found.errors,
        final_rule=rule,
        front=None if found is None else found.front,
        finalists=None if found is None else found.finalists,
        seed=seed,
        omega=str(look.omega),
        noise=look.noise,
        look=look,
        needed=needed_by_level(level),
        rounds=rounds,
        remark=remark,
    )


def rough_look(meter: Meter, replications: int) -> tuple[Look, Floats]:
    """Evaluates all designs roughly: what they look like, and all their losses."""
    problem = meter.problem
    designs = problem.all_designs()
    most = MOST_KEPT // (replications * len(problem.objectives))
    if problem.size > most:
        raise SpecError(
            f"designs: {problem.size:,} are too many for a first look of {replications} "
            f"replications: at most {most:,}; take a sample of them"
        )
    losses: Floats = meter.evaluate(designs, range(replications))
    moments = moments_of(losses)
    if not problem.common_random_numbers:
        return look_at(moments), losses
    own = own_squares(losses - moments.mean[:, None, :])
    return look_at(moments, moments._replace(squares=own)), losses


def needed_by_level(level: Floats) -> Ints:
    """How many designs must be selected for each of ``LEVELS`` probabilities, ascending."""
    probabilities = np.arange(1, LEVELS + 1) / (LEVELS + 1)
    return len(level) - np.searchsorted(np.sort(level), 1.0 - probabilities, side="right")


def _selected(
    look: Look,
    level: Floats,
    size: Size | int,
    rule: FinalRule,
    at_least: int,
    good_layers: int,
    confidence: float,
) -> Ints:
    if size == "screening":
        kept = np.flatnonzero(level > 1.0 - confidence)
        # People look at the front too.
        return np.union1d(kept, np.flatnonzero(look.layer == 0))
    if size == "table":
        layers = int(look.layer.max()) + 1
        count = layers_to_select(
            look.omega.shape, look.noise, len(level), layers, at_least, good_layers
        )
        return np.flatnonzero(look.layer < count)
    return _first(look, level, int(size), rule)


def _first(look: Look, level: Floats, count: int, rule: FinalRule) -> Ints:
    """So many designs: those that are dropped last, and of equals the first by the final rule."""
    by_rule = orders(rule, look.moments.mean)
    place = np.argsort(by_rule[0]) if by_rule else look.layer
    return np.sort(np.lexsort((place, -level))[:count])


def _remark(look: Look, selected: int, designs: int, rough: int, replications: int) -> str:
    cost, whole = designs * rough + selected * replications, designs * replications
    if selected == designs > 1:
        return f"{rough} replications of each are too few to drop any design surely."
    if cost >= whole:
        return (
            f"LOS does not help here: so much noise ({look.noise:.2g}) leaves {selected:,} designs "
            f"to select, {cost:,} evaluations in all; Monte Carlo needs {whole:,}."
        )
    if look.noise >= LOUD:
        return f"The noise ({look.noise:.2g}) is too large to order the designs well."
    return ""
