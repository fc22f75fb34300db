"""VM requests like those of Azure's public trace of 2019, at any size, from a seed.

Calibrated to what is published of AzurePublicDatasetV2 and its samples of 10,000 and 336,000 VMs
over 30 days (8,638 ticks of 5 minutes): sizes by the trace's buckets, the mean number of VMs
alive at a time, the mean CPU reading. Sizes, lifetimes and CPU levels are drawn by quota (each
seed has the published mix, in another order), so that samples differ in what happens when, not
in how much there is.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cloudarena.engine.compiled import compiled, inner
from cloudarena.engine.streams import stream
from cloudarena.errors import SpecError
from cloudarena.workloads.quotas import draw_by_quota
from cloudarena.workloads.vms import VmWorkload, offsets

MONTH_TICKS = 8638
TICKS_PER_DAY = 288
CONCURRENT_SHARE = 835.7 / 10_000
"""VMs alive at a time per VM of the trace, in the sample of 10,000."""
CPU_PERCENT = 15.7

CORES = (2.0, 4.0, 8.0, 24.0, 32.0)
CORES_SHARE = (0.7330, 0.1277, 0.1014, 0.0251, 0.0128)
CORES_SHARE_LONG = (0.83, 0.10, 0.06, 0.008, 0.002)
"""The mix among VMs that live for more than a day: smaller, 2.8 cores on average."""
MEMORY_GB = (2.0, 4.0, 8.0, 32.0, 64.0, 128.0)
MEMORY_SHARE = (
    (0.12, 0.46, 0.42, 0.0, 0.0, 0.0),
    (0.0, 0.0, 0.54, 0.46, 0.0, 0.0),
    (0.0, 0.0, 0.0, 0.25, 0.75, 0.0),
    (0.0, 0.0, 0.0, 0.0, 0.60, 0.40),
    (0.0, 0.0, 0.0, 0.0, 0.125, 0.875),
)
"""The mix of memory for each core bucket; the means are 5.44, 19.0, 56, 89.6 and 120 GB."""
CATEGORY_SHARE = (0.1703, 0.0455, 0.7842)

INITIAL_SHARE = 650 / 835.7
"""VMs that run already at tick 0, per VM alive at a time."""
MONTH_LONG_SHARE = 0.70
"""The share of those that run all month."""
LIFETIMES = ((0.80, 4.0, 1.2), (0.13, 100.0, 1.0), (0.07, 3000.0, 1.2))
"""Later VMs: share, median in ticks and sigma of a log-normal law, before scaling."""
RESIDUAL_LIFETIME = (1500.0, 1.2)
"""What is left of the other initial VMs: median and sigma, before scaling."""

PERSISTENCE = 0.7
"""The autocorrelation of the noise from one reading to the next."""
SPIKE_PROBABILITY, SPIKE_MEAN = 0.01, 0.25
"""A reading may jump up by a random share of what is left to 100 %."""


def generate(
    vms: int,
    seed: int,
    concurrent: float | None = None,
    cpu_percent: float = CPU_PERCENT,
    ticks: int = MONTH_TICKS,
) -> VmWorkload:
    """Draws a workload of ``vms`` requests over ``ticks`` ticks."""
    rng = stream(seed, "workload")
    concurrent = CONCURRENT_SHARE * vms if concurrent is None else concurrent
    created, initial = _arrivals(rng, vms, concurrent, ticks)
    lifetime = _lifetimes(rng, created, initial, concurrent, ticks)
    long_lived = lifetime > TICKS_PER_DAY
    cores_code = _cores(rng, long_lived)
    memory_gb = np.empty(vms)
    for code, shares in enumerate(MEMORY_SHARE):
        members = np.flatnonzero(cores_code == code)
        memory_gb[members] = np.asarray(MEMORY_GB)[draw_by_quota(rng, len(members), shares)]
    category = draw_by_quota(rng, vms, CATEGORY_SHARE)
    level = _levels(rng, lifetime, cpu_percent)
    amplitude = np.where(category == 1, 0.1 + 0.5 * rng.random(vms), 0.25 * rng.random(vms))
    peak_hour = 14.0 + 2.0 * rng.standard_normal(vms)
    noise = 0.05 + 0.25 * rng.random(vms)
    seeds = rng.integers(0, 2**63, vms, dtype=np.int64)
    subscription = (max(1, vms // 15) * rng.random(vms) ** 2).astype(np.int64)
    deployment = subscription * 4 + rng.integers(0, 4, vms)
    first_reading = offsets(lifetime)
    readings = np.empty(int(lifetime.sum()))
    _fill_readings(
        created, lifetime, first_reading, level, amplitude, peak_hour, noise, seeds, readings
    )
    return VmWorkload(
        ids=pa.array(np.arange(1, vms + 1)),
        subscription=subscription,
        deployment=deployment,
        created=created,
        lifetime=lifetime,
        category=category,
        cores=np.asarray(CORES)[cores_code],
        memory_gb=memory_gb,
        first_reading=first_reading,
        readings=readings,
    )


def _strata(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Uniform numbers, one in each of ``count`` equal strata, in random order."""
    return (rng.permutation(count) + rng.random(count)) / max(count, 1)


