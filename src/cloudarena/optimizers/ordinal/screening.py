"""Which designs may be dropped after a screening stage, with a guarantee that assumes no truth.

Screening after Nelson, Swann, Goldsman and Song ("Simple procedures for selecting the best
simulated system when the number of alternatives is large", Operations Research 49(6), 2001) keeps
every design that no other beats significantly, pair by pair, so that common random numbers help.
Any of the T - 1 others might drop the best one by chance, so each test has a (T - 1)-th of the
error: of 200 designs after 10 replications, those nearer than 5.3 standard errors all stay.

Here the first replications, the **pilot**, only say who is compared with: a few **controls**. The
others test every design against them, by Student's test of the differences. What a control is does
not depend on the replications that test, so the best design can be dropped by chance only by one of
these few, however many designs there are. No design is compared with its own luck.

- **One good design** (``at_least`` 1): the best by the final rule's score, the first objective or
  a sum of all, weighed by the front of the pilot. The least weighted sum is on the true front.
  Controls are the pilot's best by that score and the mean of its best four: the best design is
  truly not worse than either. With a margin (``within``) designs are dropped that are not better
  than a control by more than it, and controls stay: then one of these is good enough.
- **Several of the g best** by one objective: a design is dropped if it is worse than all of the
  pilot's best g, since at least one of these is not better than a design among the g best.
- **Several of the true front**: a design is dropped if one of a few of the pilot's front beats it
  in all objectives; on the true front nobody does. The first g layers: if it stands at the end of
  a chain of g designs each of which beats the next.

What is computed is the level at which each design is dropped, its p-value times the number of tests
by which one of the k wanted designs might be dropped by chance. Of k designs that are truly good,
whichever they are, all stay with probability ``confidence`` if those are dropped whose level is at
most ``1 - confidence``. Assumed are independent replications whose means are normal.
"""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.statistics import front_of
from cloudarena.optimizers.ordinal.layers import first_in_order, layers_of
from cloudarena.optimizers.ordinal.within import Within

PILOT_SHARE = 0.2
"""The share of the replications that choose controls; of 2 to 5 of 10, 2 or 3 keep the fewest."""
CONTROLS = (1, 4)
"""How many of the pilot's best are taken together as a control."""
COMPARED = 10
"""Designs of the pilot's front with which all are compared."""


def pilot_of(replications: int) -> int:
    """How many of the replications of a screening stage choose the controls."""
    return max(1, round(PILOT_SHARE * replications))


def drop_levels(
    losses: Floats, rule: str, at_least: int = 1, good_layers: int = 1, within: Within | None = None
) -> Floats:
    """The level at which each design is dropped, from 0 (surely not needed) to 1.

    Args:
        losses: of all designs, an array of (designs, replications, objectives).
        rule: the final rule, by whose score one good design is kept.
        at_least: how many good designs are wanted.
        good_layers: how many of the first true layers are good.
        within: what is good enough, if one design is wanted.
    """
    pilot, tests = _parted(losses)
    if tests.shape[1] < 2:
        return np.ones(len(losses))  # a single replication tells nothing of the noise
    if at_least == 1:
        return _for_one(pilot, tests, rule, within or Within())
    if losses.shape[2] == 1:
        return _for_several(pilot, tests, at_least, good_layers)
    return np.minimum(at_least * front_levels(losses, good_layers), 1.0)


def front_levels(losses: Floats, good_layers: int = 1) -> Floats:
    """Levels at which any design of the first true layers, by several objectives, is dropped."""
    pilot, tests = _parted(losses)
    if tests.shape[1] < 2:
        return np.ones(len(losses))
    chains = _chains(pilot, good_layers)
    level = np.ones(len(losses))
    for chain in chains:
        worse = _beaten(tests, tests[chain[0]])
        for better, next_one in zip(chain[1:], chain, strict=False):
            worse = np.maximum(worse, _beaten(tests[[next_one]], tests[better])[0])
        level = np.minimum(level, worse)
    return np.minimum(level * max(len(chains), 1), 1.0)


