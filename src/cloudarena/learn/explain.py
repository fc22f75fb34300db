"""Which features decide: the weights of a learned policy, and what becomes of its choices without.

Permutation importance after Breiman, "Random forests", 2001: a feature's values are shuffled among
the candidates of each decision (those of the context among decisions), and what counts is the share
of decisions in which another candidate is chosen then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.base.errors import SpecError
from cloudarena.contract import Policy, Scenario
from cloudarena.contract.learned import LearnedPolicy
from cloudarena.engine.scoring import Shape
from cloudarena.engine.streams import stream
from cloudarena.learn.clouds import Cloud, Taught, cloud_of
from cloudarena.learn.decisions import Decisions
from cloudarena.learn.network import Array, Network
from cloudarena.policies import policy_name

DECISIONS = 2000
"""The number of decisions at which a policy is looked at."""


class Importance(NamedTuple):
    """What a feature does to the choices of a policy."""

    feature: str
    of: str
    """``candidate`` or ``decision``."""
    weight: float
    """The weight in a linear score; in a network, the length of its weights in the first layer."""
    changed: float
    """The share of decisions that come out otherwise when it is shuffled."""


def explain(
    cloud: Cloud, shape: Shape, weights: Array, seed: int, decisions: int = DECISIONS
) -> list[Importance]:
    """The features of a policy, the most important first, on decisions that it meets itself."""
    policy = cloud.policy(shape, weights)
    lesson = Taught(cloud, policy)(seed, decisions)
    network = Network(shape, np.asarray(weights, np.float32))
    rng = stream(seed, "explain")
    found = []
    before = network.best(lesson.decisions)
    matrix = network.layers[0][0]
    names = [(one.name, "candidate") for one in cloud.candidates.features]
    names += [(one.name, "decision") for one in cloud.candidates.context]
    for place, (name, of) in enumerate(names):
        shuffled = _shuffled(lesson.decisions, place, shape.features, rng)
        changed = float((network.best(shuffled) != before).mean()) if len(before) else 0.0
        row = matrix[place].astype(np.float64)
        weight = float(np.sqrt((row**2).sum())) if shape.hidden else float(row[0])
        found.append(Importance(name, of, weight, changed))
    return sorted(found, key=lambda one: (-one.changed, -abs(one.weight)))


def explain_policy(scenario: Scenario, policy: str | Policy, seed: int) -> list[Importance]:
    """The features of a learned policy on a scenario; raises for any other policy."""
    found = scenario.kind.policies.resolve(policy)
    parts = (found, *getattr(found, "parts", {}).values())
    own = next((one for one in parts if isinstance(one, LearnedPolicy)), None)
    if own is None:
        raise SpecError(
            f"explain: {policy_name(policy)} is not allowed: a learned policy, learned:FOLDER"
        )
    learned = own.learned
    cloud = cloud_of(scenario, None, learned.decides, learned.most)
    return explain(cloud, learned.shape, learned.weights, seed)


def _shuffled(
    decisions: Decisions, place: int, features: int, rng: np.random.Generator
) -> Decisions:
    """The decisions with one feature shuffled; candidates that are not there stay out of it."""
    copy = decisions.copy()
    if place >= features:
        column = copy.context[:, place - features]
        copy.context[:, place - features] = column[rng.permutation(len(column))]
        return copy
    column = copy.features[:, :, place]
    keys = rng.random(column.shape)
    keys[np.arange(column.shape[1]) >= decisions.count[:, None]] = 2.0
    order = np.argsort(keys, axis=1)
    copy.features[:, :, place] = np.take_along_axis(column, order, axis=1)
    return copy
