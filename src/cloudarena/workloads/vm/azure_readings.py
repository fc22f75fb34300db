"""CPU readings of generated VMs: how busy each one is, and how that goes up and down.

Most VMs are little busy and a few much. Each has a daily wave, noise that lasts, and rare spikes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit, jit_inline
from cloudarena.workloads.quotas import strata
from cloudarena.workloads.vm.columns import TICKS_PER_DAY

PERSISTENCE = 0.7
"""The autocorrelation of the noise from one reading to the next."""
SPIKE_PROBABILITY, SPIKE_MEAN = 0.01, 0.25
"""A reading may jump up by a random share of what is left to 100 %."""


def draw_readings(
    rng: np.random.Generator,
    created: NDArray[np.int64],
    lifetime: NDArray[np.int64],
    first_reading: NDArray[np.int64],
    interactive: NDArray[np.bool_],
    cpu_percent: float,
) -> NDArray[np.float64]:
    """The readings of all VMs, one VM after the other, of mean ``cpu_percent``.

    Interactive VMs follow the day the most.
    """
    vms = len(created)
    level = draw_levels(rng, lifetime, cpu_percent)
    amplitude = np.where(interactive, 0.1 + 0.5 * rng.random(vms), 0.25 * rng.random(vms))
    peak_hour = 14.0 + 2.0 * rng.standard_normal(vms)
    noise = 0.05 + 0.25 * rng.random(vms)
    seeds = rng.integers(0, 2**63, vms, dtype=np.int64)
    readings = np.empty(int(lifetime.sum()))
    fill_readings(
        created, lifetime, first_reading, level, amplitude, peak_hour, noise, seeds, readings
    )
    return readings


def draw_levels(
    rng: np.random.Generator, lifetime: NDArray[np.int64], cpu_percent: float
) -> NDArray[np.float64]:
    """Each VM's mean CPU percentage without spikes: most are low, a few high.

    Kumaraswamy's distribution, scaled so that the readings of all VMs have the wanted mean.
    """
    spikes = SPIKE_PROBABILITY * SPIKE_MEAN
    target = (cpu_percent - 100.0 * spikes) / (1.0 - spikes)
    level = (1.0 - (1.0 - strata(rng, len(lifetime))) ** (1 / 4.9)) ** (1 / 0.95)
    return level * target * (lifetime.sum() / (level * lifetime).sum())


@jit
def fill_readings(
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


@jit_inline
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


@jit_inline
def _persist(shocks: NDArray[np.float32], count: int, drift: NDArray[np.float32]) -> None:
    """``drift[k] = 0.7 drift[k - 1] + shocks[k]``, four steps at once to have no short chain."""
    for k in range(count):
        recent = shocks[4 + k] + np.float32(PERSISTENCE) * shocks[3 + k]
        recent += np.float32(PERSISTENCE**2) * shocks[2 + k]
        recent += np.float32(PERSISTENCE**3) * shocks[1 + k]
        drift[4 + k] = np.float32(PERSISTENCE**4) * drift[k] + recent


@jit_inline
def _with_spike(value: np.float32, bits: np.uint32) -> np.float32:
    """The reading, or a jump up from it, by the reading's bits mixed once more."""
    mixed = np.uint32(bits * np.uint32(0x9E3779B9))
    mixed = np.uint32(mixed ^ (mixed >> np.uint32(15))) >> np.uint32(1)
    chance = np.float32(np.int32(mixed)) * np.float32(2.0**-31)
    jump = np.float32(2.0 * SPIKE_MEAN / SPIKE_PROBABILITY) * chance * (np.float32(100.0) - value)
    return value + (jump if chance < np.float32(SPIKE_PROBABILITY) else np.float32(0.0))
