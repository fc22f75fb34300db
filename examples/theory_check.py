"""A simulation against theory: the mean queue of M/M/1 is r / (1 - r)."""

import numpy as np
from admission import KIND

from cloudarena.queueing import mm1


def main() -> None:
    """Simulates a queue that accepts everyone, at three loads, ten draws each."""
    for load in (0.3, 0.6, 0.8):
        scenario = KIND.scenario.parse(
            {
                "scenario": "admission",
                "reward_usd": 1,
                "waiting_usd_per_s": 1,
                "workload": {
                    "source": "poisson",
                    "customers": 20_000,
                    "rate": load,
                    "mean_service_s": 1,
                },
            }
        )
        means = []
        for seed in range(10):
            run = scenario.start(seed, record="none")
            run.play(KIND.policies.resolve("accept-all"))
            means.append(run.metrics()["in_system_mean"])
        half = 2.262 * np.std(means, ddof=1) / np.sqrt(len(means))  # Student's t, 9 degrees, 95 %
        theory = mm1(load, 1.0).in_system
        inside = abs(np.mean(means) - theory) <= half
        print(f"load {load}: {np.mean(means):.3f} ± {half:.3f}, theory {theory:.3f}, {inside}")


if __name__ == "__main__":
    main()
