"""A run of a multi-tier service: the contract around the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar

import numba
import numpy as np

from cloudarena.base.arrays import Floats, Ints, locked, read_only, whole_numbers
from cloudarena.base.errors import InvalidAction, written
from cloudarena.contract import RecordLevel
from cloudarena.contract.kernel_run import KernelRun
from cloudarena.engine.interrupts import Interrupted, run_interruptibly
from cloudarena.engine.status import FULL
from cloudarena.scenarios.tiers import kernel
from cloudarena.scenarios.tiers.build import build_world, with_slots
from cloudarena.scenarios.tiers.decision import Period, TiersDecision
from cloudarena.scenarios.tiers.spec import TiersScenario
from cloudarena.scenarios.tiers.state import MEASURED, Outcome, Size, VmState

MANY = 1_000_000
"""Requests that take a tenth of a second and more."""
TOTALS = np.dtype(
    [("arrived", "i8"), ("served", "i8"), ("blocked", "i8"), ("changes", "i8"), ("rent_usd", "f8")]
)
"""What ``info["step"]`` of an environment tells the rise of."""


class TiersRun(KernelRun[TiersDecision]):
    """A run of a multi-tier service."""

    scenario: TiersScenario
    kernel: ClassVar[ModuleType] = kernel
    action_types: ClassVar[tuple[Any, ...]] = (
        numba.types.Array(numba.int64, 1, "C", readonly=True),
    )

    def __init__(self, scenario: TiersScenario, seed: int, record: RecordLevel) -> None:
        super().__init__(scenario, seed, record, build_world(scenario, seed))
        self._periods: list[Period] = []
        self.is_deciding  # noqa: B018 - lets the first period pass

    @property
    def now(self) -> float:
        """The time in seconds since the run began."""
        return float(self.world.clock[0]["now"])

    @property
    def counts(self) -> Ints:
        """VMs in force, (tier, size)."""
        return self.world.counts.copy()

    @property
    def limits(self) -> Ints:
        """The most VMs that there may be, (tier, size)."""
        limits: Ints = self.world.limits
        return limits

    @property
    def changes(self) -> int:
        """VMs started or released by decisions."""
        return int(self.world.clock[0]["changes"])

    @property
    def periods(self) -> list[Period]:
        """What was measured, period by period."""
        for number in range(len(self._periods), int(self.world.clock[0]["period"])):
            self._periods.append(self._period(number))
        return self._periods

    def move_to(self, world: Any) -> None:
        """Makes another state of the same type that of this run."""
        super().move_to(world)
        self._periods = []

    def show(self) -> TiersDecision:
        """What was measured so far, and the VMs in force."""
        over = self.world.periods[: len(self.periods)]
        return TiersDecision(
            now=self.now,
            scenario=self.scenario,
            periods=tuple(self.periods),
            rates=read_only(over["requests"] / (over["end"] - over["begin"])),
            counts=read_only(self.counts),
            limits=self.limits,
            rng=self.rng,
            _run=self,
        )

    def no_action(self) -> tuple[Any, ...]:
        """Leaves all as it is: before the first period nothing is decided."""
        return (self.world.start,)

    def encode(self, action: Any) -> tuple[Any, ...]:
        """Numbers of fat and thin VMs of each tier."""
        return (np.ascontiguousarray(self._counts_of(action)).ravel(),)

    def why_not(self, reason: int) -> str:
        """Never asked: ``encode`` refuses what is not allowed."""
        return f"reason {reason}"

    def grow(self) -> None:
        """Makes twice as many slots for VMs."""
        self.world = with_slots(self.world, 2 * len(self.world.vms))

    @property
    def room(self) -> int:
        """Slots for VMs."""
        return len(self.world.vms)

    def widen(self, room: int) -> None:
        """Makes slots for VMs."""
        self.world = with_slots(self.world, room)

    def totals(self) -> Any:
        """The sums so far."""
        clock, tiers = self.world.clock[0], self.world.tiers
        sums = clock["arrived"], clock["done"], tiers["blocked"].sum(), clock["changes"]
        return np.array((*sums, clock["rent_usd"]), TOTALS)

    def responses(self, first: int) -> Floats:
        """Response times of the requests served so far, from a request on."""
        if first == 0:
            return self.world.responses[: self.world.clock[0]["done"]]
        requests = self.world.requests[first : self.world.clock[0]["arrived"]]
        served = requests[requests["state"] == Outcome.SERVED]
        times: Floats = served["finish"] - served["arrival"]
        return times

    def blocked(self, first: int) -> int:
        """How many requests were blocked so far, from a request on."""
        return int((self.world.requests["state"][first:] == Outcome.BLOCKED).sum())

    def waited(self, first: int) -> Floats:
        """How long each request has been there that is in the service, from a request on."""
        first = max(first, int(self.world.clock[0]["oldest"]))
        requests = self.world.requests[first : self.world.clock[0]["arrived"]]
        there = requests["state"] == Outcome.IN_SYSTEM
        times: Floats = self.now - requests["arrival"][there]
        return times

    def rented_minutes(self) -> tuple[float, float]:
        """Minutes of fat and thin VMs so far."""
        time = min(self.now, self.scenario.duration_s)
        there = self.world.vms[self.world.vms["state"] != VmState.OFF]
        so_far = np.bincount(there["size"], np.maximum(0.0, time - there["since"]), 2)
        fat, thin = ((self.world.rented_s + so_far) / 60.0).tolist()
        return fat, thin

    def _act(self, action: Sequence[Any]) -> int:
        """Lets a period pass; where that may take a second and more, signals are heard."""
        if len(self.world.requests) < MANY:
            return super()._act(action)
        try:
            while (status := run_interruptibly(lambda: self._take_on(action))) == FULL:
                self.grow()
            return int(status)
        except Interrupted as interrupt:
            self._lost = True
            raise interrupt.signal from None

    def _take_on(self, action: Sequence[Any]) -> int:
        return int(self._compiled_act(self.world, *action))

    def _period(self, number: int) -> Period:
        """What was measured in a period."""
        period, world = self.world.periods[number], self.world
        looks = world.looks[number]
        before = world.looks[number - 1] if number > 0 else np.zeros_like(looks)
        seen = {name: looks[name] - before[name] for name in (*MEASURED, "served", "service_s")}
        last = number + 1 == int(world.clock[0]["period"])
        done = int(world.clock[0]["done"]) if last else int(world.periods[number + 1]["done"])
        served, paid = seen["served"].sum(axis=1), world.periods["rent_usd"]
        return locked(
            Period(
                begin=float(period["begin"]),
                end=float(period["end"]),
                counts=looks["counts"].copy(),
                arrived=seen["arrived"],
                blocked=seen["blocked"],
                served=served,
                forward=seen["forwarded"],
                turned=seen["turned"],
                utilisation=seen["busy_s"] / np.maximum(seen["up_s"], 1e-300),
                held=seen["held_s"] / (period["until"] - period["begin"]),
                held_at_end=looks["held_at_end"].copy(),
                sojourn_s=seen["sojourn_s"] / np.maximum(served, 1),
                served_by_size=seen["served"],
                service_s=seen["service_s"],
                requests=int(period["requests"]),
                responses=world.responses[int(period["done"]) : done],
                cost_usd=float(paid[number] - (paid[number - 1] if number > 0 else 0.0)),
                keeps_sla=bool(period["keeps_sla"]),
            )
        )

    def _counts_of(self, action: Any) -> Ints:
        """An action as numbers of VMs, checked."""
        if action is None:
            return self.counts
        names = [tier.name for tier in self.scenario.tiers]
        wanted = whole_numbers(action, self.limits.shape)
        if wanted is None:
            raise InvalidAction(
                f"action {written(action)} is not allowed: whole numbers of fat and thin VMs "
                f"for each of {len(names)} tiers"
            )
        for tier, name in enumerate(names):
            for size in Size:
                count, most = int(wanted[tier, size]), int(self.limits[tier, size])
                if not 0 <= count <= most:
                    raise InvalidAction(
                        f"{name}: {count} {size.name.lower()} VMs are not allowed: 0 to {most}"
                    )
            if wanted[tier].sum() == 0:
                raise InvalidAction(f"{name}: no VM is not allowed: at least one")
        for size, limit in zip(Size, (self.scenario.max_fat, self.scenario.max_thin), strict=True):
            total = int(wanted[:, size].sum())
            if limit is not None and total > limit:
                raise InvalidAction(
                    f"{total} {size.name.lower()} VMs are not allowed: at most {limit} in all tiers"
                )
        return wanted
