"""What a planner could do that knows which VMs will come, and how long they stay.

An offline bound for the other policies to be held against, not a policy for use: it looks into
the trace for a planning window and solves the placement of that window as an integer program.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import PolicyError
from cloudarena.scenarios.vm.policies.placement import POLICIES, WAIT, best_fit
from cloudarena.scenarios.vm.state import DELAY_INSENSITIVE
from cloudarena.workloads.vm.columns import numeric_ids

NODE_LIMIT = 200
"""Branch-and-bound nodes of one program: a limit that, unlike time, gives the same plan again."""
PAIR_LIMIT = 10_000
"""Pairs of VM and machine in one program; a window with more is cut short."""


class Window(NamedTuple):
    """The placement of the next VMs as numbers: V VMs, M machines, E epochs (arrival ticks)."""

    epochs: NDArray[np.int64]
    arrival: NDArray[np.int64]  # (V,)
    end: NDArray[np.int64]
    demand: NDArray[np.float64]  # (V, 2): cores, GB
    shared: NDArray[np.bool_]  # (V,): delay-insensitive
    limits: NDArray[np.float64]  # (M, 2, 2): own kind or shared; cores, GB
    busy: NDArray[np.float64]  # (M, E, 2, 2): machine, epoch, kind, resource: already placed
    weight: NDArray[np.float64]  # (V,)

    def lives(self) -> NDArray[np.bool_]:
        """Whether a VM lives at an epoch, if it is placed: (V, E)."""
        return (self.arrival[:, None] <= self.epochs) & (self.epochs < self.end[:, None])


@POLICIES.stepped("oracle-ilp")
class OracleIlp:
    """Sees the next hours of the trace, and places them by an integer program.

    For each window it maximises the weight of the placed VMs over binary x[machine, vm], subject
    to cores and memory at every arrival in the window, and to the separation of
    delay-insensitive VMs from the others. Peaks of use are at arrivals, so no other instant needs
    a constraint. If best-fit places all VMs of the window, that is optimal, and nothing is solved.
    Utilisation limits, kills and boots are not foreseen: where the planned machine is not valid,
    best-fit decides.

    Args:
        window_ticks: how far it sees.
        weight: what a placed VM counts: 1 (``requests``) or its cores (``cores``).
    """

    def __init__(
        self, window_ticks: int = 96, weight: Literal["requests", "cores"] = "requests"
    ) -> None:
        if not isinstance(window_ticks, int) or window_ticks < 1:
            raise PolicyError(
                f"policy oracle-ilp: window_ticks: {window_ticks!r} is not allowed: "
                "a whole number, at least 1"
            )
        if weight not in ("requests", "cores"):
            raise PolicyError(
                f"policy oracle-ilp: weight: {weight!r} is not allowed: one of requests, cores"
            )
        self.name = "oracle-ilp"
        self._window_ticks = window_ticks
        self._weight = weight
        self._plan: dict[int, int] = {}

    def start(self, scenario: Any, seed: int) -> None:
        """Reads the future."""
        self._workload = scenario.load_workload(seed)
        vm_ids = numeric_ids(self._workload.ids).tolist()
        self._index_of = {vm_id: index for index, vm_id in enumerate(vm_ids)}
        self._rates = scenario.oversubscription
        self._plan = {}
        self._seen = 0
        self._running: list[tuple[int, int]] = []  # VM and machine, as placed by this policy
        self._ends = np.zeros(len(self._workload.created), np.int64)

    def __call__(self, decision: Any) -> int:
        """The plan's machine; best-fit where it is not valid; else the request waits."""
        vm = self._index_of[decision.request.vm]
        if vm >= self._seen:
            self._make_plan(vm, decision)
        machine = self._plan.get(
            vm
        )  # None: it waited, without a decision, when others were planned
        if machine == WAIT or not decision.valid.any():
            return WAIT
        if machine is None or not decision.valid[machine]:
            machine = int(best_fit(decision))
        self._running.append((vm, machine))
        self._ends[vm] = decision.request.tick + self._workload.lifetime[vm]
        return machine

    def _make_plan(self, first: int, decision: Any) -> None:
        """Plans all VMs that arrive within the window, from the one to be decided on."""
        tick = decision.request.tick
        last = int(np.searchsorted(self._workload.created, tick + self._window_ticks))
        last = min(last, first + max(1, PAIR_LIMIT // len(decision.valid)))
        self._running = [(vm, m) for vm, m in self._running if self._ends[vm] > tick]
        window = self._window(first, last, tick, decision.machines)
        chosen = plan_best_fit(window)
        if (chosen < 0).any():
            chosen = plan_optimum(window, chosen)
        self._seen = last
        self._plan.update({first + k: int(m) if m >= 0 else WAIT for k, m in enumerate(chosen)})

    def _window(self, first: int, last: int, tick: int, machines: Any) -> Window:
        load, rows = self._workload, slice(first, last)
        arrival = np.maximum(load.created[rows], tick)
        epochs = np.unique(arrival)
        sizes = np.stack((machines.cores, machines.memory_gb), axis=1)
        rates = np.array((self._rates.cpu, self._rates.memory))
        busy = np.zeros((len(sizes), len(epochs), 2, 2))
        for vm, machine in self._running:
            kind = int(load.category[vm] == DELAY_INSENSITIVE)
            here = epochs < self._ends[vm]
            busy[machine, here, kind] += (load.cores[vm], load.memory_gb[vm])
        return Window(
            epochs=epochs,
            arrival=arrival,
            end=arrival + load.lifetime[rows],
            demand=np.stack((load.cores[rows], load.memory_gb[rows]), axis=1),
            shared=load.category[rows] == DELAY_INSENSITIVE,
            limits=np.stack((sizes, np.round(sizes * rates, 6)), axis=1),
            busy=busy,
            weight=load.cores[rows] if self._weight == "cores" else np.ones(last - first),
        )


def plan_best_fit(window: Window) -> NDArray[np.int64]:
    """The machine of each VM when best-fit places them in order; -1 where none has room."""
    busy = window.busy.copy()
    chosen = np.full(len(window.arrival), -1)
    for vm, lives in enumerate(window.lives()):
        kind = int(window.shared[vm])
        now = int(np.argmax(lives))
        ahead = busy[:, lives]  # (machines, epochs, kinds, resources)
        fits = (ahead[:, :, kind] + window.demand[vm] <= window.limits[:, None, kind] + 1e-9).all(
            axis=(1, 2)
        )
        apart = (ahead[:, :, 1 - kind] == 0).all(axis=(1, 2))
        free = window.limits[:, 0, 0] - busy[:, now, :, 0].sum(axis=1)
        free[~(fits & apart)] = np.inf
        machine = int(np.argmin(free))
        if np.isfinite(free[machine]):
            chosen[vm] = machine
            busy[machine, lives, kind] += window.demand[vm]
    return chosen


def plan_optimum(window: Window, fallback: NDArray[np.int64]) -> NDArray[np.int64]:
    """The machine of each VM in an optimal plan; -1 where it has none.

    Variables are x[machine, vm], then y[machine, epoch]: 1 where the machine is for
    delay-insensitive VMs. For each machine, epoch, kind and resource:
    ``busy + sum of demand x <= limit y`` (shared), ``<= limit (1 - y)`` (the others).
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, csr_array, hstack, identity, kron, vstack

    vms, machines, epochs = len(window.arrival), len(window.busy), len(window.epochs)
    lives = window.lives()
    blocks, upper = [], []
    for kind in (0, 1):
        of_kind = window.shared == bool(kind)
        for resource in (0, 1):
            need = csr_array((lives & of_kind[:, None]).T * window.demand[:, resource])
            limit = window.limits[:, kind, resource].repeat(epochs)
            x_part = kron(identity(machines), need)
            y_part = coo_array((limit, (np.arange(len(limit)), np.arange(len(limit)))))
            sign = -1.0 if kind else 1.0
            blocks.append(hstack((x_part, sign * y_part)))
            room = 0.0 if kind else limit
            upper.append(room - window.busy[:, :, kind, resource].ravel())
    one_machine = hstack(
        (
            kron(np.ones((1, machines)), identity(vms)),
            csr_array((vms, machines * epochs)),
        )
    )
    rows = vstack((*blocks, one_machine)).tocsc()
    bound = np.concatenate((*upper, np.ones(vms)))
    value = np.concatenate((np.tile(window.weight, machines), np.zeros(machines * epochs)))
    solution = milp(
        -value,
        constraints=LinearConstraint(rows, ub=bound + 1e-9),
        integrality=np.ones(len(value)),
        bounds=Bounds(0, 1),
        options={"node_limit": NODE_LIMIT},
    )
    if solution.x is None:
        return fallback
    placed = solution.x[: machines * vms].reshape(machines, vms) > 0.5
    optimum = np.where(placed.any(axis=0), placed.argmax(axis=0), -1)
    gained = window.weight[optimum >= 0].sum() > window.weight[fallback >= 0].sum()
    return optimum if gained else fallback
