"""LOS, layered ordinal optimisation: a screening stage over all, a second stage for the best.

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
from cloudarena.optimizers.budget.moments import independent_squares, moments_of, skewness_of
from cloudarena.optimizers.methods.method import Budget, FinalChoice, LayersClaim, method
from cloudarena.optimizers.ordinal.alignment import Alignment
from cloudarena.optimizers.ordinal.claims import check_claim, check_front, good_words
from cloudarena.optimizers.ordinal.final_rules import FinalRule, choose, orders, resolved
from cloudarena.optimizers.ordinal.layers import first_in_order
from cloudarena.optimizers.ordinal.order_curve import TOO_NOISY, Screening, screen
from cloudarena.optimizers.ordinal.screening import drop_levels
from cloudarena.optimizers.ordinal.second_stage import SecondStage, second_stage
from cloudarena.optimizers.ordinal.selection_table import layers_to_select
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection, select

Size = Literal["screening", "table"]

MOST_KEPT = 2**26
"""Values of a screening stage, all of which are kept in memory."""
LEAST_EACH = 8
"""New replications of a selected design, on average: with fewer the second stage tells nothing."""
NOTHING_LEFT = (
    "No evaluations are left for a second stage: the objectives are those of the first, "
    "which flatters the selected."
)
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
    ahead, and fewer are selected if there are not 8 for each; if they are enough for the screening
    stage only, the choice is by that.
    """

    rough: int = Field(10, ge=2)
    """Replications of each design at the screening stage; with 2 none can be dropped surely."""
    replications: int = Field(1000, ge=2)
    """Replications of each selected design."""
    size: Annotated[Size | int, PlainValidator(_read_size)] = "screening"
    """How many designs are selected: by screening, by table, or a number."""


