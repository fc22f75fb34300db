"""Claims about the good designs: whether they can come true, and how they are said."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.checks import check_whole
from cloudarena.base.errors import SpecError
from cloudarena.optimizers.ordinal.screening import front_levels
from cloudarena.optimizers.ordinal.within import GoodEnough, Within, read_within
from cloudarena.optimizers.problem import Problem


def check_claim(problem: Problem, at_least: int, good_layers: int, within: GoodEnough) -> Within:
    """Raises for claims that cannot come true, as far as that is known before; the margin."""
    check_whole("at_least", at_least, 1, problem.size)
    if len(problem.objectives) == 1 and at_least > good_layers:
        raise SpecError(
            f"at_least: {at_least:,} is not allowed: by one objective there "
            + ("is one best design" if good_layers == 1 else f"are {good_layers:,} good designs")
        )
    margin = read_within(within, len(problem.objectives))
    if margin.is_open and at_least > 1:
        raise SpecError(
            f"within: {within!r} is not allowed with at_least {at_least:,}: only for one design"
        )
    return margin


def check_front(losses: Floats, at_least: int, good_layers: int, confidence: float) -> None:
    """Raises if more designs are wanted than the first true layers can have, as a look tells.

    Of G designs that are truly there, at most ``level G`` are dropped at some level on average, so
    with probability ``confidence`` no more than ``level G / (1 - confidence)`` (Markov), and G is
    at most what is kept and these.
    """
    if at_least == 1 or losses.shape[2] == 1:
        return
    level = (1.0 - confidence) / 4.0
    kept = np.count_nonzero(front_levels(losses, good_layers) > level)
    if at_least > (most := min(len(losses), int(kept / 0.75))):
        raise SpecError(
            f"at_least: {at_least:,} is not allowed: the screening stage shows that "
            f"{layer_words(good_layers)} has at most {most:,} designs"
        )


def layer_words(layers: int) -> str:
    """The first true layers, for people."""
    return "the true front" if layers == 1 else f"the union of the first {layers} true layers"


def good_words(problem: Problem, layers: int = 1, within: Within | None = None) -> str:
    """Which designs are good, for people."""
    margin = within or Within()
    if len(problem.objectives) > 1:
        if margin.is_open:
            return f"the designs that none beats in every objective by more than {margin}"
        return layer_words(layers)
    name = problem.objectives[0].name
    if margin.is_open:
        return f"the designs within {margin} of the best by {name}"
    return f"the best design by {name}" if layers == 1 else f"the best {layers:,} designs by {name}"


def chosen_words(problem: Problem, layers: int = 1, within: Within | None = None) -> str:
    """What is claimed of a chosen design, for people."""
    if len(problem.objectives) > 1:
        return f"one of {good_words(problem, layers, within)}"
    if within is not None and within.is_open:
        return f"a design within {within} of the best by {problem.objectives[0].name}"
    return good_words(problem)
