"""When templates arrive: by an arrival process, or as functions are invoked in a public trace."""

from __future__ import annotations

from collections.abc import Sequence

from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np
from cloudarena.engine.streams import stream
from cloudarena.workloads.arrivals.azure_functions import Invocations, invocation_arrivals
from cloudarena.workloads.arrivals.processes import arrival_process
from cloudarena.workloads.workflow.columns import SINGLE_CORE_SPEED, WorkflowMix
from cloudarena.workloads.workflow.template import WorkflowTemplate

ARRIVALS, RATE = "poisson", 0.05


def at_once(
    templates: Sequence[WorkflowTemplate], single_core_speed: int = SINGLE_CORE_SPEED
) -> WorkflowMix:
    """Each template arrives once, at 0."""
    count = len(templates)
    return WorkflowMix(tuple(templates), np.zeros(count), np.arange(count), single_core_speed)


def by_process(
    templates: Sequence[WorkflowTemplate],
    workflows: int,
    seed: int,
    arrivals: str = ARRIVALS,
    rate: float = RATE,
    single_core_speed: int = SINGLE_CORE_SPEED,
) -> WorkflowMix:
    """Workflows arrive by an arrival process, each of a template at random, all as likely.

    Args:
        templates: what may arrive.
        workflows: how many arrive.
        seed: decides when, and which.
        arrivals: the process, one of ``arrivals.processes.PROCESSES``.
        rate: how many arrive in a second on average.
        single_core_speed: the speed that the computations were reckoned with.
    """
    if workflows < 1:
        raise SpecError(f"workflows: {workflows} is not allowed: at least 1")
    arrival_times = arrival_process(arrivals)(stream(seed, "arrivals"), rate, count=workflows)
    which = stream(seed, "templates").integers(0, len(templates), workflows)
    return WorkflowMix(tuple(templates), arrival_times, which, single_core_speed)


def arrivals_not_told(workflows: int | None, arrivals: str, rate: float, seed: int) -> str:
    """Where the arrivals of templates come from that tell none."""
    if workflows is None:
        return "set: each workflow arrives once, at 0"
    return f"drawn under seed {seed}: {arrivals}, {rate:g} a second"


def invoked(spread: str, seed: int) -> str:
    """What invocations by the minute do not tell of arrivals."""
    within = "set evenly" if spread == "even" else f"drawn under seed {seed}"
    return f"invocations by the minute; the instants within a minute are {within}"


def by_invocations(
    templates: Sequence[WorkflowTemplate],
    invocations: Invocations,
    seed: int,
    share: float = 1.0,
    first_minute: int = 1,
    minutes: int | None = None,
    spread: str = "uniform",
    single_core_speed: int = SINGLE_CORE_SPEED,
) -> WorkflowMix:
    """A workflow arrives with each invocation of Azure's functions.

    Each function there stands for one template, drawn by the seed, so that some templates arrive
    much more often than others. The other arguments are those of ``invocation_arrivals``.
    """
    arrival_times, function = invocation_arrivals(
        invocations, stream(seed, "arrivals"), share, first_minute, minutes, spread
    )
    functions = len(invocations.function)
    template = stream(seed, "templates").integers(0, len(templates), functions)
    return WorkflowMix(tuple(templates), arrival_times, template[function], single_core_speed)
