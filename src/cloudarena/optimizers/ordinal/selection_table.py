"""How many layers to select, by our own table, from Omega type and noise.

The rows are made by ``python -m tools.calibrate_selection_table``: 1000 runs of 1000 designs each,
for a probability of 0.95. They are ours: the tables of the literature (Lau and Ho 1997; Zhao, Ho
and Jia 2005) were calibrated on problems that are not described well enough to check them.

A problem of other size is scaled to the table's as the literature does. Where it has many more
designs than the table, the wanted number of good ones scales down to 1, which is not safe; and
the rows are for independent noise: common random numbers make thousands of thin layers, of which
the table selects more than it need. So ``screening.py`` is the default, and it judges what the
table selects as well.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cloudarena.optimizers.ordinal.order_curve import Shape

DESIGNS = 1000
"""The designs of the problems that the table was calibrated on."""


class Row(NamedTuple):
    """The fit of a kind of problem at a level of noise."""

    kind: str
    noise: float
    z0: float
    rho: float
    beta: float
    eta: float
    layers: int
    """How many layers were observed, in the median."""

    def layers_needed(self, at_least: float, good_layers: float) -> float:
        """Observed layers that hold ``at_least`` designs of the first true layers."""
        return float(np.exp(self.z0) * at_least**self.rho * good_layers**self.beta + self.eta)


# fmt: off
ROWS = (
    Row("steep", 0.05, -4.722, 1.485, -0.337, 0.886, 38),
    Row("steep", 0.1, -2.845, 1.187, -0.445, 0.833, 39),
    Row("steep", 0.25, -0.711, 0.858, -0.580, 0.679, 45),
    Row("steep", 0.5, 0.244, 0.745, -0.649, 0.575, 51),
    Row("steep", 1.0, 0.758, 0.693, -0.657, 0.472, 56),
    Row("steep", 2.5, 1.099, 0.648, -0.657, 0.439, 58),
    Row("neutral", 0.05, -3.863, 1.310, -0.148, 0.845, 45),
    Row("neutral", 0.1, -2.249, 1.036, -0.301, 0.765, 46),
    Row("neutral", 0.25, -0.543, 0.861, -0.574, 0.657, 50),
    Row("neutral", 0.5, 0.447, 0.806, -0.749, 0.615, 55),
    Row("neutral", 1.0, 1.171, 0.749, -0.830, 0.557, 57),
    Row("neutral", 2.5, 1.639, 0.684, -0.824, 0.574, 58),
    Row("flat", 0.05, -1.888, 0.896, -0.026, 0.646, 41),
    Row("flat", 0.1, -1.565, 0.839, -0.070, 0.632, 42),
    Row("flat", 0.25, -0.670, 0.870, -0.438, 0.595, 47),
    Row("flat", 0.5, 0.499, 0.895, -0.834, 0.638, 53),
    Row("flat", 1.0, 1.657, 0.789, -0.998, 0.591, 56),
    Row("flat", 2.5, 2.313, 0.717, -1.027, 0.671, 58),
)
# fmt: on


def layers_to_select(
    shape: Shape, noise: float, designs: int, layers: int, at_least: int = 1, good_layers: int = 1
) -> int:
    """How many of the observed layers to select.

    ``k' = max(1, ceil(k 1000 / designs))``, ``g' = max(1, floor(g L0 / layers))`` and
    ``s = ceil(s' layers / L0)``, with L0 the layers of the row. Between two levels of noise the
    logarithm of ``s' / L0`` is interpolated in that of the noise; beyond the table the nearest
    row counts.

    Args:
        shape: the Omega type; what is neither steep nor flat counts as neutral.
        noise: the noise level.
        designs: how many there are.
        layers: how many layers were observed.
        at_least: k, how many good designs are wanted.
        good_layers: g, how many of the first true layers are good.
    """
    kind = shape if shape in ("steep", "flat") else "neutral"
    rows = [row for row in ROWS if row.kind == kind]
    wanted = max(1, math.ceil(at_least * DESIGNS / designs))
    parts = [
        row.layers_needed(wanted, max(1, math.floor(good_layers * row.layers / layers)))
        / row.layers
        for row in rows
    ]
    level = math.log(max(noise, rows[0].noise))
    log_part = np.interp(level, [math.log(row.noise) for row in rows], np.log(parts))
    return min(layers, math.ceil(math.exp(log_part) * layers))
