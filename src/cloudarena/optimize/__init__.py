"""Choosing among designs by simulation, with a guarantee; knows nothing of clouds.

A ``Problem`` is a set of designs and a random experiment on a design. Each method takes a problem
and returns a ``Selection``: what to take, how good it is, how sure that is, and what it cost.
"""

from collections.abc import Callable

from cloudarena.optimize.alignment import Alignment
from cloudarena.optimize.auto import auto
from cloudarena.optimize.blind_pick import blind_pick, blind_pick_size, hit_probability
from cloudarena.optimize.grids import Grid
from cloudarena.optimize.halving import successive_halving
from cloudarena.optimize.kn import kim_nelson
from cloudarena.optimize.layers import layers
from cloudarena.optimize.los import los
from cloudarena.optimize.meter import Progress
from cloudarena.optimize.mocba import mocba, mocba_shares
from cloudarena.optimize.monte_carlo import monte_carlo
from cloudarena.optimize.nsga2 import nsga2
from cloudarena.optimize.ocba import ocba, ocba_allocation, ocba_m, ocba_m_allocation
from cloudarena.optimize.order import Omega, OrderCurve, noise_level_411
from cloudarena.optimize.problem import Encoding, FunctionProblem, Objective, Problem, Subset
from cloudarena.optimize.remembered import Remembered
from cloudarena.optimize.selection import Selection
from cloudarena.optimize.speed_up import SpeedUp, speed_up

METHODS: dict[str, Callable[..., Selection]] = {
    "auto": auto,
    "monte-carlo": monte_carlo,
    "blind-pick": blind_pick,
    "los": los,
    "ocba": ocba,
    "ocba-m": ocba_m,
    "mocba": mocba,
    "kim-nelson": kim_nelson,
    "successive-halving": successive_halving,
    "nsga2": nsga2,
}
"""All methods by name. Each takes the problem and, by keyword, at least ``evaluations``,
``confidence`` and ``watcher``."""

__all__ = [
    "METHODS",
    "Alignment",
    "Encoding",
    "FunctionProblem",
    "Grid",
    "Objective",
    "Omega",
    "OrderCurve",
    "Problem",
    "Progress",
    "Remembered",
    "Selection",
    "SpeedUp",
    "Subset",
    "auto",
    "blind_pick",
    "blind_pick_size",
    "hit_probability",
    "kim_nelson",
    "layers",
    "los",
    "mocba",
    "mocba_shares",
    "monte_carlo",
    "noise_level_411",
    "nsga2",
    "ocba",
    "ocba_allocation",
    "ocba_m",
    "ocba_m_allocation",
    "speed_up",
    "successive_halving",
]
