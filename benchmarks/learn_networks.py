"""How fast networks of learned policies are: ``python -m benchmarks.learn_networks``.

Networks alone, without environments: decisions with 20 candidates of 12 features and a context of
4. CPU seconds of one thread (``time.process_time``), the best of several: what else runs on the
machine can only add to them. All code is compiled before the clock starts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cloudarena.engine import scoring
from cloudarena.engine.scoring import Shape
from cloudarena.learn.decisions import Decisions
from cloudarena.learn.network import Network, one_thread
from cloudarena.learn.ppo import Ppo, PpoOptions

CANDIDATES, FEATURES, CONTEXT = 20, 12, 4
ENVIRONMENTS, HORIZON = 64, 128
ROUNDS = 5
WANTED = 30_000
"""Samples a second that PPO should learn with hidden layers of 32."""


class Still:
    """Environments that cost nothing: the same decisions again and again."""

    def __init__(self, shape: Shape) -> None:
        rng = np.random.default_rng(0)
        features = rng.random((ENVIRONMENTS, CANDIDATES, shape.features), np.float32)
        context = rng.random((ENVIRONMENTS, shape.context), np.float32)
        self.decisions = Decisions(features, context, np.full(ENVIRONMENTS, CANDIDATES))
        self.rewards = rng.random(ENVIRONMENTS)
        self.ended = np.arange(ENVIRONMENTS) % 8 == 0

    def reset(self, seed: int) -> Decisions:
        return self.decisions

    def step(self, choices: Any) -> tuple[Decisions, Any, Any]:
        return self.decisions, self.rewards, self.ended


def best_seconds(call: Callable[[], Any]) -> float:
    """CPU seconds of a call, the best of several."""
    call()
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken)


def measure(hidden: tuple[int, ...], activation: str = "tanh") -> dict[str, float]:
    """Microseconds of a choice in a kernel, and decisions a second of forward passes and PPO."""
    shape = Shape(FEATURES, CONTEXT, hidden, activation)
    network = Network.drawn(shape, np.random.default_rng(0))
    still = Still(shape)
    packed = shape.packed(CANDIDATES, network.weights)
    features, context = still.decisions.features[0], still.decisions.context[0]
    chosen = best_seconds(lambda: _choose_many(packed, features, context, 10_000))
    scored = best_seconds(lambda: [network.scores(still.decisions) for _ in range(50)])
    options = PpoOptions(environments=ENVIRONMENTS, horizon=HORIZON)
    ppo = Ppo(shape, lambda part: Still(shape), 0, 10**9, options)
    return {
        "choice_us": chosen / 10_000 * 1e6,
        "scored_per_s": 50 * ENVIRONMENTS / scored,
        "ppo_samples_per_s": ENVIRONMENTS * HORIZON / best_seconds(ppo.iterate),
    }


@scoring.jit
def _choose_many(packed, features, context, count):  # type: ignore[no-untyped-def]
    total = 0
    for _ in range(count):
        total += scoring.choose(packed, features, context, len(features))
    return total


def main() -> None:
    """Prints a line for each network, and as JSON with ``--json``."""
    with one_thread():
        found = {
            f"{'x'.join(map(str, hidden)) or 'linear'} {activation}": measure(hidden, activation)
            for hidden, activation in (
                ((), "tanh"),
                ((16, 16), "tanh"),
                ((32, 32), "tanh"),
                ((32, 32), "relu"),
            )
        }
    if "--json" in sys.argv:
        print(json.dumps(found, indent=2))
        return
    print(f"{CANDIDATES} candidates, {FEATURES} features, context of {CONTEXT}; PPO with 4 epochs")
    for name, values in found.items():
        print(
            f"{name:12} choice in a kernel {values['choice_us']:5.2f} us, "
            f"scored {values['scored_per_s']:9,.0f}/s, "
            f"PPO {values['ppo_samples_per_s']:7,.0f} samples/s"
        )
    print(f"wanted: PPO {WANTED:,} samples/s with hidden layers of 32")


if __name__ == "__main__":
    main()
