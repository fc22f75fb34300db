"""How fast environments side by side are: ``python -m benchmarks.learn_vectors``.

Steps a CPU second of 256 environments with 16 candidates in one compiled call, features, masks,
rewards and the beginnings of the next episodes included, as ratios to Gymnasium's CartPole in the
same process: the best of several rounds. The choices are random. Then the time of a reset to a
window that was not seen before, and to one that was.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import gymnasium
import numpy as np

from benchmarks.learn_environments import steps_per_second
from cloudarena.learn.vector import CloudVectorEnv

COUNT, CANDIDATES, ROUNDS, STEPS = 256, 16, 3, 200
WANTED = {"vm": 8.0, "jobs": 8.0, "workflow": 3.0, "faas": 3.0, "tiers": 3.0, "clusters": 3.0}
"""The ratios that are asked for, by how the name of a case begins."""
CASES: dict[str, dict[str, Any]] = {
    "vm, 10 machines": {
        "scenario": "vm/azure-like-10k",
        "overrides": {"machines[0].count": 10, "workload.vms": 2000},
        "window": {"vms": 256, "seeds": 1, "starts": 64},
    },
    "vm, 100 machines": {
        "scenario": "vm/azure-like-10k",
        "window": {"vms": 256, "seeds": 1, "starts": 64},
    },
    "jobs, 5 machines": {
        "scenario": "jobs/alibaba-like-10",
        "overrides": {"workload.jobs": 400},
        "window": {"jobs": 10, "seeds": 1, "starts": 64},
    },
    "workflow": {
        "scenario": "workflow/montage-100",
        "window": {"workflows": 4, "seeds": 1, "starts": 64},
    },
    "faas-scale": {"decides": "faas-scale", "window": {"hours": 0.02, "seeds": 1, "starts": 64}},
    "tiers, small": {"scenario": "tiers/toy", "window": {"seeds": 64}},
    "tiers, rubis-slow": {
        "scenario": "tiers/rubis-slow",
        "window": {"hours": 0.2, "seeds": 1, "starts": 64},
    },
    "clusters": {
        "scenario": "clusters/hfhc",
        "window": {"batches": 40, "seeds": 1, "starts": 64},
    },
}


def vector_rate(env: CloudVectorEnv, steps: int) -> float:
    """Steps a CPU second of all environments together."""
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    taken = 0.0
    for _ in range(steps):
        choices = (rng.random(env.num_envs) * env.native.counts).astype(np.int64)
        start = time.process_time()
        env.step(choices)
        taken += time.process_time() - start
    return steps * env.num_envs / taken


def reset_ms(case: dict[str, Any]) -> tuple[float, float]:
    """CPU milliseconds of a reset to a window, the first time and again."""
    env = CloudVectorEnv(1, most=CANDIDATES, **case)
    times = []
    env.reset(options={"start": 0})
    for _ in range(2):
        start = time.process_time()
        for number in range(1, 33):
            env.reset(options={"start": number})
        times.append((time.process_time() - start) / 32 * 1e3)
    return times[0], times[1]


def measure() -> dict[str, Any]:
    """The best rate of each case, and its ratio to CartPole's."""
    rounds, steps = (1, 40) if "--quick" in sys.argv else (ROUNDS, STEPS)
    vectors = {name: CloudVectorEnv(COUNT, most=CANDIDATES, **case) for name, case in CASES.items()}
    cart, best = gymnasium.make("CartPole-v1"), dict.fromkeys(["cartpole", *vectors], 0.0)
    for vector in vectors.values():
        vector_rate(vector, 20)
    for _ in range(rounds):
        best["cartpole"] = max(best["cartpole"], steps_per_second(cart, 1, 20_000))
        for name, vector in vectors.items():
            best[name] = max(best[name], vector_rate(vector, steps))
    found: dict[str, Any] = {
        name: {"steps_per_s": round(rate), "ratio": round(rate / best["cartpole"], 2)}
        for name, rate in best.items()
    }
    for name, case in CASES.items():
        if "window" in case:
            first, again = reset_ms(case)
            found[name] |= {"reset_ms": round(first, 3), "reset_again_ms": round(again, 3)}
    return found


def main() -> None:
    """Prints the table, or one object with --json."""
    found = measure()
    if "--json" in sys.argv:
        print(json.dumps(found))
        return
    for name, row in found.items():
        resets = ""
        if "reset_ms" in row:
            resets = f"  reset {row['reset_ms']:.2f} ms, again {row['reset_again_ms']:.3f} ms"
        asked = next((least for kind, least in WANTED.items() if name.startswith(kind)), None)
        wanted = "" if asked is None else f"  wanted {asked:g}"
        print(f"{name:<20}{row['steps_per_s']:>12,} steps/s  {row['ratio']:6.2f}{wanted}{resets}")


if __name__ == "__main__":
    main()
