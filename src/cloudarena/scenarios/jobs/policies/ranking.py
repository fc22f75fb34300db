"""Policies that rank the waiting jobs by a score: the lowest is next.

Each is one function of a waiting job and the parameters. The job with the lowest score, the
earliest of equals, is chosen as soon as one waits; once chosen it stays the next until it has
started. What the others do meanwhile is the parameter ``backfill``:

- ``none``: nothing else starts (head-of-line blocking);
- ``strict``: others start in order of arrival if by their estimates they end before the chosen one
  was expected to start, when it was chosen;
- ``greedy``: nothing is chosen before it fits: the lowest score of those that could start now.

None and strict are the rules of RLScheduler (Zhang et al., SC 2020), with which its published
figures come out: ``python -m benchmarks.rlscheduler``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from cloudarena.base.arrays import MICRO
from cloudarena.engine.compiled import jitable
from cloudarena.policies import ArrayPolicy, Declared, Parameters
from cloudarena.scenarios.jobs.kernel.queue import can_start, first_machine
from cloudarena.scenarios.jobs.policies.known import ESTIMATES
from cloudarena.scenarios.jobs.policies.placement import CPU, POLICIES, as_many
from cloudarena.scenarios.jobs.state import NEXT, NOTHING, Machines, Start, Tasks

BACKFILL = {"backfill": ("none", "strict", "greedy")}
GREEDY = 2
FIRST_SECOND = 0.1
"""The logarithm of a submission at 0 s is that of this."""


class WaitingJob(NamedTuple):
    """What a score may go by. A task of a job with several tasks is as a job of its own."""

    task: int
    user: int
    submit_s: float
    """When it was submitted, on the workload's own clock."""
    wait_s: float
    request_s: float
    """How long it was said to run: the requested time; NaN if nobody said."""
    predicted_s: float
    """The mean of its user's last two run times, at most the request; the request before those."""
    processors: float
    free: float
    """Processors that are free now, of the whole cluster."""
    total: float
    """Processors of the whole cluster."""


Score = Callable[[WaitingJob, Parameters], float]
"""The lower, the earlier."""


@jitable
def predicted_time(tasks: Tasks, task: int) -> float:
    """How long a task will run, by its user's last two run times, and at most as was said.

    Infinity if nothing is known (Tsafrir, Etsion and Feitelson, "Backfilling using
    system-generated predictions", TPDS 2007).
    """
    request, mean = tasks.duration[task], tasks.user_predicted[tasks.user[task]]
    return mean if np.isnan(request) else min(request, mean)


@jitable
def waiting_job(tasks: Tasks, machines: Machines, task: int) -> WaitingJob:
    """A ready task as a score sees it."""
    return WaitingJob(
        task,
        tasks.user[task],
        tasks.begin_s + tasks.submit[task],
        machines.now - tasks.submit[task],
        tasks.duration[task],
        predicted_time(tasks, task),
        tasks.processors[task],
        machines.free_total[CPU] / MICRO,
        machines.total[CPU] / MICRO,
    )


def ranked(score: Score | None = None, /, **parameters: Declared) -> Callable[..., Any]:
    """The decorator that makes a policy of a score: the waiting job with the lowest one is next.

    @ranked
    def widest(job, p):
        return -job.processors

    Parameters of its own are declared as ``@ranked(weight=0.5)``, and are ``p.weight``.
    """
    if score is None:
        return lambda given: ranked(given, **parameters)
    value_of = jitable(score)

    def choose(tasks: Tasks, machines: Machines, p: Parameters, rng: Generator) -> Start:
        lowest, best = np.inf, -1
        for task in tasks.ready:
            if p.backfill == GREEDY and not can_start(tasks, machines, task):
                continue
            value = value_of(waiting_job(tasks, machines, task), p)
            if value < lowest or best < 0:
                lowest, best = value, task
        if p.backfill != GREEDY:
            return best, NEXT, int(p.backfill)
        if best < 0:
            return NOTHING
        return as_many(tasks, machines, best, max(0, first_machine(tasks, machines, best)))

    choose.__doc__, choose.__module__ = score.__doc__, score.__module__
    choose.__name__, choose.__qualname__ = score.__name__, f"{score.__qualname__}.ranked"
    policy: Any = choose
    policy.parameters, policy.early, policy.is_lean = {**BACKFILL, **parameters}, True, True
    return choose


def ranking(
    name: str, needs: str = ESTIMATES, parameters: Mapping[str, Declared] = MappingProxyType({})
) -> Callable[[Score], ArrayPolicy]:
    """The decorator for a score that is a policy of the book."""

    def add(score: Score) -> ArrayPolicy:
        declared = {**BACKFILL, **parameters}
        return POLICIES.register(name, needs=needs, parameters=declared, early=True)(ranked(score))

    return add


