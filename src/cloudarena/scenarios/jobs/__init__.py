"""Which machine runs which task of batch jobs and DAGs."""

from cloudarena.engine.checked import checked_helper
from cloudarena.scenarios.jobs import (  # noqa: F401 they register policies
    backfilling,
    batch,
    conservative,
    queue,
)
from cloudarena.scenarios.jobs.policies import NOTHING, policy
from cloudarena.scenarios.jobs.simulation import JobsDecision, JobsRun
from cloudarena.scenarios.jobs.spec import JobsScenario
from cloudarena.scenarios.jobs.state import Machines, Tasks

SCENARIO = JobsScenario

can_start = checked_helper(queue.can_start)
copies_that_fit = checked_helper(queue.copies_that_fit)
first_machine = checked_helper(queue.first_machine)
fits = checked_helper(queue.fits)
gang_fits = checked_helper(queue.gang_fits)

__all__ = [
    "NOTHING",
    "SCENARIO",
    "JobsDecision",
    "JobsRun",
    "JobsScenario",
    "Machines",
    "Tasks",
    "can_start",
    "copies_that_fit",
    "first_machine",
    "fits",
    "gang_fits",
    "policy",
]
