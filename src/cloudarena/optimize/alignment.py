"""How surely a selected set holds good designs, judged from noisy means by redrawing the truth.

A rough look gives each design a mean x with a sampling error e. What the true losses may be is
drawn again and again: the means are drawn towards their centre by the share b of their variance
that is not noise, and the noise is put back,

    truth = centre + b (x - centre) + sqrt(b) e',        b = 1 - mean(se^2) / var(x)

which has the variance of the truth and its correlation with x: the posterior under a normal prior
whose parameters are estimated (empirical Bayes). In each draw the good designs are the first g
layers of the drawn truth, and the actual order of the designs tells how many must be taken to
have k of them.

- Layers do not change if an objective is transformed monotonically, so an objective is taken on
  the scale, linear or logarithmic, on which its standard errors are more alike.
- With common random numbers e' is a random mixture of the replications' deviations, the same for
  all designs (multiplier bootstrap): what the designs share does not blur their order.

To redraw observations around the shrunken means, as a plain parametric bootstrap would, promises
too much: on steep problems with little noise a claimed 0.95 came true in 0.85 of the runs; with
this one the share was at least 0.95 in all cases that were tried (``docs/optimize.md``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cloudarena.optimize.checks import Floats, Ints
from cloudarena.optimize.final_rules import orders
from cloudarena.optimize.layers import front_of, layers_of, up_to_layer
from cloudarena.optimize.moments import Moments, moments_of, own_squares

DRAWS = 100
"""Of the truth, unless the confidence asks for more."""
LEAST_SHARE = 1e-9
"""Of the variance of the means that is not noise."""


class Belief(NamedTuple):
    """What the true losses may be, on scales that keep their order."""

    centre: Floats  # (designs, objectives)
    error: Floats  # (designs, objectives): its standard deviation, if designs err independently
    deviations: Floats | None  # (replications, designs, objectives), if they err together
    signs: Floats  # (objectives,): of the losses, where their logarithms are meant; else 0

    def draw(self, count: int, rng: np.random.Generator) -> Iterator[Floats]:
        """True losses of all designs, as they may be, so many times."""
        if self.deviations is None:
            for _ in range(count):
                yield self.centre + self.error * rng.standard_normal(self.centre.shape)
            return
        for weights in rng.standard_normal((count, len(self.deviations))):
            # Not a matrix product: that may round equal designs differently, and so part them.
            mixture = weights[0] * self.deviations[0]
            for weight, deviation in zip(weights[1:], self.deviations[1:], strict=True):
                mixture += weight * deviation
            yield self.centre + mixture

    def in_units(self, drawn: Floats) -> Floats:
        """Losses in their own units, of drawn ones."""
        is_logarithm = self.signs != 0.0
        return np.where(is_logarithm, self.signs * np.exp(self.signs * is_logarithm * drawn), drawn)


class Alignment(NamedTuple):
    """A claim: among the selected are at least so many good designs, with this probability."""

    probability: float
    """NaN if the method claims nothing."""
    at_least: int
    good: str
    """Which designs count as good."""
    exactly: bool = False
    """Whether the selected are these designs and no others."""

    def __str__(self) -> str:
        if math.isnan(self.probability):
            return "no claim"
        if self.exactly:
            return f"{self.good} with probability {self.probability:.3g}"
        return f"at least {self.at_least} of {self.good} with probability {self.probability:.3g}"


def belief_from_values(losses: Floats, common: bool) -> Belief:
    """From all losses of a rough look, an array of (designs, replications, objectives).

    Args:
        losses: of all designs in the same replications.
        common: whether replication r is the same randomness for all designs.
    """
    moments = moments_of(losses)
    if not common:
        return belief_from_moments(moments)
    replications = losses.shape[1]
    mean, slope, signs = _even_scale(moments)
    deviations = (losses - moments.mean[:, None, :]) * slope[:, None, :]
    variance = own_squares(deviations).mean(axis=0) / (replications - 1) / replications
    centre, share = _drawn_together(mean, variance)
    weights = np.sqrt(share / (replications * (replications - 1)))
    mixed = np.ascontiguousarray((deviations * weights).transpose(1, 0, 2))
    return Belief(centre, np.zeros(centre.shape), mixed, signs)


def belief_from_moments(moments: Moments) -> Belief:
    """From means and variances alone, as if designs erred independently.

    With common random numbers this overrates the noise, so what follows from it is on the safe
    side.
    """
    mean, slope, signs = _even_scale(moments)
    error = moments.standard_error * slope
    centre, share = _drawn_together(mean, (error * error).mean(axis=0))
    return Belief(centre, error * np.sqrt(share), None, signs)


def good_sets(belief: Belief, layers: int, draws: int, rng: np.random.Generator) -> list[Ints]:
    """For each draw of the truth, the designs in its first ``layers`` layers."""
    if layers == 1:
        return [front_of(truth) for truth in belief.draw(draws, rng)]
    return [np.flatnonzero(layers_of(truth, layers) < layers) for truth in belief.draw(draws, rng)]


def draws_for(confidence: float) -> int:
    """How many draws of the truth a confidence needs."""
    return max(DRAWS, math.ceil(confidence / (1.0 - confidence)))


def rivals_of_choice(
    belief: Belief,
    means: Floats,
    rule: str,
    draws: int,
    confidence: float,
    rng: np.random.Generator,
) -> Ints:
    """The designs that a final rule may take, as surely: the first by each of its orders.

    Args:
        belief: what the true losses may be.
        means: the losses that were seen.
        rule: the final rule.
        draws: of the truth.
        confidence: how surely the first design of each true order shall be among them.
        rng: of the draws.
    """
    seen = orders(rule, means)
    if not seen:
        return np.empty(0, np.int64)
    places = np.array([np.argsort(order) for order in seen])
    needed = np.empty((draws, len(seen)), np.int64)
    for number, truth in enumerate(belief.draw(draws, rng)):
        front = front_of(truth)  # holds the first of each order
        firsts = [front[order[0]] for order in orders(rule, belief.in_units(truth[front]))]
        needed[number] = places[np.arange(len(seen)), firsts] + 1
    counts = np.sort(needed, axis=0)[_quantile(draws, confidence)]
    return np.unique(np.concatenate([order[:n] for order, n in zip(seen, counts, strict=True)]))


def needed_by_draw(layer: Ints, goods: list[Ints], at_least: int) -> Ints:
    """For each draw, how many designs, in order of their layers, hold ``at_least`` good ones.

    Where a draw has fewer good designs than that, all of them are wanted. Ascending.
    """
    before = up_to_layer(layer)
    return np.sort(
        [
            np.partition(before[good], min(at_least, len(good)) - 1)[min(at_least, len(good)) - 1]
            for good in goods
        ]
    )


def needed_designs(layer: Ints, goods: list[Ints], at_least: int, confidence: float) -> int:
    """How many designs, in order of their layers, hold ``at_least`` good ones so surely."""
    return int(needed_by_draw(layer, goods, at_least)[_quantile(len(goods), confidence)])


def alignment_probability(selected: Ints, designs: int, goods: list[Ints], at_least: int) -> float:
    """The share of the draws, with one more that fails, in which enough good ones are selected."""
    is_selected = np.zeros(designs, np.bool_)
    is_selected[selected] = True
    enough = sum(
        int(np.count_nonzero(is_selected[good]) >= min(at_least, len(good))) for good in goods
    )
    return enough / (len(goods) + 1)


def _quantile(draws: int, confidence: float) -> int:
    """The place, among so many ascending values, of one that a further draw does not exceed."""
    return min(math.ceil(confidence * (draws + 1)), draws) - 1


def _even_scale(moments: Moments) -> tuple[Floats, Floats, Floats]:
    """The means on the scales on which errors are more alike, the slopes of the scales, the signs.

    The sign of an objective is that of its losses if its scale is logarithmic, and else 0.
    """
    mean, error = moments.mean.copy(), moments.standard_error
    slope, signs = np.ones(mean.shape), np.zeros(mean.shape[1])
    for objective in range(mean.shape[1]):
        values, errors = mean[:, objective], error[:, objective]
        # Maximised objectives come as negative losses: their sizes have a logarithm as well.
        one_sign = (values > 0.0).all() or (values < 0.0).all()
        if not one_sign or not errors.any():
            continue
        relative = errors / np.abs(values)
        if relative.std() / relative.mean() < errors.std() / errors.mean():
            slope[:, objective] = 1.0 / np.abs(values)
            signs[objective] = np.sign(values[0])
            mean[:, objective] = signs[objective] * np.log(np.abs(values))
    return mean, slope, signs


def _drawn_together(mean: Floats, noise_variance: Floats) -> tuple[Floats, Floats]:
    """The means drawn towards their centre, and the share of their variance that is not noise."""
    variance = mean.var(axis=0)
    centre = mean.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(noise_variance > 0.0, 1.0 - noise_variance / variance, 1.0)
    # If all seems to be noise, the truth is drawn as if it had nothing to do with what was seen:
    # on however small a scale, only its order counts.
    share = np.clip(share, LEAST_SHARE, 1.0)
    return centre + share * (mean - centre), share
