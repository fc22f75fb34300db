"""What the simulation alone costs below an environment: ``python -m benchmarks.learn_floors``.

Environments take random candidates, side by side as in ``learn_vectors`` and alone on each kind's
example. The same actions are then given to the kernel in the same states, in one compiled loop
without features, masks and rewards: that is the floor, which no environment can be quicker than.
Both as CPU nanoseconds a step, least of several rounds in turn, and as ratios to Gymnasium's
CartPole, which takes so many nanoseconds in the same process. Resets are not counted.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from benchmarks.learn_environments import steps_per_second
from benchmarks.learn_vectors import CANDIDATES, CASES, COUNT
from cloudarena.engine.compiled import jit_inline, jit_uncounted
from cloudarena.engine.status import DECIDE
from cloudarena.engine.worlds import world_at
from cloudarena.learn.vector import CloudVectorEnv
from cloudarena.scenarios import kinds

STEPS, ALONE, ROUNDS, STARTS = 30, 300, 3, 64
FEWER = {"faas-scale": 12, "tiers": 12}
"""Steps of those whose windows are short, by how the name of a case begins."""


def bare(take: Any) -> Any:
    """Compiled code that gives recorded actions to the kernel, step by step and run by run."""
    take = jit_inline(take)

    def replay(layout: Any, rows: NDArray[Any], status: NDArray[Any], actions: NDArray[Any]) -> int:
        taken = 0
        for step in range(len(actions)):
            for one in range(len(rows)):
                if status[one] == DECIDE:
                    world = world_at(layout, rows[one].ctypes.data)
                    status[one] = take(world, actions[step, one])
                    taken += 1
        return taken

    return jit_uncounted(replay)


def begin(env: CloudVectorEnv) -> None:
    """Begins the same episodes each time."""
    windowed = env.native.episodes.count is not None
    options = {"start": [k % STARTS for k in range(env.num_envs)]} if windowed else {}
    env.reset(seed=0, options=options)


def recorded(env: CloudVectorEnv, steps: int) -> tuple[NDArray[np.int64], float, int]:
    """The actions of some steps, the seconds that these took, and how many there were."""
    begin(env)
    native, rng, taken, count = env.native, np.random.default_rng(0), 0.0, 0
    actions = np.zeros((steps, env.num_envs, native.actions.shape[2]), np.int64)
    for step in range(steps):
        choices = (rng.random(env.num_envs) * native.counts).astype(np.int64)
        actions[step] = native.actions[np.arange(env.num_envs), choices]
        count += int((native.status == DECIDE).sum())
        start = time.process_time()
        native.step(choices)
        taken += time.process_time() - start
    return actions, taken, count


def compared(env: CloudVectorEnv, steps: int, rounds: int) -> tuple[float, float]:
    """Nanoseconds a step of environments, and of the kernel below them."""
    replay, least = bare(env.native.candidates.take), [np.inf, np.inf]
    recorded(env, steps)  # makes room, and compiles
    for turn in range(rounds + 1):
        actions, taken, count = recorded(env, steps)
        begin(env)
        assert env.native._worlds is not None
        worlds, status = env.native._worlds, env.native.status.copy()
        start = time.process_time()
        replayed = replay(worlds.layout, worlds.rows, status, actions)
        spent = time.process_time() - start
        assert replayed == count, "the kernel alone went another way"
        if turn > 0:  # the first compiles
            least = [min(least[0], taken / count), min(least[1], spent / count)]
    return least[0] * 1e9, least[1] * 1e9


def measure() -> dict[str, Any]:
    """Each case with its step, its floor, and their ratios to CartPole's step."""
    rounds = 1 if "--quick" in sys.argv else ROUNDS
    cart = gymnasium.make("CartPole-v1")
    cart_ns = 1e9 / max(steps_per_second(cart, 1, 20_000) for _ in range(rounds))
    found: dict[str, Any] = {"cartpole": {"step_ns": round(cart_ns)}}
    names = [name for kind in kinds().values() for name in kind.candidates]
    cases = [(name, COUNT, case) for name, case in CASES.items()]
    cases += [(f"{name}, alone", 1, {"decides": name}) for name in names]
    for name, count, case in cases:
        steps = next((n for word, n in FEWER.items() if name.startswith(word)), STEPS)
        env = CloudVectorEnv(count, most=CANDIDATES, **case)
        step_ns, floor_ns = compared(env, ALONE if count == 1 else steps, rounds)
        found[name] = {
            "step_ns": round(step_ns),
            "floor_ns": round(floor_ns),
            "ratio": round(cart_ns / step_ns, 3),
            "most": round(cart_ns / floor_ns, 3),
        }
        if "--json" not in sys.argv:
            print_row(name, found[name])
    return found


def print_row(name: str, row: dict[str, Any]) -> None:
    """Prints a case as soon as it was measured: all of them take minutes."""
    print(
        f"{name:<20}{row['step_ns']:>9,} ns a step, {row['floor_ns']:>9,} of them the kernel"
        f"  {row['ratio']:7.3f} of at most {row['most']:7.3f}",
        flush=True,
    )


def main() -> None:
    """Prints the table, or one object with --json."""
    found = measure()
    if "--json" in sys.argv:
        print(json.dumps(found))
    else:
        print(f"CartPole took {found['cartpole']['step_ns']:,} ns a step")


if __name__ == "__main__":
    main()