@method("los", LosOptions)
def los(problem: Problem, options: LosOptions, watcher: Watcher | None) -> Selection:
    """Layered ordinal optimisation: screens all designs, then evaluates the best few properly."""
    rule = resolved(options.final_rule, problem)
    margin = check_claim(problem, options.at_least, options.good_layers, options.within)
    _check_budget(problem, options)
    expected = problem.size * (options.rough + options.replications // 100)
    meter = Meter(problem, expected, options.evaluations, watcher)

    screening, losses = screening_stage(meter, options.rough)
    front = front_of(screening.moments.mean)
    meter.best = int(front[choose(rule, screening.moments.mean[front], options.seed)])
    check_front(losses, options.at_least, options.good_layers, options.confidence)
    level = drop_levels(losses, rule, options.at_least, options.good_layers, margin)
    skewness = skewness_of(losses)
    del losses

    selected = _selected(screening, level, options, rule)
    remark = _remark(screening, len(selected), problem.size, options.rough, options.replications)
    left = None if options.evaluations is None else options.evaluations - meter.spent
    if left is not None and left < 2:
        found = None
        remark = f"{NOTHING_LEFT} {remark}".strip()
    else:
        selected, cut = _affordable(screening, level, selected, options, rule, left)
        remark = f"{cut} {remark}".strip()
        found = second_stage(
            meter,
            selected,
            screening.moments.at(selected),
            options.rough,
            options.replications,
            left,
            rule,
        )
    return select(
        problem,
        "los",
        selected,
        screening.moments.at(selected) if found is None else found.losses,
        evaluations=meter.spent,
        alignment=Alignment(
            _claim(level, selected, options.confidence),
            options.at_least,
            good_words(problem, options.good_layers, margin),
        ),
        confidence=options.confidence,
        compared=problem.size if found is None else len(selected),
        all_losses=screening.moments,
        skewness=skewness,
        errors=None if found is None else found.errors,
        final_rule=rule,
        front=None if found is None else found.front,
        finalists=None if found is None else found.finalists,
        seed=options.seed,
        omega=str(screening.omega),
        noise=screening.noise,
        screening=screening,
        needed=needed_by_level(level),
        rounds=None if found is None else _rounds(problem.size, options.rough, selected, found),
        remark=remark,
    )


def _check_budget(problem: Problem, options: LosOptions) -> None:
    """Raises if more designs are to be selected than there are, or not all can be screened."""
    if not isinstance(options.size, str):
        check_whole("size", options.size, 1, problem.size)
    if options.evaluations is not None and options.evaluations < problem.size * options.rough:
        raise SpecError(
            f"evaluations: {options.evaluations:,} are not enough: {options.rough} for each of "
            f"{problem.size:,} designs"
        )


def screening_stage(meter: Meter, replications: int) -> tuple[Screening, Floats]:
    """Evaluates all designs roughly: what they look like, and all their losses."""
    problem = meter.problem
    designs = problem.all_designs()
    most = MOST_KEPT // (replications * len(problem.objectives))
    if problem.size > most:
        raise SpecError(
            f"designs: {problem.size:,} are too many for a screening stage of {replications} "
            f"replications: at most {most:,}; take a sample of them"
        )
    losses: Floats = meter.evaluate(designs, range(replications))
    moments = moments_of(losses)
    if not problem.common_random_numbers:
        return screen(moments), losses
    own = independent_squares(losses - moments.mean[:, None, :])
    return screen(moments, moments._replace(squares=own)), losses


def needed_by_level(level: Floats) -> Ints:
    """How many designs must be selected for each of ``LEVELS`` probabilities, ascending."""
    probabilities = np.arange(1, LEVELS + 1) / (LEVELS + 1)
    return len(level) - np.searchsorted(np.sort(level), 1.0 - probabilities, side="right")


def _selected(screening: Screening, level: Floats, options: LosOptions, rule: FinalRule) -> Ints:
    """The designs that a second stage is due to."""
    if options.size == "screening":
        kept = np.flatnonzero(level > 1.0 - options.confidence)
        # People look at the front too.
        return np.union1d(kept, np.flatnonzero(screening.layer == 0))
    if options.size == "table":
        layers = int(screening.layer.max()) + 1
        count = layers_to_select(
            screening.omega.shape,
            screening.noise,
            len(level),
            layers,
            options.at_least,
            options.good_layers,
        )
        return np.flatnonzero(screening.layer < count)
    return _first(screening, level, int(options.size), rule)


def _affordable(
    screening: Screening,
    level: Floats,
    selected: Ints,
    options: LosOptions,
    rule: FinalRule,
    left: int | None,
) -> tuple[Ints, str]:
    """The selected that the evaluations are enough for, and what is said of the others."""
    each = max(options.rough, LEAST_EACH) if options.size == "screening" else options.rough
    count = len(selected) if left is None else max(1, left // each)
    if len(selected) <= count:
        return selected, ""
    return _first(screening, level, count, rule), (
        f"{len(selected):,} designs would have to be selected; the evaluations are enough "
        f"for {count:,}."
    )


def _first(screening: Screening, level: Floats, count: int, rule: FinalRule) -> Ints:
    """Designs to begin with: those that are dropped last, and the front from end to end.

    First come, if they are not more than half, the best by each order of the final rule: the knee
    is measured between the ends of the front. Then those that are dropped last. Of equals, which
    are all designs where the screening was too short to drop any, half are the first by the rule,
    and half the first layers, spread over their length.
    """
    losses = screening.moments.mean
    by_rule = orders(rule, losses)
    chosen = np.unique([order[0] for order in by_rule[: count // 2]]).astype(np.int64)
    others = np.setdiff1d(np.arange(len(level)), chosen)
    room = count - len(chosen)
    last = np.sort(level[others])[::-1][: room + 1].min(initial=np.inf)
    surely = others[level[others] > last]
    equals = others[level[others] == last]
    room -= len(surely)
    ranked = by_rule[0][np.isin(by_rule[0], equals)][: room // 2] if by_rule else equals[:0]
    equals = np.setdiff1d(equals, ranked)
    along = equals[first_in_order(losses[equals], room - len(ranked), screening.layer[equals])]
    return np.sort(np.concatenate([chosen, surely, ranked, along]))


def _claim(level: Floats, selected: Ints, confidence: float) -> float:
    """The probability that is claimed of the selected.

    What was dropped may be surer still, but more than was asked for is not claimed.
    """
    return min(confidence, 1.0 - float(np.delete(level, selected).max(initial=0.0)))


def _rounds(designs: int, rough: int, selected: Ints, found: SecondStage) -> Ints | None:
    """The replications of each design after screening and after each round, if several."""
    if len(found.rounds) < 2:
        return None
    rounds = np.full((1 + len(found.rounds), designs), rough, np.int64)
    rounds[1:, selected] += found.rounds
    return rounds


def _remark(
    screening: Screening, selected: int, designs: int, rough: int, replications: int
) -> str:
    cost, whole = designs * rough + selected * replications, designs * replications
    if selected == designs > 1:
        return f"{rough} replications of each are too few to drop any design surely."
    if cost >= whole:
        return (
            f"LOS does not help here: so much noise ({screening.noise:.2g}) "
            f"leaves {selected:,} designs "
            f"to select, {cost:,} evaluations in all; Monte Carlo needs {whole:,}."
        )
    if screening.noise >= TOO_NOISY:
        return f"The noise ({screening.noise:.2g}) is too large to order the designs well."
    return ""
