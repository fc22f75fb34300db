"""Choosing among designs by simulation, with a guarantee; knows nothing of clouds.

A ``Problem`` is a set of designs and a random experiment on a design. Each method takes a problem
and returns a ``Selection``: what to take, how good it is, how sure that is, and what it cost.
"""

from cloudarena.optimizers.budget.memoized import MemoizedProblem
from cloudarena.optimizers.budget.meter import Progress
from cloudarena.optimizers.methods import METHODS, Method
from cloudarena.optimizers.methods.auto import auto
from cloudarena.optimizers.methods.blind_pick import blind_pick, blind_pick_size, hit_probability
from cloudarena.optimizers.methods.gp import gp
from cloudarena.optimizers.methods.halving import successive_halving
from cloudarena.optimizers.methods.kim_nelson import kim_nelson
from cloudarena.optimizers.methods.los import los
from cloudarena.optimizers.methods.mocba import mocba, mocba_shares
from cloudarena.optimizers.methods.monte_carlo import monte_carlo
from cloudarena.optimizers.methods.nsga2 import nsga2
from cloudarena.optimizers.methods.ocba import ocba, ocba_allocation, ocba_m, ocba_m_allocation
from cloudarena.optimizers.methods.ocba_co import ocba_co
from cloudarena.optimizers.methods.optuna_search import cma_es, tpe
from cloudarena.optimizers.methods.random_search import random_search
from cloudarena.optimizers.ordinal.alignment import Alignment
from cloudarena.optimizers.ordinal.layers import layers
from cloudarena.optimizers.ordinal.order_curve import Omega, OrderCurve, noise_level_411
from cloudarena.optimizers.ordinal.speed_up import SpeedUp, speed_up
from cloudarena.optimizers.problem import FunctionProblem, Objective, Problem, Subset
from cloudarena.optimizers.selection import Selection
from cloudarena.optimizers.spaces.encoding import Encoding
from cloudarena.optimizers.spaces.grid import Grid

__all__ = [
    "METHODS",
    "Alignment",
    "Encoding",
    "FunctionProblem",
    "Grid",
    "MemoizedProblem",
    "Method",
    "Objective",
    "Omega",
    "OrderCurve",
    "Problem",
    "Progress",
    "Selection",
    "SpeedUp",
    "Subset",
    "auto",
    "blind_pick",
    "blind_pick_size",
    "cma_es",
    "gp",
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
    "ocba_co",
    "ocba_m",
    "ocba_m_allocation",
    "random_search",
    "speed_up",
    "successive_halving",
    "tpe",
]