def _arrivals(
    rng: np.random.Generator, vms: int, concurrent: float, ticks: int
) -> tuple[NDArray[np.int64], int]:
    """Arrival ticks in order, and how many VMs run already at tick 0.

    Later VMs arrive by a rate that follows the day (twice as many at noon as at midnight) and
    the week (a third less at weekends).
    """
    initial = min(vms, round(INITIAL_SHARE * concurrent))
    time = np.arange(1, ticks)
    rate = 1.0 - np.cos(2 * np.pi * time / TICKS_PER_DAY) / 3
    rate *= np.where(time // TICKS_PER_DAY % 7 >= 5, 2 / 3, 1.0)
    later = np.sort(rng.random(vms - initial))
    created = 1 + np.searchsorted(np.cumsum(rate) / rate.sum(), later)
    return np.concatenate((np.zeros(initial, np.int64), created.astype(np.int64))), initial


def _lifetimes(
    rng: np.random.Generator,
    created: NDArray[np.int64],
    initial: int,
    concurrent: float,
    ticks: int,
) -> NDArray[np.int64]:
    """Lifetimes in ticks, scaled so that ``concurrent`` VMs are alive on average."""
    from scipy.special import ndtri

    vms = len(created)
    month_long = round(MONTH_LONG_SHARE * initial)
    law = np.empty(vms)
    median, sigma = RESIDUAL_LIFETIME
    law[month_long:initial] = median * np.exp(sigma * ndtri(_strata(rng, initial - month_long)))
    kind = draw_by_quota(rng, vms - initial, tuple(share for share, _, _ in LIFETIMES))
    later = np.empty(vms - initial)
    for code, (_, median, sigma) in enumerate(LIFETIMES):
        members = np.flatnonzero(kind == code)
        later[members] = median * np.exp(sigma * ndtri(_strata(rng, len(members))))
    law[initial:] = later
    law[:month_long] = np.inf
    left = ticks - created

    def scaled(scale: float) -> NDArray[np.int64]:
        # A VM that outlives the trace is deleted just after its end.
        return np.minimum(np.ceil(np.maximum(scale * law, 1.0)), left + 1).astype(np.int64)

    target = concurrent * ticks
    low, high = 1e-6, 1e6
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        if np.minimum(scaled(middle), left).sum() < target:
            low = middle
        else:
            high = middle
    lifetime = scaled(high)
    reached = np.minimum(lifetime, left).sum() / ticks
    if abs(reached - concurrent) > max(1.0, 0.02 * concurrent):
        raise SpecError(
            f"workload.concurrent: {concurrent:g} is not allowed: {vms} VMs over {ticks} ticks "
            f"give about {reached:.4g}"
        )
    return lifetime


def _cores(rng: np.random.Generator, long_lived: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Core buckets: the published mix over all VMs, a smaller one among the long-lived."""
    vms, long_count = len(long_lived), int(long_lived.sum())
    codes = draw_by_quota(rng, vms, CORES_SHARE)
    quota = np.bincount(codes, minlength=len(CORES))
    wanted = np.bincount(draw_by_quota(rng, long_count, CORES_SHARE_LONG), minlength=len(CORES))
    counts = np.minimum(wanted, quota)
    while counts.sum() < long_count:
        counts[np.argmax(quota - counts)] += 1
    long_codes = rng.permutation(np.repeat(np.arange(len(CORES)), counts))
    short_codes = rng.permutation(np.repeat(np.arange(len(CORES)), quota - counts))
    codes[long_lived] = long_codes
    codes[~long_lived] = short_codes
    return codes


def _levels(
    rng: np.random.Generator, lifetime: NDArray[np.int64], cpu_percent: float
) -> NDArray[np.float64]:
    """Each VM's mean CPU percentage without spikes: most are low, a few high.

    Kumaraswamy's law, scaled so that the readings of all VMs have the wanted mean.
    """
    spikes = SPIKE_PROBABILITY * SPIKE_MEAN
    target = (cpu_percent - 100.0 * spikes) / (1.0 - spikes)
    level = (1.0 - (1.0 - _strata(rng, len(lifetime))) ** (1 / 4.9)) ** (1 / 0.95)
    return level * target * (lifetime.sum() / (level * lifetime).sum())


@compiled
def _fill_readings(
    created: NDArray[np.int64],
    lifetime: NDArray[np.int64],
    first_reading: NDArray[np.int64],
    level: NDArray[np.float64],
    amplitude: NDArray[np.float64],
    peak_hour: NDArray[np.float64],
    noise: NDArray[np.float64],
    seeds: NDArray[np.int64],
    readings: NDArray[np.float64],
) -> None:
    """Readings in percent: a daily wave, noise that lasts (autocorrelation 0.7), rare spikes.

    Each VM draws from its own seed. Readings are made a day at a time, in single precision and
    in loops without a chain from one reading to the next, so that they run eight at a time.
    """
    turn = 2.0 * np.pi / TICKS_PER_DAY
    # Two days long, so that a day may begin at any tick.
    angles = turn * np.arange(2 * TICKS_PER_DAY)
    cosine, sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    bits = np.empty(TICKS_PER_DAY, np.uint32)
    shocks = np.zeros(TICKS_PER_DAY + 4, np.float32)
    drift = np.zeros(TICKS_PER_DAY + 4, np.float32)
    day = np.empty(TICKS_PER_DAY, np.float32)
    for vm in range(len(created)):
        peak = turn * TICKS_PER_DAY * peak_hour[vm] / 24.0
        swing = level[vm] * amplitude[vm]
        by_cosine, by_sine = np.float32(swing * np.cos(peak)), np.float32(swing * np.sin(peak))
        mean, loudness = np.float32(level[vm]), np.float32(noise[vm])
        key, second_key = np.uint32(seeds[vm]), np.uint32(seeds[vm] >> 32)
        shocks[:4] = np.float32(0.0)
        drift[:4] = np.float32(0.0)
        for start in range(0, lifetime[vm], TICKS_PER_DAY):
            count = min(TICKS_PER_DAY, lifetime[vm] - start)
            tick = (created[vm] + start) % TICKS_PER_DAY
            cosines, sines = cosine[tick : tick + count], sine[tick : tick + count]
            _draw(key, second_key, start, count, bits, shocks)
            _persist(shocks, count, drift)
            for k in range(count):
                wave = by_cosine * cosines[k] + by_sine * sines[k]
                value = (mean + wave) * (np.float32(1.0) + loudness * drift[4 + k])
                day[k] = _with_spike(min(np.float32(100.0), max(np.float32(0.0), value)), bits[k])
            begin = first_reading[vm] + start
            for k in range(count):
                readings[begin + k] = day[k]
            for k in range(4):
                shocks[k], drift[k] = shocks[count + k], drift[count + k]


@inner
def _draw(
    key: np.uint32,
    second_key: np.uint32,
    start: int,
    count: int,
    bits: NDArray[np.uint32],
    shocks: NDArray[np.float32],
) -> None:
    """Random bits for readings ``start`` on, and the shocks in [-1, 1] that they stand for.

    A hash of the reading's number by the two halves of the VM's seed (the mixer ``lowbias32``
    with a second key): unlike a generator with a state it has no chain.
    """
    for k in range(count):
        x = np.uint32(key + np.uint32(start + k))
        x = np.uint32((x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D))
        x = np.uint32((x ^ second_key ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B))
        x = np.uint32(x ^ (x >> np.uint32(16)))
        bits[k] = x
        shocks[4 + k] = np.float32(np.int32(x)) * np.float32(2.0**-31)


@inner
def _persist(shocks: NDArray[np.float32], count: int, drift: NDArray[np.float32]) -> None:
    """``drift[k] = 0.7 drift[k - 1] + shocks[k]``, four steps at once to have no short chain."""
    for k in range(count):
        recent = shocks[4 + k] + np.float32(PERSISTENCE) * shocks[3 + k]
        recent += np.float32(PERSISTENCE**2) * shocks[2 + k]
        recent += np.float32(PERSISTENCE**3) * shocks[1 + k]
        drift[4 + k] = np.float32(PERSISTENCE**4) * drift[k] + recent


@inner
def _with_spike(value: np.float32, bits: np.uint32) -> np.float32:
    """The reading, or a jump up from it, by the reading's bits mixed once more."""
    mixed = np.uint32(bits * np.uint32(0x9E3779B9))
    mixed = np.uint32(mixed ^ (mixed >> np.uint32(15))) >> np.uint32(1)
    chance = np.float32(np.int32(mixed)) * np.float32(2.0**-31)
    jump = np.float32(2.0 * SPIKE_MEAN / SPIKE_PROBABILITY) * chance * (np.float32(100.0) - value)
    return value + (jump if chance < np.float32(SPIKE_PROBABILITY) else np.float32(0.0))
