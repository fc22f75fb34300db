"""Named random streams: one seed, one independent generator for each purpose.

Two policies see the same arrivals whatever they draw themselves, since arrivals and policies
draw from different streams (common random numbers). A new purpose never shifts the draws of
the others.
"""

from __future__ import annotations

import hashlib

from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The generator of one purpose, such as ``arrivals`` or ``policy``, under a seed."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise SpecError(f"seed: {seed!r} is not allowed: a whole number, at least 0")
    digest = hashlib.sha256(purpose.encode()).digest()
    key = (int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little"))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(int(seed), spawn_key=key)))