@ranking("ranked-fcfs")
def ranked_fcfs(job: WaitingJob, p: Parameters) -> float:
    """Ranked by submission: the earliest is next, and blocks or is backfilled around."""
    return job.submit_s


@ranking("ranked-sjf")
def ranked_sjf(job: WaitingJob, p: Parameters) -> float:
    """Ranked by requested time: the shortest is next, and blocks or is backfilled around."""
    return job.request_s


@ranking("smallest-area")
def smallest_area(job: WaitingJob, p: Parameters) -> float:
    """Ranked by requested time x processors, the smallest first."""
    return job.request_s * job.processors


@ranking("predicted-area", needs="")
def predicted_area(job: WaitingJob, p: Parameters) -> float:
    """Ranked by predicted time x processors: the mean of the user's last two, at most the request.

    It takes no more from the future than the requested times, and these only if they are known.
    """
    return job.predicted_s * job.processors


@ranking("f1")
def f1(job: WaitingJob, p: Parameters) -> float:
    """Ranked by log10(request) processors + 870 log10(submission), lowest first.

    F1 to F4 were fitted to simulations of waiting tasks (Carastan-Santos and de Camargo, SC 2017).
    The submission is on the workload's own clock, so its weight falls as a log grows older.
    """
    log_request = math.log10(max(job.request_s, FIRST_SECOND))
    return log_request * job.processors + 870.0 * math.log10(max(job.submit_s, FIRST_SECOND))


@ranking("f2")
def f2(job: WaitingJob, p: Parameters) -> float:
    """Ranked by sqrt(request) processors + 25,600 log10(submission), lowest first."""
    area = math.sqrt(job.request_s) * job.processors
    return area + 25_600.0 * math.log10(max(job.submit_s, FIRST_SECOND))


@ranking("f3")
def f3(job: WaitingJob, p: Parameters) -> float:
    """Ranked by request x processors + 6,860,000 log10(submission), lowest first."""
    area = job.request_s * job.processors
    return area + 6_860_000.0 * math.log10(max(job.submit_s, FIRST_SECOND))


@ranking("f4")
def f4(job: WaitingJob, p: Parameters) -> float:
    """Ranked by request x sqrt(processors) + 530,000 log10(submission), lowest first."""
    area = job.request_s * math.sqrt(job.processors)
    return area + 530_000.0 * math.log10(max(job.submit_s, FIRST_SECOND))


@ranking("wfp3")
def wfp3(job: WaitingJob, p: Parameters) -> float:
    """Ranked by (wait / request)^3 processors, the highest first (Tang et al. 2009)."""
    ratio = job.wait_s / job.request_s
    return -(ratio * ratio * ratio) * job.processors


@ranking("uni")
def uni(job: WaitingJob, p: Parameters) -> float:
    """Ranked by wait / (request log2(processors)), the highest first (UNICEF, Tang et al. 2009)."""
    small = 1e-15  # a job of one processor has the logarithm 0
    return -(job.wait_s + small) / (math.log2(job.processors + small) * job.request_s)


LINEAR = {
    "log_predicted": 1.0,
    "log_request": 0.0,
    "log_processors": 1.0,
    "log_wait": 0.0,
    "log_slowdown": 0.0,
    "fits": 0.0,
    "product": 0.0,
    "free_after": 0.0,
}
"""The weights of the features of a waiting job; as they are here, the order is that of the area."""
SHORT_S = 10.0
"""Jobs shorter than this count as this long in a slowdown."""


@ranking("linear", parameters=LINEAR)
def linear(job: WaitingJob, p: Parameters) -> float:
    """Ranked by a weighted sum of features, lowest first: what a search of weights tunes.

    The features: the logarithms of the predicted and the requested time, of the processors, of
    1 s + wait, and of 1 + wait / predicted time (10 s at least); 1 if the processors are free; the
    first times the third; and the share of all processors that would be free after it.
    """
    log_predicted = math.log(job.predicted_s)
    log_processors = math.log(max(job.processors, 1.0 / MICRO))  # who asks for none has a size too
    score = p.log_predicted * log_predicted + p.log_request * math.log(job.request_s)
    score += p.log_processors * log_processors + p.log_wait * math.log(1.0 + job.wait_s)
    score += p.log_slowdown * math.log(1.0 + job.wait_s / max(job.predicted_s, SHORT_S))
    score += p.product * log_predicted * log_processors
    if job.processors <= job.free:
        score += p.fits + p.free_after * (job.free - job.processors) / job.total
    return score
