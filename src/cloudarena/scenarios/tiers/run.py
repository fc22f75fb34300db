"""A run of a multi-tier service: the contract around the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints, locked, read_only
from cloudarena.base.errors import InvalidAction, written
from cloudarena.contract import RecordLevel, Run
from cloudarena.engine.interrupts import Interrupted, apart
from cloudarena.engine.streams import stream
from cloudarena.scenarios.tiers import kernel
from cloudarena.scenarios.tiers.build import build_world, with_slots
from cloudarena.scenarios.tiers.decision import Period, TiersDecision
from cloudarena.scenarios.tiers.metrics import keeps_sla, rent_usd
from cloudarena.scenarios.tiers.spec import TiersScenario
from cloudarena.scenarios.tiers.state import MEASURED, Outcome, Size, VmState

MANY = 1_000_000
"""Requests that take a tenth of a second and more."""


class TiersRun(Run[TiersDecision]):
    """A run of a multi-tier service."""

    scenario: TiersScenario

    def __init__(self, scenario: TiersScenario, seed: int, record: RecordLevel) -> None:
        super().__init__(scenario, seed, record)
        self.rng = stream(seed, "policy")
        self.world = build_world(scenario, seed)
        self.periods: list[Period] = []
        self.rates = np.zeros(scenario.periods)
        self.counts: Ints = np.zeros((len(scenario.tiers), 2), np.int64)
        """VMs in force, (tier, size)."""
        self.changes = 0
        self._oldest = 0
        """No request before this one is in the service."""
        self.limits = read_only(
            np.array([[tier.fat.max, tier.thin.max] for tier in scenario.tiers], np.int64)
        )
        self._vm_rates = np.array([[tier.fat.rate, tier.thin.rate] for tier in scenario.tiers])
        self._measured = self._measure()
        self._paid = 0.0
        start = [[tier.fat.start, tier.thin.start] for tier in scenario.tiers]
        self._change(np.array(start, np.int64), 0.0)
        self._go_on()

    @property
    def now(self) -> float:
        """The time in seconds since the run began."""
        return float(self.world.clock[0]["now"])

    @property
    def is_deciding(self) -> bool:
        """Whether a period is to come; after the last one all requests are gone."""
        return len(self.periods) < self.scenario.periods

    def show(self) -> TiersDecision:
        """What was measured so far, and the VMs in force."""
        return TiersDecision(
            now=self.now,
            scenario=self.scenario,
            periods=tuple(self.periods),
            rates=read_only(self.rates[: len(self.periods)]),
            counts=read_only(self.counts),
            limits=self.limits,
            rng=self.rng,
        )

    def take(self, action: Any) -> None:
        """Starts and releases VMs, and lets the period pass."""
        wanted = self._counts_of(action)
        self.changes += int(np.abs(wanted - self.counts).sum())
        self._change(wanted, self.scenario.boot_s)
        self._go_on()

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
        first = max(first, self._oldest)
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

    def _go_on(self) -> None:
        """Lets a period pass; after the last one, until all requests are gone."""
        number, clock = len(self.periods), self.world.clock[0]
        begin, done, arrived = self.now, int(clock["done"]), int(clock["arrived"])
        end = min((number + 1) * self.scenario.period_s, self.scenario.duration_s)
        self._run_until(end)
        requests = int(clock["arrived"]) - arrived
        held_at_end = self.world.tiers["held"].copy()
        self._oldest = self._first_in_system()
        if number + 1 == self.scenario.periods:
            self._run_until(np.inf)
            self._oldest = len(self.world.requests)
        measured = self._measure()
        seen = {name: value - self._measured[name] for name, value in measured.items()}
        responses, cost = self.world.responses[done : clock["done"]], rent_usd(self)
        served = seen["served"].sum(axis=1)
        period = Period(
            begin=begin,
            end=end,
            counts=self.counts,
            arrived=seen["arrived"],
            blocked=seen["blocked"],
            served=served,
            forward=seen["forwarded"],
            turned=seen["turned"],
            utilisation=seen["busy_s"] / np.maximum(seen["up_s"], 1e-300),
            held=seen["held_s"] / (self.now - begin),
            held_at_end=held_at_end,
            sojourn_s=seen["sojourn_s"] / np.maximum(served, 1),
            served_by_size=seen["served"],
            service_s=seen["service_s"],
            requests=requests,
            responses=responses,
            cost_usd=cost - self._paid,
            keeps_sla=keeps_sla(
                self.scenario.sla, responses, int(seen["blocked"].sum()), self.waited(0)
            ),
        )
        self.periods.append(locked(period))
        self.rates[number] = period.rate
        self._measured, self._paid = measured, cost

    def _first_in_system(self) -> int:
        """The first request that is in the service; those before it need not be looked at."""
        arrived = int(self.world.clock[0]["arrived"])
        there = self.world.requests["state"][self._oldest : arrived] == Outcome.IN_SYSTEM
        return self._oldest + int(np.argmax(there)) if there.any() else arrived

    def _run_until(self, time: float) -> None:
        """Lets time pass. Where that may take a second and more, signals are heard meanwhile."""
        if len(self.world.requests) < MANY:
            kernel.run_until(self.world, time)
            return
        try:
            apart(lambda: kernel.run_until(self.world, time))
        except Interrupted as interrupt:
            raise interrupt.signal from None

    def _measure(self) -> dict[str, NDArray[Any]]:
        """What was measured of the tiers from the begin of the run."""
        tiers = {name: self.world.tiers[name].copy() for name in MEASURED}
        more = {"served": self.world.served.copy(), "service_s": self.world.service_s.copy()}
        return tiers | more

    def _change(self, wanted: Ints, boot_s: float) -> None:
        """Rents and releases VMs, so that these are in force."""
        changes = wanted - self.counts
        for tier, size in np.argwhere(changes > 0).tolist():
            self._rent(tier, size, int(changes[tier, size]), boot_s)
        for tier, size in np.argwhere(changes < 0).tolist():
            for _ in range(-int(changes[tier, size])):
                kernel.release(self.world, self._least_needed(tier, size))
        self.counts = wanted

    def _rent(self, tier: int, size: int, count: int, boot_s: float) -> None:
        """Rents VMs, in free slots; makes more slots if there are too few."""
        while np.count_nonzero(self.world.vms["state"] == VmState.OFF) < count:
            self.world = with_slots(self.world, 2 * len(self.world.vms))
        for slot in np.flatnonzero(self.world.vms["state"] == VmState.OFF)[:count].tolist():
            rate = float(self._vm_rates[tier, size])
            kernel.rent(self.world, slot, tier, size, rate, boot_s)

    def _least_needed(self, tier: int, size: int) -> int:
        """The VM to release: the last that boots if there is one, else that which holds least."""
        vms = self.world.vms
        mine = (vms["tier"] == tier) & (vms["size"] == size) & (vms["leaving"] == 0)
        booting = np.flatnonzero(mine & (vms["state"] == VmState.BOOTING))
        if len(booting):
            return int(booting[np.argmax(vms["since"][booting])])
        up = np.flatnonzero(mine & (vms["state"] == VmState.UP))
        return int(up[np.argmin(vms["held"][up])])

    def _counts_of(self, action: Any) -> Ints:
        """An action as numbers of VMs, checked."""
        if action is None:
            return self.counts
        names = [tier.name for tier in self.scenario.tiers]
        try:
            given = np.asarray(action)
            wanted = given.astype(np.int64)
            good = wanted.shape == self.limits.shape and bool((wanted == given).all())
        except (TypeError, ValueError, OverflowError):
            good = False
        if not good:
            raise InvalidAction(
                f"action {written(action)} is not allowed: whole numbers of fat and thin VMs "
                f"for each of {len(names)} tiers"
            )
        for tier, name in enumerate(names):
            for size in Size:
                number, most = int(wanted[tier, size]), int(self.limits[tier, size])
                if not 0 <= number <= most:
                    raise InvalidAction(
                        f"{name}: {number} {size.name.lower()} VMs are not allowed: 0 to {most}"
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
