"""The built-in policies: which valid machine takes the VM.

Each is one function of arrays. Ties go to the machine with the lowest number. When no machine is
valid (a policy is asked then only with ``decide_when_full``), the request is put off.
"""

from __future__ import annotations

from collections import defaultdict, deque
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa

from cloudarena.compiled_run import locked
from cloudarena.engine.compiled import compiled
from cloudarena.policies import PolicyBook
from cloudarena.scenarios.replay import DecisionFile
from cloudarena.scenarios.vm.kernel import DELAY_INSENSITIVE, REFUSE, Machines, Request
from cloudarena.workloads.vms import vm_numbers


def empty_machines(count: int) -> Machines:
    """The arrays of a number of machines, all zero."""
    kinds = {"valid": np.bool_, **dict.fromkeys(("vms", "sharing", "rack", "state"), np.int64)}
    return Machines(*(np.zeros(count, kinds.get(name, np.float64)) for name in Machines._fields))


def signature() -> Any:
    """The Numba signature of a policy: ``int64(Machines, Request, Generator)``."""
    request = Request(0, 1.0, 1.0, 0, 0, 0, 0, 0, 0, 0)
    return numba.int64(
        numba.typeof(locked(empty_machines(1))),
        numba.typeof(request),
        numba.typeof(np.random.default_rng(0)),
    )


policy = PolicyBook("vm", signature, arguments=3, knowable=("lifetimes",))


@compiled
def postpone(delays: int) -> int:
    """The action that puts a request off by a number of delays, at least 1."""
    if delays < 1:
        raise ValueError("a request is put off by at least one delay")
    return REFUSE - delays


WAIT = REFUSE - 1

REPLAY_OPTIONAL = {
    "vm": pa.int64(),
    "id": None,
    "action": pa.string(),
    "delays": pa.int64(),
    "tick": None,
    "time_s": None,
    "valid_machines": None,
}


@policy("random")
def random(pms: Machines, vm: Request, rng: np.random.Generator) -> int:
    """Any valid machine, each with the same chance."""
    count = 0
    for m in range(len(pms.valid)):
        count += pms.valid[m]
    if count == 0:
        return WAIT
    left = rng.integers(0, count)
    for m in range(len(pms.valid)):
        if pms.valid[m]:
            if left == 0:
                return m
            left -= 1
    return WAIT


@policy("first-fit")
def first_fit(pms: Machines, vm: Request, rng: np.random.Generator) -> int:
    """The valid machine with the lowest number."""
    for m in range(len(pms.valid)):
        if pms.valid[m]:
            return m
    return WAIT


@policy("best-fit")
def best_fit(pms: Machines, vm: Request, rng: np.random.Generator) -> int:
    """The valid machine with the fewest free cores."""
    best, fewest = WAIT, np.inf
    for m in range(len(pms.valid)):
        if pms.valid[m] and pms.free_cores[m] < fewest:
            best, fewest = m, pms.free_cores[m]
    return best


@policy("best-fit-memory")
def best_fit_memory(pms: Machines, vm: Request, rng: np.random.Generator) -> int:
    """The valid machine with the least free memory."""
    best, least = WAIT, np.inf
    for m in range(len(pms.valid)):
        if pms.valid[m] and pms.free_memory_gb[m] < least:
            best, least = m, pms.free_memory_gb[m]
    return best


@policy("best-fit-energy")
def best_fit_energy(pms: Machines, vm: Request, rng: np.random.Generator) -> int:
    """The valid machine that draws the most power now."""
    best, most = WAIT, -np.inf
    for m in range(len(pms.valid)):
        if pms.valid[m] and pms.power_w[m] > most:
            best, most = m, pms.power_w[m]
    return best


@policy("best-fit-cores-energy")
def best_fit_cores_energy(pms: Machines, vm: Request, rng: np.random.Generator) -> int:
    """The valid machine with the fewest free cores; among equals, the one that draws the most."""
    best, fewest, most = WAIT, np.inf, -np.inf
    for m in range(len(pms.valid)):
        if not pms.valid[m] or pms.free_cores[m] > fewest:
            continue
        if pms.free_cores[m] < fewest or pms.power_w[m] > most:
            best, fewest, most = m, pms.free_cores[m], pms.power_w[m]
    return best


@policy("worst-fit")
def worst_fit(pms: Machines, vm: Request, rng: np.random.Generator) -> int:
    """The valid machine with the most free cores."""
    best, most = WAIT, -np.inf
    for m in range(len(pms.valid)):
        if pms.valid[m] and pms.free_cores[m] > most:
            best, most = m, pms.free_cores[m]
    return best