def _parted(losses: Floats) -> tuple[Floats, Floats]:
    """The means of the pilot, and the losses in the replications that test."""
    pilots = pilot_of(losses.shape[1])
    return losses[:, :pilots].mean(axis=1), losses[:, pilots:]


def score_weights(pilot: Floats, rule: str) -> Floats:
    """The weight of each objective in the score of a final rule.

    In the sum that is least at the knee each is stretched over the front.
    """
    objectives = pilot.shape[1]
    if objectives == 1 or rule in ("first_objective", "max_throughput"):
        return np.eye(objectives)[0]
    span = np.ptp(pilot[front_of(pilot)], axis=0)
    whole = np.ptp(pilot, axis=0)
    span = np.where(span > 0.0, span, np.where(whole > 0.0, whole, 1.0))
    return np.asarray(1.0 / span)


def _for_one(pilot: Floats, tests: Floats, rule: str, within: Within) -> Floats:
    weights = score_weights(pilot, rule)
    score, scores = pilot @ weights, tests @ weights
    order = np.argsort(score, kind="stable")
    # With a margin each objective of a design is raised by it before it is compared.
    factor = within.factor(pilot)[:, None, :]
    raised = (factor * tests) @ weights + within.amount * weights.sum()
    level = np.ones(len(pilot))
    for best in CONTROLS:
        control = scores[order[:best]].mean(axis=0)
        level = np.minimum(level, chance_not_worse(raised - control))
    level = np.minimum(level * len(CONTROLS), 1.0)
    # With a margin the best may be dropped for a control, which then has to stay.
    level[order[: max(CONTROLS) if within.is_open else 1]] = 1.0
    return level


def _for_several(pilot: Floats, tests: Floats, at_least: int, best: int) -> Floats:
    compared = np.argsort(pilot[:, 0], kind="stable")[:best]
    level = np.zeros(len(pilot))
    for control in compared:
        level = np.maximum(level, _beaten(tests, tests[control]))
    level = np.minimum(level * at_least, 1.0)
    level[compared] = 1.0
    return level


def _beaten(tests: Floats, control: Floats) -> Floats:
    """The p-value of each design: that the control does not dominate it.

    It does if it is better in every objective but those in which the two never differed.
    """
    level = np.zeros(len(tests))
    same = np.ones(len(tests), np.bool_)
    for objective in range(tests.shape[2]):
        differences = tests[:, :, objective] - control[:, objective]
        equal = ~differences.any(axis=1)
        level = np.maximum(level, np.where(equal, 0.0, chance_not_worse(differences)))
        same &= equal
    return np.where(same, 1.0, level)


def chance_not_worse(differences: Floats) -> Floats:
    """The p-value of ``mean <= 0`` over the replications, the last axis: small if it is above."""
    from scipy.special import stdtr

    replications = differences.shape[-1]
    mean = differences.mean(axis=-1)
    own = differences - mean[..., None]
    error = np.sqrt(np.einsum("...r,...r->...", own, own) / (replications * (replications - 1)))
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = stdtr(replications - 1.0, -mean / error)
    return np.asarray(np.where(error > 0.0, chance, np.where(mean > 0.0, 0.0, 1.0)))


def _chains(pilot: Floats, layers: int) -> list[Ints]:
    """Chains of designs that dominate each other, one of each of the first layers of the pilot.

    Each begins with a design of the layer ``layers - 1`` and goes up to the first; there is none if
    there are fewer layers.
    """
    layer = layers_of(pilot, layers)
    last = min(int(layer.max()), layers - 1)
    if last < layers - 1:
        return []
    ends = np.flatnonzero(layer == last)
    if len(ends) > COMPARED:
        ends = ends[first_in_order(pilot[ends], COMPARED, np.zeros(len(ends), np.int64))]
    span = np.ptp(pilot, axis=0)
    size = (pilot / np.where(span > 0.0, span, 1.0)).sum(axis=1)
    chains = []
    for end in ends.tolist():
        chain = [end]
        for above in range(last - 1, -1, -1):
            dominating = (pilot <= pilot[chain[-1]]).all(axis=1) & (layer == above)
            indices = np.flatnonzero(dominating)
            chain.append(int(indices[np.argmin(size[indices])]))
        chains.append(np.array(chain))
    return chains
