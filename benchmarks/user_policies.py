"""What checks of users' policies cost: ``python -m benchmarks.user_policies``.

A copy of best-fit as a user would write it, compiled with checks of every index, against the
built-in one, on the month of vm/azure-like-10k. Runs alternate, and the best of each counts: what
else runs on the machine can only add to it. CPU seconds (``time.process_time``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import cloudarena
from cloudarena.engine.interrupts import run_interruptibly
from cloudarena.policies import ArrayPolicy
from cloudarena.policies.machine_code import built_in_code
from cloudarena.scenarios.vm import VmScenario

MONTH = "vm/azure-like-10k"
ROUNDS = 20
MOST = 1.2
"""What a run under the user's copy may take of one under the built-in policy."""


def mine(pms, vm, rng):  # type: ignore[no-untyped-def]
    """The valid machine with the fewest free cores."""
    best, fewest = -2, np.inf
    for m in range(len(pms.valid)):
        if pms.valid[m] and pms.free_cores[m] < fewest:
            best, fewest = m, pms.free_cores[m]
    return best


def with_array(pms, vm, rng):  # type: ignore[no-untyped-def]
    """The same, by way of an array that it makes for itself."""
    left = np.empty(len(pms.valid))
    for m in range(len(left)):
        left[m] = pms.free_cores[m] if pms.valid[m] else np.inf
    best = int(left.argmin())
    return best if left[best] < np.inf else -2


def play(scenario: VmScenario, policy: Any) -> dict[str, float]:
    """The metrics of a run of which nothing is recorded."""
    run = scenario.start(0, "none")
    run.play(scenario.kind.policies.resolve(policy))
    return run.metrics()


def without_checks(function: Callable[..., Any]) -> ArrayPolicy:
    """A user's function, compiled as those of the package are."""
    signature = VmScenario.kind.policies.signature
    policy = ArrayPolicy("without checks", function, signature)
    policy.__dict__["machine_code"] = unchecked_code(function, signature())
    return policy


@cache
def unchecked_code(function: Callable[..., Any], signature: Any) -> Any:
    """Its machine code."""
    return built_in_code(function, signature)


def alternating(*calls: Callable[[], Any]) -> list[float]:
    """The least CPU seconds of each of several calls, which take turns."""
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for k, call in enumerate(calls):
            begin = time.process_time()
            call()
            best[k] = min(best[k], time.process_time() - begin)
    return best


def main() -> None:
    scenario = cloudarena.load(MONTH)
    toy = cloudarena.load("vm/toy")
    for policy in (mine, with_array):
        if play(scenario, policy) != play(scenario, "best-fit"):
            raise SystemExit("a copy of best-fit gives another result")
    built_in, users, counting, unchecked = alternating(
        lambda: play(scenario, "best-fit"),
        lambda: play(scenario, mine),
        lambda: play(scenario, with_array),
        lambda: play(scenario, without_checks(with_array)),
    )
    short, users_short = alternating(
        lambda: cloudarena.simulate(toy, "best-fit"), lambda: cloudarena.simulate(toy, mine)
    )
    (thread,) = alternating(lambda: [run_interruptibly(int) for _ in range(100)])
    table = Table("figure", "value", "target")
    table.add_row(f"{MONTH}, built-in best-fit", f"{1e3 * built_in:.1f} ms", "")
    table.add_row("the same as a user's function", f"{1e3 * users:.1f} ms", "")
    table.add_row("user's / built-in", f"{users / built_in:.3f}", f"<= {MOST:g}")
    table.add_row(
        "one that makes an array, with / without checks", f"{counting / unchecked:.3f}", ""
    )
    table.add_row("simulate vm/toy, built-in best-fit", f"{1e3 * short:.2f} ms", "")
    table.add_row("the same as a user's function", f"{1e3 * users_short:.2f} ms", "")
    table.add_row("a thread for a run, so that signals are heard", f"{1e4 * thread:.0f} µs", "")
    Console().print(table)


if __name__ == "__main__":
    main()
