"""Random numbers without a state: the same key and counters always give the same number.

So what a request draws does not depend on what was drawn before it, and two policies that serve
requests in another order still give each the same work (common random numbers).
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import lean
from cloudarena.engine.streams import stream


def make_key(seed: int, purpose: str) -> np.uint64:
    """The key of a purpose, such as ``service``."""
    return np.uint64(stream(seed, purpose).integers(0, 2**63))


@lean
def scramble(bits: np.uint64) -> np.uint64:
    """Mixes 64 bits: the finaliser of SplitMix64 (Steele et al. 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@lean
def uniform(key: np.uint64, first: int, second: int) -> float:
    """A number between 0 and 1, neither included."""
    bits = scramble(key + np.uint64(first) * np.uint64(0x9E3779B97F4A7C15))
    bits = scramble(bits + np.uint64(second) * np.uint64(0xD1B54A32D192ED03))
    return (np.float64(bits >> np.uint64(11)) + 0.5) / 9007199254740992.0


@lean
def normal(key: np.uint64, first: int, second: int) -> float:
    """A standard normal number (Box and Muller 1958)."""
    radius = np.sqrt(-2.0 * np.log(uniform(key, first, 2 * second)))
    return radius * np.cos(2.0 * np.pi * uniform(key, first, 2 * second + 1))
