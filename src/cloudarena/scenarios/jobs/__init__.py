"""Which machine runs which task of batch jobs and DAGs."""

from cloudarena.scenarios.jobs import (  # noqa: F401 they register policies
    backfilling,
    batch,
    conservative,
)
from cloudarena.scenarios.jobs.policies import NOTHING, policy
from cloudarena.scenarios.jobs.simulation import JobsDecision, JobsSimulation
from cloudarena.scenarios.jobs.spec import JobsScenario
from cloudarena.scenarios.jobs.state import Machines, Tasks

SCENARIO = JobsScenario

__all__ = [
    "NOTHING",
    "SCENARIO",
    "JobsDecision",
    "JobsScenario",
    "JobsSimulation",
    "Machines",
    "Tasks",
    "policy",
]
