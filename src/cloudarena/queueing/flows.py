"""Flows through a chain in which requests that find no room are lost.

Each step of the walk (see ``routing.Steps``) sends on what its tier accepts:

    flow[k] = [k = 0] rate + sum over steps l of flow[l] accepted(tier of l) matrix[l, k]

and a tier accepts the less the more comes to it, over all its steps. On a random walk, where a
tier is one step, the solution is unique: what a tier sends on rises with its flow, but never by
more than that, so the difference of two solutions d satisfies ``|d| <= |d| matrix``, and since
all requests leave in the end, d = 0. By depth, where those on the way in take room from those on
the way out, we have no such proof; Newton's method has found a solution in every case tried.

The flows are those of an approximation: arrivals at a tier are taken for a Poisson process,
though losses and finite room upstream make them a little more regular.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.errors import CloudarenaError
from cloudarena.queueing.networks import traffic
from cloudarena.queueing.routing import steps

ACCURACY = 1e-13
"""The accuracy of what comes to a step, relative to the largest flow."""
MOST_ROUNDS = 200
SHORTEST_STEP = 1e-9


class Acceptance(NamedTuple):
    """What tiers accept of the flows that come to them, with the axes (..., tier)."""

    share: Floats
    fall: Floats
    """The fall of the share when the logarithm of the flow rises."""


def flows_with_losses(
    forward: Floats, routing: str, rate: Floats, accept: Callable[[Floats], Acceptance]
) -> Floats:
    """The flow to each tier, with the axes of ``rate`` and one of tiers.

    Newton's method for all configurations at once, from flows without loss; a step that does not
    bring a configuration nearer is shortened.
    """
    walk = steps(forward, routing)
    of_tier = (walk.tier[:, None] == np.arange(len(forward) + 1)).astype(np.float64)
    same_tier = of_tier @ of_tier.T
    identity = np.eye(len(walk.tier))
    # All is relative to the rate: flows are visits.
    entering = identity[0]
    highest = np.broadcast_to(traffic(entering, walk.matrix), (*rate.shape, len(walk.tier)))

    def miss(flow: Floats) -> tuple[Floats, Floats, Floats]:
        at_tier = flow @ of_tier
        share, fall = accept(rate[..., None] * at_tier)
        share, fall = share[..., walk.tier], fall[..., walk.tier]
        # A request more at a step is sent on like the others, and takes room from all of its tier.
        part = np.divide(flow, at_tier[..., walk.tier], out=np.zeros_like(flow), where=flow > 0.0)
        slope = identity * share[..., None] - same_tier * (part * fall)[..., None]
        error = flow - entering - (share * flow) @ walk.matrix
        return error, np.abs(error).max(axis=-1), identity - walk.matrix.T @ slope

    flow = highest
    error, distance, jacobian = miss(flow)
    length = np.ones_like(distance)
    for _ in range(MOST_ROUNDS):
        is_done = (distance <= ACCURACY * flow.max(axis=-1)) | (length < SHORTEST_STEP)
        if is_done.all():
            break
        direction = np.linalg.solve(jacobian, error[..., None])[..., 0]
        trial = np.clip(flow - length[..., None] * direction, 0.0, highest)
        new_error, new_distance, new_jacobian = miss(trial)
        nearer = new_distance < distance
        flow = np.where(nearer[..., None], trial, flow)
        error = np.where(nearer[..., None], new_error, error)
        jacobian = np.where(nearer[..., None, None], new_jacobian, jacobian)
        distance = np.where(nearer, new_distance, distance)
        length = np.where(nearer, np.minimum(1.0, 2.0 * length), 0.25 * length)
    if (distance > 1e4 * ACCURACY * flow.max(axis=-1)).any():
        raise CloudarenaError("flows with losses: no solution was found for these rates and rooms")
    return rate[..., None] * (flow @ of_tier)
