"""Steps a second of environments, beside Gymnasium's CartPole."""

from __future__ import annotations

import time
from typing import Any

STEPS = 4000


def steps_per_second(env: Any, choice: Any, steps: int = STEPS) -> float:
    """Steps a second of CPU time, without resets."""
    env.reset(seed=0)
    resets = 0.0
    start = time.process_time()
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(choice)
        if terminated or truncated:
            before = time.process_time()
            env.reset(seed=0)
            resets += time.process_time() - before
    return steps / (time.process_time() - start - resets)
