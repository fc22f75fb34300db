"""Where episodes begin: a whole run of a seed, or a window of the work of some seeds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from cloudarena.base.arrays import Ints, is_whole
from cloudarena.base.errors import SpecError
from cloudarena.contract.kernel_run import KernelRun
from cloudarena.contract.scenario import Scenario
from cloudarena.contract.window import HOURS, SECONDS_PER_HOUR, WHOLE, Window
from cloudarena.engine.worlds import Snapshot
from cloudarena.policies import begin
from cloudarena.policies.blame import asked
from cloudarena.policies.policy import Policy

KEPT_BYTES = 512 * 1024 * 1024
"""Beginnings are kept for the next time as long as they take no more room than this."""


class Beginning:
    """A run at its first decision, and its state to come back to."""

    def __init__(self, run: KernelRun[Any], part: str = "", is_warm: bool = False) -> None:
        self.run = run
        if part:
            to_part(run, part, run.scenario.kind.policies.resolve(run.scenario.kind.default_policy))
        self.is_deciding = run.is_deciding
        self.snapshot = Snapshot(run.world)
        self._is_warm = is_warm
        self._earned: dict[Any, float] = {}

    def widen(self, room: int) -> None:
        """Makes room in its state for what other episodes needed room for."""
        if self.run.room < room:
            self.run.widen(room)
            self.snapshot = Snapshot(self.run.world)

    def earned(self, earned_in: Callable[[Any], float]) -> float:
        """What does not belong to the first step: what was earned while the cloud warmed up."""
        if not self._is_warm:
            return 0.0  # what is earned before the first decision belongs to the first step
        if earned_in not in self._earned:
            self._earned[earned_in] = float(earned_in(self.run))
        return self._earned[earned_in]


def to_part(run: Any, part: str, others: Policy) -> bool:
    """Lets a policy decide until a decision of a part is to be taken; whether there is one."""
    while run.is_deciding and run.asks != part:
        run.apply(asked(others, run.decision))
    return bool(run.is_deciding)


class Episodes:
    """The episodes of a scenario, by number.

    Without a window the number of an episode is the seed of its run. With one it is the number of
    a start: the starts are evenly spaced over the work of the first seed, then of the second, and
    so on, at most ``window.starts`` in all.

    Args:
        scenario: the whole scenario.
        window: as a user writes it, such as ``{"vms": 256}`` or ``{"hours": 24}``.
        seed: the first of the seeds whose work is cut into windows.
        part: which of the kind's decisions are taken, such as ``scale``; nothing for all. Others
            are taken by the kind's default policy.
    """

    def __init__(
        self,
        scenario: Scenario,
        window: Mapping[str, Any] | None = None,
        seed: int = 0,
        part: str = "",
    ) -> None:
        self.scenario = scenario
        self.seed, self.part = seed, part
        self._room = scenario.kind.room("build")
        self.window: Window | None = None
        if window is not None:
            self.window = Window.of(window, getattr(self._room, "WINDOWS", ()))
        self._places: dict[int, Ints] = {}
        self._workloads: OrderedDict[int, Any] = OrderedDict()
        self._kept: OrderedDict[int, Beginning] = OrderedDict()
        self._bytes = 0
        self.room = 0
        """The most room that an episode needed: to make room in the middle of one takes long."""

    @property
    def count(self) -> int | None:
        """How many different episodes there are; None where each seed makes one."""
        return None if self.window is None else self.window.seeds * self._per_seed

    @property
    def _per_seed(self) -> int:
        assert self.window is not None
        return max(1, self.window.starts // self.window.seeds)

    @property
    def is_warm(self) -> bool:
        """Whether something has happened before an episode begins."""
        return self.window is not None and self.window.warmup > 0.0

    def choose(self, seed: int | None, start: Any, rng: np.random.Generator) -> int:
        """The number of the next episode.

        It is the start that is asked for; without a window, the seed that is given; else a random
        one, by the generator of an environment.
        """
        if start is not None:
            if self.count is None:
                raise SpecError(f"start: {start!r} is not allowed: there is no window")
            if not is_whole(start) or not 0 <= start < self.count:
                raise SpecError(f"start: {start!r} is not allowed: 0 to {self.count - 1}")
            return int(start)
        if self.count is not None:
            return int(rng.integers(self.count))
        return int(rng.integers(2**31)) if seed is None else seed

    def begin(self, number: int) -> Beginning:
        """The beginning of an episode, made once and kept."""
        beginning = self._kept.get(number)
        if beginning is None:
            beginning = Beginning(self.start(number), self.part, self.is_warm)
        else:
            self._kept.move_to_end(number)
            self._bytes -= beginning.snapshot.size
        beginning.widen(self.room)
        self._kept[number] = beginning
        self._bytes += beginning.snapshot.size
        while self._bytes > KEPT_BYTES and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].snapshot.size
        return beginning

    def start(self, number: int) -> Any:
        """A run of an episode, before its first decision."""
        if self.window is None:
            return self.scenario.start(number, record="none")
        which, place = divmod(number, self._per_seed)
        seed = self.seed + which
        if self.window.unit == WHOLE:
            return self.scenario.start(seed, record="none")
        workload, window = self._workload(seed), self.window.with_warmup
        if seed not in self._places:
            self._places[seed] = self._room.places(self.scenario, workload, window)
        places = self._places[seed]
        chosen = int(places[place * len(places) // self._per_seed])
        run = self._room.cut(self.scenario, workload, window, chosen).start(seed, record="none")
        if self.is_warm:
            self._warm_up(run, workload, chosen)
        return run

    def _workload(self, seed: int) -> Any:
        """The work of a seed, loaded once."""
        if seed not in self._workloads:
            found = self.scenario.load_workload(seed)
            # What comes piece by piece is too much to be kept: two are enough to say so.
            self._workloads[seed] = (
                tuple(islice(found, 2)) if isinstance(found, Iterator) else found
            )
        return self._workloads[seed]

    def _warm_up(self, run: Any, workload: Any, chosen: int) -> None:
        """Lets the policy of the scenario decide until the window itself begins."""
        assert self.window is not None
        until_s = self.window.warmup * SECONDS_PER_HOUR
        if self.window.unit != HOURS:
            arrivals = self._room.arrivals_s(self.scenario, workload)
            first = min(chosen + int(self.window.warmup), len(arrivals) - 1)
            until_s = float(arrivals[first] - arrivals[chosen])
        policy = self.scenario.kind.policies.resolve(
            self.scenario.policy or self.scenario.kind.default_policy
        )
        begin(policy, run.scenario, run.seed)
        while run.is_deciding and run.now < until_s:
            run.apply(asked(policy, run.decision))
