"""Runs in chunks of about a second, which adapt to how long runs take."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from statistics import median

from cloudarena.experiments.sweep.plan import Run

TARGET_S = 1.0
"""How long a chunk takes."""
LEAST_S = 0.05
"""How long one of the last ones takes at least."""
MOST = 5_000
"""Runs of a chunk."""
GROWTH = 4
"""A chunk has at most so many times the runs of the largest one that has come back."""
REMEMBERED = 200
"""The runs by whose times the next ones are judged."""


class Chunker:
    """Cuts runs into chunks.

    A chunk ends where the work changes (another scenario or seed), if that is near, so that the
    next worker need not make the same work again.
    """

    def __init__(self, runs: Iterable[Run], total: int, slots: int) -> None:
        self._runs: Iterator[Run] = iter(runs)
        self._next: deque[Run] = deque()
        self._left = total
        self._slots = slots
        self._largest = 1
        self._times: deque[float] = deque(maxlen=REMEMBERED)
        self.timed = 0
        """Runs of which one knows how long they took."""

    @property
    def seconds_per_run(self) -> float | None:
        """How long a run takes, as far as one knows."""
        return median(self._times) if self._times else None

    def learn(self, seconds: Iterable[float]) -> None:
        """Takes note of how long the runs of a chunk took."""
        times = list(seconds)
        self._times.extend(times)
        self.timed += len(times)
        self._largest = max(self._largest, len(times))

    def put_back(self, runs: Iterable[Run]) -> None:
        """Has some runs come next, again."""
        again = list(runs)
        self._next.extendleft(reversed(again))
        self._left += len(again)

    def take(self) -> list[Run]:
        """The next chunk; nothing when there are no more runs."""
        size = self._size()
        while len(self._next) < 2 * size and (run := next(self._runs, None)) is not None:
            self._next.append(run)
        if not self._next:
            return []
        some = [self._next.popleft() for _ in range(min(size, len(self._next)))]
        ahead = islice(self._next, size)
        more = next((k for k, run in enumerate(ahead) if not _same_work(some[-1], run)), None)
        some += [self._next.popleft() for _ in range(more or 0)]
        self._left -= len(some)
        return some

    def _size(self) -> int:
        each = self.seconds_per_run
        if each is None:
            return 1
        by_time = TARGET_S / max(each, 1e-6)
        # Near the end all workers have some, but none has too little.
        fair = max(-(-self._left // (2 * self._slots)), LEAST_S / max(each, 1e-6))
        return int(max(1, min(by_time, GROWTH * self._largest, fair, MOST)))


def _same_work(one: Run, other: Run) -> bool:
    """Whether two runs may share their work: it is drawn by the seed."""
    return one.replication == other.replication
