"""Random numbers without a state: the same key and counters always give the same number.

So what a request draws does not depend on what was drawn before it, and two policies that serve
requests in another order still give each the same work (common random numbers).
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_call, jit_uncounted
from cloudarena.engine.streams import stream

STEP = np.uint64(0x9E3779B97F4A7C15)
"""The step by which SplitMix64 goes on: 2^64 over the golden ratio."""


def make_key(seed: int, purpose: str) -> np.uint64:
    """The key of a purpose, such as ``service``."""
    return np.uint64(stream(seed, purpose).integers(0, 2**63))


def name_key(name: str) -> int:
    """A counter for the numbers of something that has a name, wherever it stands in a list."""
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 2


@jit_uncounted
def scramble(bits: np.uint64) -> np.uint64:
    """Mixes 64 bits: the finaliser of SplitMix64 (Steele et al. 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@jit_uncounted
def random_bits(key: np.uint64, first: int, second: int) -> np.uint64:
    """64 random bits."""
    bits = scramble(key + np.uint64(first) * STEP)
    return scramble(bits + np.uint64(second) * np.uint64(0xD1B54A32D192ED03))


@jit_uncounted
def as_uniform(bits: np.uint64) -> float:
    """The upper 53 bits as a number between 0 and 1, neither included."""
    return (np.float64(bits >> np.uint64(11)) + 0.5) / 9007199254740992.0


@jit_uncounted
def uniform(key: np.uint64, first: int, second: int) -> float:
    """A number between 0 and 1, neither included."""
    return as_uniform(random_bits(key, first, second))


@jit_uncounted
def normal(key: np.uint64, first: int, second: int) -> float:
    """A standard normal number (Box and Muller 1958)."""
    radius = np.sqrt(-2.0 * np.log(uniform(key, first, 2 * second)))
    return radius * np.cos(2.0 * np.pi * uniform(key, first, 2 * second + 1))


LAYERS = 256
TAIL = 7.69711747013104972
"""Where the tail of the exponential distribution begins if it is as large as any other layer."""


def _widths() -> NDArray[np.float64]:
    """The widths of layers of equal area under exp(-x), the widest first; behind the last, 0.

    The first is as wide as it would be without a tail.
    """
    area = (TAIL + 1.0) * math.exp(-TAIL)
    widths = [area * math.exp(TAIL), TAIL]
    while len(widths) < LAYERS:
        widths.append(-math.log(area / widths[-1] + math.exp(-widths[-1])))
    return np.array([*widths, 0.0])


WIDTHS = _widths()


@jit_uncounted
def exponential(key: np.uint64, first: int, second: int) -> float:
    """An exponential number of mean 1, by layers (Marsaglia and Tsang 2000).

    A point in a layer that is under the curve for certain is the number: 99 of 100 are, and need
    no logarithm, which would take longer than all the rest.
    """
    bits = random_bits(key, first, second)
    layer = np.int64(bits & np.uint64(LAYERS - 1))
    point = as_uniform(bits) * WIDTHS[layer]
    return point if point < WIDTHS[layer + 1] else _exponential_at_edge(bits)


@jit_call
def _exponential_at_edge(bits: np.uint64) -> float:
    """Draws as ``exponential`` does, also for points that may not be under the curve."""
    while True:
        layer = np.int64(bits & np.uint64(LAYERS - 1))
        point = as_uniform(bits) * WIDTHS[layer]
        if point < WIDTHS[layer + 1]:
            return point
        bits = scramble(bits + STEP)
        if layer == 0:
            return TAIL - np.log(as_uniform(bits))
        low, high = np.exp(-WIDTHS[layer]), np.exp(-WIDTHS[layer + 1])
        if low + as_uniform(bits) * (high - low) < np.exp(-point):
            return point
        bits = scramble(bits + STEP)
