"""Formulas of the thesis that are wrong, kept to replay what it computes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats
from cloudarena.base.checks import check_not_negative, check_positive, spread


def departure_n_over_ast(counts: ArrayLike, sojourn_s: ArrayLike) -> Floats:
    """A tier's departure rate after (3.6): the sum over sizes of VMs / mean sojourn.

    This is Little's law with one request in every VM, whatever arrives. Departures are accepted
    arrivals; the two agree by accident, near half load. The thesis goes on (3.7) to take the
    inverse, a time between departures, for the mean sojourn of the tier: 0.0133 s instead of
    0.107 s for 6 VMs. The last axis is that of sizes.
    """
    vms = check_not_negative("counts", counts)
    time = check_positive("sojourn_s", sojourn_s)
    vms, time = spread(counts=vms, sojourn_s=time)
    return np.sum(vms / time, axis=-1)
