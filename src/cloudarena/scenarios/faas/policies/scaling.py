"""The built-in scaler: how many replicas a function has."""

from __future__ import annotations

from numpy.random import Generator

from cloudarena.policies import Parameters, PolicyBook
from cloudarena.scenarios.faas.state import Scaling


def shown() -> tuple[Scaling]:
    """An example of what a scaler is shown."""
    return (Scaling(0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0, 0, 0.0, 0.0),)


SCALERS = PolicyBook("faas", shown)


@SCALERS.register("spec")
def spec(scaling: Scaling, p: Parameters, rng: Generator) -> int:
    """What the scaler of the spec gives the function."""
    return scaling.suggested
