"""One's own measurement over time: a function that looks at a run at the end of each interval."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import PolicyError, SpecError
from cloudarena.policies.parse import load_function
from cloudarena.scenarios.faas.state import POWERED, WHOLE, NodeState, Phase

if TYPE_CHECKING:
    from cloudarena.scenarios.faas.run import FaasRun


class NodesNow(NamedTuple):
    """The nodes as they are: one entry each."""

    name: tuple[str, ...]
    device: tuple[str, ...]
    power_w: NDArray[np.float64]
    """What it draws, without flows over a topology."""
    cpu: NDArray[np.float64]
    """The share that is used; the other resources follow."""
    accelerator: NDArray[np.float64]
    disk: NDArray[np.float64]
    network: NDArray[np.float64]
    memory: NDArray[np.float64]
    running: NDArray[np.int64]
    """Invocations that execute."""
    replicas: NDArray[np.int64]
    on: NDArray[np.bool_]
    g_per_kwh: NDArray[np.float64]
    """The intensity of its grid; 0 where it has panels or a battery."""


class FunctionsNow(NamedTuple):
    """The functions as they are: one entry each; numbers of requests are since the start."""

    name: tuple[str, ...]
    arrived: NDArray[np.int64]
    inside: NDArray[np.int64]
    """Requests in the system."""
    waiting: NDArray[np.int64]
    """Requests that wait, for a replica or at one."""
    replicas: NDArray[np.int64]
    """Replicas that are placed and do not drain."""
    ready: NDArray[np.int64]
    wanted: NDArray[np.int64]
    idle: NDArray[np.int64]
    """Replicas that are ready and hold no request."""


class Moment(NamedTuple):
    """A run at the end of an interval of ``sample_s``, or of the run."""

    now_s: float
    nodes: NodesNow
    functions: FunctionsNow


def moment(run: FaasRun) -> Moment:
    """A copy of how a run is now."""
    world, devices = run.world, run.infrastructure.devices
    nodes, functions, clock = world.nodes, world.functions, world.clock[0]
    cpu, accelerator, disk, network, memory = (
        np.minimum(nodes["load"][:, :POWERED].T, WHOLE) / WHOLE
    )
    grams = world.carbon["g_per_j"][int(clock["carbon_row"])] * 3.6e6
    replicas = world.replicas
    work = replicas["busy"] + replicas["queued"] + replicas["coming"]
    idle = replicas["function"][(replicas["state"] == Phase.RUNNING) & (work == 0)]
    on = (nodes["state"] == NodeState.ON) | (nodes["state"] == NodeState.BOOTING)
    return Moment(
        float(clock["now"]),
        NodesNow(
            tuple(run.infrastructure.names[: len(nodes)]),
            tuple(devices),
            nodes["power_w"] + nodes["transfers"] * nodes["transfer_w"],
            cpu,
            accelerator,
            disk,
            network,
            memory,
            nodes["running"].copy(),
            nodes["replicas"].copy(),
            on,
            grams[nodes["grid"]],
        ),
        FunctionsNow(
            tuple(function.name for function in run.scenario.functions),
            functions["arrived"].copy(),
            functions["inside"].copy(),
            functions["waiting"] + functions["queued"],
            functions["placed"].copy(),
            functions["ready"].copy(),
            functions["wanted"].copy(),
            np.bincount(idle, minlength=len(functions)),
        ),
    )


def load_measure(text: str) -> Any:
    """The function that a spec names, ``FILE.py:NAME``."""
    file, _, name = text.rpartition(":")
    try:
        found = load_function(Path(file), name)
    except PolicyError as error:
        raise SpecError(f"measure: {str(error).removeprefix('policy: ')}") from error
    if not callable(found):
        raise SpecError(f"measure: {text} is not a function")
    return found


def measured(run: FaasRun) -> dict[str, float]:
    """What a function of the user's measures now: a number, or several by name."""
    text = run.scenario.measure
    try:
        found = run.measure(moment(run)) if run.measure is not None else {}
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        raise PolicyError(f"measure: {text} raised {words}") from error
    values = found if isinstance(found, Mapping) else {"value": found}
    for key, value in values.items():
        if not isinstance(key, str) or key == "time_s" or not isinstance(value, Real):
            raise PolicyError(
                f"measure: {text} returned {found!r}: a number, or numbers by name, none time_s"
            )
    return {key: float(value) for key, value in values.items()}
