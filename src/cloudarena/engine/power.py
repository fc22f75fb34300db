"""Power curves of machines, from utilisation to watts."""

from __future__ import annotations

from cloudarena.engine.compiled import jit_uncounted

JOULES_PER_KWH = 3.6e6


@jit_uncounted
def power_w(idle_w: float, busy_w: float, r: float, utilisation: float) -> float:
    """Power of a machine in watts at a CPU utilisation (1 is all cores; more counts as 1).

    ``P(u) = idle + (busy - idle) (2u - u^r)``, after Fan, Weber and Barroso, "Power
    provisioning for a warehouse-sized computer", ISCA 2007.
    """
    if utilisation <= 0.0:
        return idle_w
    if utilisation >= 1.0:
        return busy_w
    return idle_w + (busy_w - idle_w) * (2.0 * utilisation - utilisation**r)
