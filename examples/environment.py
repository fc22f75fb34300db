"""Reinforcement learning: a Gymnasium environment, its masks, and a reward of one's choice.

The agent here takes any candidate but the last one, which refuses the VM. The rewards of an
episode sum to the metric.
"""

import gymnasium
import numpy as np

import cloudarena


def main() -> None:
    """Plays one episode."""
    scenario = cloudarena.load("vm/azure-like-10k", {"ticks": 100})
    env = gymnasium.make("cloudarena/vm-v0", scenario=scenario, reward="profit_usd")
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=0)
    total, steps, ended = 0.0, 0, False
    while not ended:
        choice = rng.choice(np.flatnonzero(info["action_mask"])[:-1])
        _, reward, ended, _, info = env.step(choice)
        total, steps = total + reward, steps + 1
    print(f"{steps} decisions, rewards of {total:.4f} $ in all")
    print(f"profit_usd: {info['metrics']['profit_usd']:.4f}")


if __name__ == "__main__":
    main()
