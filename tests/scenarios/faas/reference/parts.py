"""What a run is made of: nodes, requests, replicas, timers, power models."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Act = Callable[[], None]


@dataclass(eq=False)
class Node:
    """A device and what is on it."""

    device: Any
    replicas: list[Any] = field(default_factory=list)
    images: dict[str, float] = field(default_factory=dict)
    """When each is there; those on their way too."""
    transfers: list[tuple[Any, int]] = field(default_factory=list)
    """Without a network: for whom, and for which function."""
    aged: float = 0.0
    """The rank of the last replica that was evicted there."""
    failed: bool = False
    state: str = "on"
    changes: float | None = None
    """When it has booted, or is switched off."""
    supply: Any = None
    charge: float = 0.0
    sun: float = 0.0
    spilled: float = 0.0
    grid: float = 0.0
    """From the grid, where there is a battery."""
    out: bool = False
    """Whether its battery is empty, and it has failed for that."""
    energy: float = 0.0
    idle: float = 0.0
    network: float = 0.0
    carbon: float = 0.0


@dataclass(eq=False)
class Request:
    """A request on its way."""

    function: int
    number: int
    arrival: float
    replica: Any = None
    start: float | None = None
    left: float = 0.0
    state: str = "waiting"
    outcome: str = "unfinished"
    finish: float | None = None
    early: bool = False
    """Whether it ended within the warm-up."""
    tries: int = 0
    caller: Any = None
    """The request that waits for it."""
    calls: list[Any] | None = None
    """The calls that it still makes; None before it has executed."""
    open: int = 0
    broken: bool = False
    made: set[int] = field(default_factory=set)
    """Which of its calls it has made, also in earlier tries,"""
    again: bool = False
    """and whether it is one that was made in an earlier try, or was called by such a one."""
    came_first: float = 0.0
    """When the first of those came that call each other down to this one."""

    def __post_init__(self) -> None:
        self.came_first = self.arrival


@dataclass(eq=False)
class Replica:
    """A replica, its phase and its queue."""

    function: int
    order: int
    node: Node
    slot: int
    """What happens to replicas at one instant goes by their slots, which are used again."""
    phase: str = "scheduled"
    pulls: bool = False
    ends: float | None = None
    """When it ends unless a request comes."""
    placed_s: float = 0.0
    ready_s: float = 0.0
    served: int = 0
    rank: float = 0.0
    idle_from: float = 0.0
    queue: list[Request] = field(default_factory=list)
    running: list[Request] = field(default_factory=list)
    coming: list[Request] = field(default_factory=list)
    drains: bool = False

    @property
    def serves(self) -> bool:
        """Whether it has been ready."""
        return self.phase == "running"

    def work(self) -> int:
        """How many requests it has or is about to have."""
        return len(self.queue) + len(self.running) + len(self.coming)


@dataclass(eq=False)
class Timer:
    """Something that happens at a time, in the order of its kind."""

    time: float
    kind: int
    number: int
    owner: Any
    act: Act


def power_at(power: Any, use: float) -> float:
    """The watts of a power model at a utilisation of the CPU, with all else idle."""
    if power.model == "points":
        points = power.points or [(k / 10, watts) for k, watts in enumerate(power.watts)]
        for (low, at_low), (high, at_high) in itertools.pairwise(points):
            if low <= use <= high:
                return at_low + (at_high - at_low) * (use - low) / (high - low)
    if power.model == "curve":
        return power.idle_w + (power.busy_w - power.idle_w) * (2 * use - use**power.r)
    return power.idle_w + power.cpu_w * use


def idle_power(power: Any) -> float:
    """The watts of a power model with nothing to do."""
    return power_at(power, 0.0)
