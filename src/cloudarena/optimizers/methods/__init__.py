"""The methods by name; a new one is a file here and a line below."""

from typing import Any

from cloudarena.optimizers.methods.auto import auto
from cloudarena.optimizers.methods.blind_pick import blind_pick
from cloudarena.optimizers.methods.gp import gp
from cloudarena.optimizers.methods.halving import successive_halving
from cloudarena.optimizers.methods.kim_nelson import kim_nelson
from cloudarena.optimizers.methods.los import los
from cloudarena.optimizers.methods.method import Method
from cloudarena.optimizers.methods.mocba import mocba
from cloudarena.optimizers.methods.monte_carlo import monte_carlo
from cloudarena.optimizers.methods.nsga2 import nsga2
from cloudarena.optimizers.methods.ocba import ocba, ocba_m
from cloudarena.optimizers.methods.ocba_co import ocba_co
from cloudarena.optimizers.methods.optuna_search import cma_es, tpe
from cloudarena.optimizers.methods.random_search import random_search

_ALL: tuple[Method[Any], ...] = (
    *(auto, monte_carlo, blind_pick, los, ocba, ocba_m, ocba_co, mocba),
    *(kim_nelson, successive_halving, gp, random_search, tpe, cma_es, nsga2),
)
METHODS: dict[str, Method[Any]] = {method.name: method for method in _ALL}
"""All methods by name."""

__all__ = ["METHODS", "Method"]