@policy("round-robin")
def round_robin(pms: Machines, vm: Request, rng: np.random.Generator) -> int:
    """The next valid machine after the one that was chosen last, in a circle."""
    count = len(pms.valid)
    for step in range(count):
        m = (vm.last_machine + 1 + step) % count
        if pms.valid[m]:
            return m
    return WAIT


@compiled
def whole_cores_left(pms: Machines, vm: Request, machine: int) -> int:
    """The whole cores that a machine has left for VMs of the request's kind, at least 0."""
    limit = pms.limit_cores[machine] if vm.category == DELAY_INSENSITIVE else pms.cores[machine]
    return max(0, int(limit - pms.allocated_cores[machine] + 1e-7))


@policy("bin-packing")
def bin_packing(pms: Machines, vm: Request, rng: np.random.Generator) -> int:
    """Keeps the numbers of machines with 0, 1, 2, ... cores left as even as can be.

    Moving one machine from b whole cores left to b - need changes the variance of the counts by a
    constant plus 2 (count[b - need] - count[b]) over their number; the b with the smallest change
    is taken, the smaller b among equals, and any valid machine in it with the same chance.
    """
    machines = len(pms.valid)
    need = int(np.ceil(vm.cores))
    largest = 0
    for m in range(machines):
        largest = max(largest, whole_cores_left(pms, vm, m))
    counts = np.zeros(largest + 1, np.int64)
    valid_counts = np.zeros(largest + 1, np.int64)
    for m in range(machines):
        left = whole_cores_left(pms, vm, m)
        counts[left] += 1
        valid_counts[left] += pms.valid[m]
    best, smallest = -1, 0
    for left in range(largest + 1):
        if valid_counts[left] == 0:
            continue
        change = counts[max(0, left - need)] - counts[left]
        if best < 0 or change < smallest:
            best, smallest = left, change
    if best < 0:
        return WAIT
    skip = rng.integers(0, valid_counts[best])
    for m in range(machines):
        if pms.valid[m] and whole_cores_left(pms, vm, m) == best:
            if skip == 0:
                return m
            skip -= 1
    return WAIT


@policy("dot-product")
def dot_product(pms: Machines, vm: Request, rng: np.random.Generator) -> int:
    """The valid machine whose free capacity is best aligned with what the VM asks for.

    The score is the dot product of demand and free capacity, both as shares of the machine
    (Panigrahy et al., "Heuristics for vector bin packing", 2011).
    """
    best, most = WAIT, -np.inf
    for m in range(len(pms.valid)):
        if not pms.valid[m]:
            continue
        score = vm.cores / pms.cores[m] * (pms.free_cores[m] / pms.cores[m])
        score += vm.memory_gb / pms.memory_gb[m] * (pms.free_memory_gb[m] / pms.memory_gb[m])
        if score > most:
            best, most = m, score
    return best


@policy.replay
class Replay(DecisionFile):
    """Decisions from a file: columns vm (its number, as in the tables of a run) or id (as in the
    trace), and machine; optionally action (place, postpone, refuse) and delays. The ``decisions``
    table of any run is such a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, {"machine": pa.int64()}, REPLAY_OPTIONAL)
        if not {"vm", "id"} & set(self._table.column_names):
            raise self._error("column 'vm' or 'id' is missing: which VM a decision is about")
        self._actions: dict[int, deque[int]] = {}

    def start(self, scenario: Any, seed: int) -> None:
        """Finds the VMs of the file in the workload."""
        ids = scenario.load_workload(seed).ids
        numbers = vm_numbers(ids).tolist()
        name = "vm" if "vm" in self._table.column_names else "id"
        known = numbers if name == "vm" else ids.to_pylist()
        number_of = dict(zip(known, numbers, strict=True))
        self._actions = defaultdict(deque)
        for row, values in self._rows():
            vm = values[name]
            if vm not in number_of:
                raise self._error(f"{name}: {vm!r} is not in the workload", row)
            self._actions[number_of[vm]].append(self._action(row, values))

    def __call__(self, decision: Any) -> int:
        """The file's next action for this VM."""
        waiting = self._actions.get(decision.request.vm)
        if not waiting:
            raise self._error(f"has no further decision for VM {decision.request.vm}")
        return waiting.popleft()

    def _action(self, row: int, values: dict[str, Any]) -> int:
        """The action that a row says."""
        action, machine = values.get("action") or "place", values["machine"]
        if action == "refuse":
            return REFUSE
        if action == "postpone":
            delays = 1 if values.get("delays") is None else int(values["delays"])
            if delays < 1:
                raise self._error(f"delays: {delays} is not allowed: at least 1", row)
            return REFUSE - delays
        if action != "place":
            raise self._error(
                f"action: {action!r} is not allowed: one of place, postpone, refuse", row
            )
        if machine is None or machine < 0:
            raise self._error(f"machine: {machine} is not allowed: the number of a machine", row)
        return int(machine)
