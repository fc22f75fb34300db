"""When two times are one instant: sums of floats do not end where the decimals do."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit_uncounted


@jit_uncounted
def time_tolerance(time: float) -> float:
    """How far a sum of several times may be off: eight steps from a float to the next.

    0.1 + 0.2 is one step beyond 0.3. Nearer than this, two times are one instant.
    """
    return 8.0 * (np.nextafter(time, np.inf) - time)
