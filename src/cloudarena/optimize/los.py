"""LOS, layered ordinal optimisation: a rough look at all designs, then a proper one at the best.

It is far easier to tell which designs are better than by how much: the order of noisy means
settles exponentially fast, their values only as 1 / sqrt(n). So (Ho, Zhao and Jia, "Ordinal
optimization", 2007; chapter 4 of the thesis):

1. evaluate all designs with few replications;
2. sort them into non-dominated layers;
3. select the first layers, so many that they hold at least k good designs with the wanted
   probability: by redrawing the truth (``alignment.py``), by a table, or as many as are asked for;
4. evaluate these properly, with new replications, so that their estimates are not those that made
   them look good (``second_look.py``);
5. choose one of their front.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from cloudarena.engine.streams import stream
from cloudarena.errors import SpecError, check_choice
from cloudarena.optimize.alignment import (
    Alignment,
    Belief,
    alignment_probability,
    belief_from_moments,
    belief_from_values,
    draws_for,
    good_sets,
    needed_by_draw,
    needed_designs,
    rivals_of_choice,
)
from cloudarena.optimize.checks import Floats, Ints, check_probability, check_whole
from cloudarena.optimize.final_rules import FINAL_RULES, FinalRule, choose
from cloudarena.optimize.layers import first_in_order, front_of, whole_layers
from cloudarena.optimize.meter import Meter, Watcher
from cloudarena.optimize.moments import moments_of, own_squares
from cloudarena.optimize.order import LOUD, Look, look_at
from cloudarena.optimize.problem import Problem
from cloudarena.optimize.second_look import second_look
from cloudarena.optimize.selection import Selection, select
from cloudarena.optimize.selection_table import layers_to_select

Size = Literal["bootstrap", "table"]

MOST_KEPT = 2**26
"""Values of a rough look that are kept in memory, to see what designs have in common."""


def los(
    problem: Problem,
    *,
    rough: int = 10,
    replications: int = 1000,
    good_layers: int = 1,
    at_least: int = 1,
    confidence: float = 0.95,
    size: Size | int = "bootstrap",
    evaluations: int | None = None,
    final_rule: FinalRule = "first_objective",
    seed: int = 0,
    watcher: Watcher | None = None,
) -> Selection:
    """Chooses by layered ordinal optimisation.

    Args:
        problem: what is optimised.
        rough: replications of each design at the first look.
        replications: of each selected design.
        good_layers: how many of the first true layers count as good.
        at_least: how many good designs shall be among the selected.
        confidence: with which probability; also the level of the intervals.
        size: how many designs are selected: by ``bootstrap``, by ``table``, or a number.
        evaluations: at most so many in all: fewer replications, the more for a design the longer
            it is ahead, and if need be fewer designs; if they are enough for the first look only,
            the choice is by that.
        final_rule: how one of the front is chosen.
        seed: of the draws behind the claim, and of the final rule.
        watcher: is called with the progress.
    """
    designs = problem.all_designs()
    check_whole("rough", rough, 2, why="one tells nothing of the noise")
    check_whole("replications", replications, 2)
    check_whole("good_layers", good_layers, 1)
    check_whole("at_least", at_least, 1, problem.size)
    check_probability("confidence", confidence)
    check_choice("final_rule", final_rule, FINAL_RULES)
    _check_size(size, problem.size)
    if evaluations is not None and evaluations < problem.size * rough:
        raise SpecError(
            f"evaluations: {evaluations:,} are not enough: {rough} for each of "
            f"{problem.size:,} designs"
        )
    meter = Meter(problem, problem.size * (rough + replications // 100), evaluations, watcher)
    look, belief = rough_look(meter, designs, rough)
    front = front_of(look.moments.mean)
    meter.best = int(front[choose(final_rule, look.moments.mean[front], seed)])

    goods = good_sets(belief, good_layers, draws_for(confidence), stream(seed, "alignment"))
    if size == "bootstrap":
        wanted = needed_designs(look.layer, goods, at_least, confidence)
        selected = whole_layers(look.layer, wanted)
    elif size == "table":
        layers = int(look.layer.max()) + 1
        count = layers_to_select(
            look.omega.shape, look.noise, problem.size, layers, at_least, good_layers
        )
        selected = np.flatnonzero(look.layer < count)
    else:
        selected = first_in_order(look.moments.mean, size, look.layer)

    remark = _remark(look, len(selected), problem.size, rough, replications)
    if size == "bootstrap" and evaluations is not None:
        # In rounds they cost little, and without them the choice could be among the wrong ones.
        rivals = rivals_of_choice(
            belief,
            look.moments.mean,
            final_rule,
            draws_for(confidence),
            confidence,
            stream(seed, "alignment"),
        )
        selected = np.union1d(selected, rivals)
    left = None if evaluations is None else evaluations - meter.spent
    in_front, finalists, rounds = None, None, None
    if left is not None and left < 2:
        losses = look.moments.at(selected)
        remark = (
            "No evaluations are left for a second look: the objectives are those of the first, "
            f"which flatters the selected. {remark}".strip()
        )
    else:
        affordable = len(selected) if left is None else max(1, left // rough)
        if len(selected) > affordable:
            remark = (
                f"{len(selected):,} designs would have to be selected; the evaluations are enough "
                f"for {affordable:,}. {remark}".strip()
            )
            selected = first_in_order(look.moments.mean, affordable, look.layer)
        first = look.moments.at(selected)
        losses, in_front, finalists, given = second_look(
            meter, selected, first, rough, replications, left, final_rule
        )
        if len(given) > 1:
            rounds = np.full((1 + len(given), problem.size), rough, np.int64)
            rounds[1:, selected] += given
    claim = alignment_probability(selected, problem.size, goods, at_least)
    return select(
        problem,
        "los",
        selected,
        losses,
        evaluations=meter.spent,
        # The draws may say more, but more than was asked for has not been tested as a claim.
        alignment=Alignment(min(claim, confidence), at_least, good_words(good_layers)),
        confidence=confidence,
        final_rule=final_rule,
        front=in_front,
        finalists=finalists,
        seed=seed,
        omega=str(look.omega),
        noise=look.noise,
        look=look,
        needed=needed_by_draw(look.layer, goods, at_least),
        rounds=rounds,
        remark=remark,
    )


def rough_look(meter: Meter, designs: Ints, replications: int) -> tuple[Look, Belief]:
    """Evaluates all designs roughly; what they look like, and what their truth may be."""
    problem = meter.problem
    values = len(designs) * replications * len(problem.objectives)
    if problem.common_random_numbers and values <= MOST_KEPT:
        losses: Floats = meter.evaluate(designs, range(replications))
        moments = moments_of(losses)
        own = own_squares(losses - moments.mean[:, None, :])
        look = look_at(moments, moments._replace(squares=own))
        return look, belief_from_values(losses, common=True)
    moments = meter.estimate(designs, range(replications))
    return look_at(moments), belief_from_moments(moments)


def good_words(layers: int) -> str:
    """Which designs are good, for people."""
    return "the true front" if layers == 1 else f"the first {layers} true layers"


def _check_size(size: Size | int, designs: int) -> None:
    if isinstance(size, str):
        check_choice("size", size, ("bootstrap", "table"))
    else:
        check_whole("size", size, 1, designs)


def _remark(look: Look, selected: int, designs: int, rough: int, replications: int) -> str:
    cost, whole = designs * rough + selected * replications, designs * replications
    if cost >= whole:
        return (
            f"LOS does not help here: so much noise ({look.noise:.2g}) leaves {selected:,} designs "
            f"to select, {cost:,} evaluations in all; Monte Carlo needs {whole:,}."
        )
    if look.noise >= LOUD:
        return f"The noise ({look.noise:.2g}) is too large to order the designs well."
    return ""
