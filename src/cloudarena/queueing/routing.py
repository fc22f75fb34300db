"""How requests walk along a chain of tiers, and how often they come to each.

A request enters tier 1 and goes on from tier j to j + 1 with probability ``forward[j]``. By
``depth`` it turns back at most once, at its depth, and passes the tiers above a second time on
its way out; by ``random_walk`` it decides again at each visit between one tier on and one back. It
leaves from tier 1. The thesis mixes the two: its flows (3.3, 3.8, 3.9) are those of a random
walk, its response time (3.16) that of depths.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_not_negative, check_share
from cloudarena.base.errors import SpecError, check_choice
from cloudarena.queueing.networks import traffic

ROUTINGS = ("depth", "random_walk")


class Steps(NamedTuple):
    """A walk as a Markov chain. By depth a tier has a step on the way in and one on the way out.

    Requests begin at step 0, and leave where a row of ``matrix`` sums to less than 1.
    """

    tier: Ints
    """The tier of each step."""
    matrix: Floats
    """The probability of going from a step to another."""


def check_forward(forward: ArrayLike, routing: str) -> Floats:
    """The probabilities of going on, of all tiers but the last."""
    check_choice("routing", routing, ROUTINGS)
    probabilities = check_share("forward", forward)
    if probabilities.ndim != 1:
        raise SpecError(
            f"forward: the shape {probabilities.shape} is not allowed: "
            "a probability for each tier but the last"
        )
    if routing == "random_walk" and (probabilities >= 1.0).any():
        tier = int(np.argmax(probabilities))
        raise SpecError(
            f"forward[{tier}]: 1 is not allowed: less than 1 on a random walk, "
            "or no request would ever leave"
        )
    return probabilities


def reach(forward: ArrayLike) -> Floats:
    """The share of requests that come to each tier: ``Q[j] = forward[1] * ... * forward[j-1]``.

    By depth; the thesis (3.18) calls these P.
    """
    probabilities = check_forward(forward, "depth")
    return np.concatenate(([1.0], np.cumprod(probabilities)))


def visits(forward: ArrayLike, routing: str = "depth") -> Floats:
    """The mean number of times that a request comes to each tier.

    By depth ``V[j] = Q[j] (1 + forward[j])``, with 0 for the last tier. On a random walk ``V[j] =
    [j = 1] + forward[j-1] V[j-1] + (1 - forward[j+1]) V[j+1]``.
    """
    probabilities = check_forward(forward, routing)
    walk = steps(probabilities, routing)
    times = traffic(np.eye(len(walk.tier))[0], walk.matrix)
    return np.bincount(walk.tier, times).astype(np.float64)


def forward_probabilities(depths: ArrayLike) -> Floats:
    """The probabilities of going on, from how many requests had each depth.

    ``forward[j] = sum over k > j of depths[k] / sum over k >= j of depths[k]``, conditional on
    having come to tier j; 0 where no request came. (The thesis, 3.18, divides by all requests.)
    """
    counts = check_not_negative("depths", depths)
    if counts.ndim != 1 or len(counts) == 0:
        raise SpecError(f"depths: the shape {counts.shape} is not allowed: a count for each tier")
    came = np.cumsum(counts[::-1])[::-1]
    return np.divide(came[1:], came[:-1], out=np.zeros(len(counts) - 1), where=came[:-1] > 0.0)


def steps(forward: Floats, routing: str) -> Steps:
    """The Markov chain of a walk, for arguments already checked."""
    tiers = len(forward) + 1
    onward = np.append(forward, 0.0)
    if routing == "random_walk":
        back = np.diag(1.0 - onward[1:], -1)
        return Steps(np.arange(tiers), np.diag(forward, 1) + back)
    matrix = np.zeros((2 * tiers - 1, 2 * tiers - 1))
    inward, outward = np.arange(tiers), tiers + np.arange(tiers - 1)
    matrix[inward[:-1], inward[1:]] = forward
    matrix[inward[1:], outward] = 1.0 - onward[1:]
    matrix[outward[1:], outward[:-1]] = 1.0
    return Steps(np.concatenate((inward, outward - tiers)), matrix)


def traverse(forward: Floats, routing: str, passage: NDArray[Any]) -> NDArray[Any]:
    """What a whole walk multiplies up to, where each visit to tier j multiplies ``passage[j]``.

    The last axis is that of tiers. With the Laplace transform of a visit's time as passage it is
    the transform of the response time; with the probability of finding room, that of finding it
    at every visit. With G[j] for a walk from the arrival at tier j until it leaves j upward: by
    depth ``G[j] = x (1 - P + P G[j+1] x)``, on a random walk ``G[j] = x (1 - P) / (1 - x P
    G[j+1])``, where x is tier j's passage and P its probability of going on.
    """
    whole = passage[..., -1]
    for tier in range(len(forward) - 1, -1, -1):
        visit, onward = passage[..., tier], forward[tier]
        if routing == "depth":
            whole = visit * (1.0 - onward + onward * whole * visit)
        else:
            whole = visit * (1.0 - onward) / (1.0 - visit * onward * whole)
    return whole
