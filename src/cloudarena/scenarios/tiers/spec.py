"""What a user writes for a tiers scenario, validated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrays import Floats
from cloudarena.contract.kind import Kind
from cloudarena.contract.scenario import MachineGroup, Scenario
from cloudarena.contract.source import Source
from cloudarena.contract.spec import Spec
from cloudarena.scenarios.tiers import KIND
from cloudarena.scenarios.tiers.sources import Arrivals
from cloudarena.workloads.tiers.source import Rate

MOST_PERIODS = 1_000_000


class Routing(Spec):
    """How requests go through the tiers: ``forward`` is the share that goes on, tier by tier.

    ``depth``: down to a tier, where it turns back, and up again through all tiers above it.
    ``random_walk``: after each tier on with that probability, else one back; out before the first.
    """

    kind: Literal["depth", "random_walk"] = "depth"
    forward: tuple[Annotated[float, Field(ge=0, le=1)], ...] = ()


class VmSize(Spec):
    """VMs of a size at a tier: requests a second, how many at most, how many at the start."""

    rate: Rate
    max: int = Field(ge=0, le=10_000)
    start: int = Field(ge=0, le=10_000)


class Tier(Spec):
    """A tier; ``room`` is how many requests a VM holds at most, with the one it serves."""

    name: str = Field(min_length=1)
    fat: VmSize
    thin: VmSize
    room: int = Field(200, ge=1, le=1_000_000)

    @model_validator(mode="after")
    def _starts_within_limits(self) -> Tier:
        for name, size in (("fat", self.fat), ("thin", self.thin)):
            if size.start > size.max:
                raise PydanticCustomError(
                    "not_allowed",
                    f"{name}.start: {size.start} is not allowed: at most max, {size.max}",
                )
        if self.fat.start + self.thin.start == 0:
            raise PydanticCustomError("not_allowed", "at least one VM must be there at the start")
        return self


class Sla(Spec):
    """What a minute must keep: a bound on the mean response time, or on a quantile of it."""

    metric: Literal["mean", "quantile"] = "mean"
    seconds: float = Field(10.0, gt=0)
    level: float = Field(0.95, gt=0, lt=1)
    penalty_usd: float = Field(1.0, ge=0, le=1e9)
    """The amount that a period outside the SLA adds to ``total_cost_usd``."""


class Prices(Spec):
    """What a VM costs for a minute."""

    fat_minute_usd: float = Field(0.0287, ge=0, le=1e9)
    thin_minute_usd: float = Field(0.0127, ge=0, le=1e9)


class TiersScenario(Scenario):
    """How many fat and thin VMs each tier of an elastic service gets, minute by minute."""

    kind: ClassVar[Kind] = KIND

    scenario: Literal["tiers"]
    duration_s: float = Field(3600.0, gt=0, le=1e8)
    warmup_s: float = Field(0.0, ge=0)
    period_s: float = Field(60.0, gt=0)
    arrivals: Arrivals
    routing: Routing = Routing()
    balance: Literal["weighted", "equal"] = "weighted"
    tiers: tuple[Tier, ...] = Field(min_length=1, max_length=1000)
    max_fat: int | None = Field(None, ge=0)
    """The most fat VMs in all tiers together."""
    max_thin: int | None = Field(None, ge=0)
    """The most thin VMs in all tiers together."""
    service: Literal["exponential", "deterministic", "log-normal", "hyper-exponential"] = (
        "exponential"
    )
    service_scv: float = Field(1.5, gt=0, le=1000)
    """The squared coefficient of variation of log-normal and hyper-exponential service times."""
    boot_s: float = Field(0.0, ge=0)
    sla: Sla = Sla()
    prices: Prices = Prices()

    @model_validator(mode="after")
    def _fits_together(self) -> TiersScenario:
        problems = []
        forward = self.routing.forward
        if len(forward) != len(self.tiers) - 1:
            problems.append(
                f"routing.forward: {list(forward)} is not allowed: {len(self.tiers) - 1} shares, "
                "one for each tier but the last"
            )
        if self.routing.kind == "random_walk" and any(share >= 1 for share in forward):
            problems.append(
                f"routing.forward: {list(forward)} is not allowed: less than 1 each, or nothing "
                "comes back"
            )
        if self.warmup_s >= self.duration_s:
            problems.append(
                f"warmup_s: {self.warmup_s:g} is not allowed: less than duration_s, "
                f"{self.duration_s:g}"
            )
        if self.periods > MOST_PERIODS:
            problems.append(
                f"period_s: {self.period_s:g} is not allowed: at most {MOST_PERIODS:,} periods"
            )
        if self.service == "hyper-exponential" and self.service_scv <= 1:
            problems.append(
                f"service_scv: {self.service_scv:g} is not allowed: more than 1 for "
                "hyper-exponential service"
            )
        names = [tier.name for tier in self.tiers]
        if len(set(names)) < len(names):
            problems.append(f"tiers: names {names} are not allowed: each once")
        for size, most in (("fat", self.max_fat), ("thin", self.max_thin)):
            start = sum(getattr(tier, size).start for tier in self.tiers)
            if most is not None and start > most:
                problems.append(
                    f"max_{size}: {most} is not allowed: {start} are there at the start"
                )
        if problems:
            raise PydanticCustomError("not_allowed", problems[0])
        return self

    @property
    def source(self) -> Source:
        """Where its work comes from."""
        return self.arrivals

    @property
    def machine_groups(self) -> tuple[MachineGroup, ...]:
        """The types of thin VMs, one a tier."""
        return tuple(
            MachineGroup(
                f"thin VMs of {tier.name}",
                f"tiers[{k}].thin.max",
                tier.thin.max,
                also=(f"tiers[{k}].thin.start",),
            )
            for k, tier in enumerate(self.tiers)
        )

    @property
    def action_numbers(self) -> int:
        """How many whole numbers a candidate of learners is: fat and thin VMs of each tier."""
        return 2 * len(self.tiers)

    @property
    def length_s(self) -> float:
        """How long a run lasts."""
        return self.duration_s

    @property
    def periods(self) -> int:
        """How many periods the run has; the last one may be shorter."""
        return max(1, math.ceil(self.duration_s / self.period_s - 1e-9))

    def load_workload(self, seed: int) -> Floats:
        """The arrival rate in each second under a seed."""
        return self.arrivals.load(seed, math.ceil(self.duration_s))

    def not_told(self, seed: int) -> Mapping[str, str]:
        """What the source of its arrivals does not tell."""
        return self.arrivals.not_told(seed)
