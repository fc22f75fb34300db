"""Readings as rows of files, in batches: which VM each belongs to, and where it lies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.engine.deferred import jit_deferred
from cloudarena.workloads.arrays import plain
from cloudarena.workloads.vm.columns import VmWorkload

if TYPE_CHECKING:
    from numpy.typing import NDArray

LAST_TICK = 10**8
"""No trace reaches beyond this tick: 950 years of 5 minutes. More is a mistake of unit."""
MOST_READINGS = 2**33
"""The readings of a trace that are kept, at 8 bytes each; four times all of Azure's of 2019."""

FINE, NEGATIVE_TIME, NOT_RISING, BAD_VALUE = range(4)


class ReadingCounts(NamedTuple):
    """How the rows of a readings file fit the VMs."""

    reading_rows: int
    readings_of_unknown_vms: int
    readings_outside_life: int
    vms_without_readings: int


class ReadingBoard:
    """Puts readings, a batch at a time and in any order of VMs, where each VM's readings lie.

    Args:
        vms: the VMs; their own readings are not used.
        names: what the readings call the VMs.
        peaks: whether, of two readings of a VM in one tick, the larger counts. Otherwise the
            readings of a VM must rise in time.
    """

    def __init__(self, vms: VmWorkload, names: pa.Array, peaks: bool = False):
        self.readings = np.full(int(vms.lifetime.sum()), np.nan)
        self._vms = vms
        self._find = row_finder(names)
        self._last = np.full(len(vms.created), -1)
        self._peaks = peaks
        self._left_out = np.zeros(2, np.int64)
        self._rows = 0

    def put(
        self, names: pa.Array, time: NDArray[np.int64], value: NDArray[np.float64]
    ) -> tuple[int, int]:
        """Takes a batch; returns what is wrong, and in which row of it."""
        vms = self._vms
        self._rows += len(time)
        return _scatter(
            self._find(names),
            time,
            value,
            vms.created,
            vms.lifetime,
            vms.first_reading,
            self._peaks,
            self._last,
            self.readings,
            self._left_out,
        )

    def counts(self) -> ReadingCounts:
        """How the readings so far fit the VMs."""
        silent = np.logical_and.reduceat(np.isnan(self.readings), self._vms.first_reading)
        unknown, outside = self._left_out.tolist()
        return ReadingCounts(self._rows, unknown, outside, int(silent.sum()))


def check_room(path: Path, lifetime: NDArray[np.int64]) -> None:
    """Raises when the VMs of a trace live too long for their readings to be kept."""
    total = int(lifetime.sum())
    if total > MOST_READINGS:
        raise TraceError(
            f"{path}: its VMs live {total:,} ticks in all, more than the {MOST_READINGS:,} whose "
            "readings can be kept: take fewer VMs"
        )


def row_finder(known: pa.Array) -> Callable[[pa.Array], NDArray[np.int64]]:
    """A function from ids to their rows among the known ids, -1 for unknown ones."""
    known = plain(known)

    def by_hash(ids: pa.Array) -> NDArray[np.int64]:
        ids, among = plain(ids), known
        if ids.type != among.type:
            ids, among = ids.cast(pa.string()), among.cast(pa.string())
        found = pc.fill_null(pc.index_in(ids, value_set=among), -1)
        return np.array(found.to_numpy(), np.int64)

    if known.type != pa.int64():
        return by_hash
    numbers = known.to_numpy()
    low, high = int(numbers.min()), int(numbers.max())
    if high - low > 4 * len(numbers) + 1024:
        return by_hash
    rows = np.full(high - low + 1, -1)
    rows[numbers - low] = np.arange(len(numbers))

    def by_table(ids: pa.Array) -> NDArray[np.int64]:
        ids = plain(ids)
        if ids.type != pa.int64():
            return by_hash(ids)
        values = ids.to_numpy()
        inside = (values >= low) & (values <= high)
        if inside.all():
            return rows[values - low]
        return np.where(inside, rows[np.where(inside, values, low) - low], -1)

    return by_table


@jit_deferred
def _scatter(
    owner: NDArray[np.int64],
    time: NDArray[np.int64],
    value: NDArray[np.float64],
    created: NDArray[np.int64],
    lifetime: NDArray[np.int64],
    first_reading: NDArray[np.int64],
    peaks: bool,
    last: NDArray[np.int64],
    readings: NDArray[np.float64],
    left_out: NDArray[np.int64],
) -> tuple[int, int]:
    """Puts each reading where its VM's readings lie; returns what is wrong, and in which row."""
    for row in range(len(owner)):
        if time[row] < 0:
            return NEGATIVE_TIME, row
        if not 0.0 <= value[row] <= 100.0:
            return BAD_VALUE, row
        vm = owner[row]
        if vm < 0:
            left_out[0] += 1
            continue
        if not peaks:
            if time[row] <= last[vm]:
                return NOT_RISING, row
            last[vm] = time[row]
        k = time[row] - created[vm]
        if not 0 <= k < lifetime[vm]:
            left_out[1] += 1
            continue
        slot = first_reading[vm] + k
        if not peaks or not readings[slot] >= value[row]:
            readings[slot] = value[row]
    return FINE, -1
