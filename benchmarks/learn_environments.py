"""How fast single environments are: ``python -m benchmarks.learn_environments``.

Steps a CPU second through ``gymnasium.make`` and the plain API, as ratios to Gymnasium's CartPole
in the same process: the best of several rounds, each of CartPole and of all environments, so that
what else runs on the machine touches all alike. Resets are not counted. The choice is the first
candidate.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import gymnasium

import cloudarena  # noqa: F401 - registers the environments
from cloudarena.bench.environments import STEPS, steps_per_second
from cloudarena.scenarios import kinds

ROUNDS = 5

WANTED = {"vm": 0.35, "jobs": 0.35, "workflow": 0.2, "faas-place": 0.2, "faas-scale": 0.2}
"""The ratios that are asked for."""


def measure() -> dict[str, Any]:
    """The best rate of each environment, and its ratio to CartPole's."""
    rounds, steps = (2, 500) if "--quick" in sys.argv else (ROUNDS, STEPS)
    names = [name for kind in kinds().values() for name in kind.candidates]
    environments = {name: gymnasium.make(f"cloudarena/{name}-v0") for name in names}
    cart, best = gymnasium.make("CartPole-v1"), dict.fromkeys(["cartpole", *names], 0.0)
    for _ in range(rounds):
        best["cartpole"] = max(best["cartpole"], steps_per_second(cart, 1, 5 * steps))
        for name, env in environments.items():
            best[name] = max(best[name], steps_per_second(env, 0, steps))
    return {
        name: {"steps_per_s": round(rate), "ratio": round(rate / best["cartpole"], 3)}
        for name, rate in best.items()
    }


def main() -> None:
    """Prints the table, or one object with --json."""
    found = measure()
    if "--json" in sys.argv:
        print(json.dumps(found))
        return
    for name, row in found.items():
        wanted = f"  wanted {WANTED[name]}" if name in WANTED else ""
        print(f"{name:<12}{row['steps_per_s']:>10,} steps/s  {row['ratio']:6.3f}{wanted}")


if __name__ == "__main__":
    main()
