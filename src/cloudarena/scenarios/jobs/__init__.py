"""Which machine runs which task of batch jobs and DAGs."""

from typing import TYPE_CHECKING

from cloudarena.base.lazy import exports
from cloudarena.contract.kind import Kind
from cloudarena.contract.plot import Plot, Slices

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.decision import JobsDecision as JobsDecision
    from cloudarena.scenarios.jobs.policies import POLICIES as POLICIES
    from cloudarena.scenarios.jobs.policies.helpers import can_start as can_start
    from cloudarena.scenarios.jobs.policies.helpers import copies_that_fit as copies_that_fit
    from cloudarena.scenarios.jobs.policies.helpers import first_machine as first_machine
    from cloudarena.scenarios.jobs.policies.helpers import fits as fits
    from cloudarena.scenarios.jobs.policies.helpers import gang_fits as gang_fits
    from cloudarena.scenarios.jobs.policies.ranking import WaitingJob as WaitingJob
    from cloudarena.scenarios.jobs.policies.ranking import ranked as ranked
    from cloudarena.scenarios.jobs.run import JobsRun as JobsRun
    from cloudarena.scenarios.jobs.run.windows import WindowRuns as WindowRuns
    from cloudarena.scenarios.jobs.spec import JobsScenario as JobsScenario
    from cloudarena.scenarios.jobs.state import NEXT as NEXT
    from cloudarena.scenarios.jobs.state import NOTHING as NOTHING
    from cloudarena.scenarios.jobs.state import Machines as Machines
    from cloudarena.scenarios.jobs.state import Tasks as Tasks

KIND = Kind(
    name="jobs",
    package=__name__,
    description="which machine runs which task of batch jobs and DAGs",
    unit_of_work="jobs",
    headline="completion_mean_s",
    prices="machines[0].price, prices.late_usd or prices.unserved_usd",
    compile_s=12,
    default_policy="first-fit",
    load_keys=("workload.rate",),
    example="jobs/alibaba-like-10",
    toy="jobs/toy",
    small={"workload.jobs": 4},
    slices=Slices("instances", "start", "finish", ("machine",), ("job", "task"), is_gantt=True),
    plots=(
        Plot("Jobs in the cluster", "series", "time_s", "jobs", "jobs"),
        Plot("Ready tasks with waiting instances", "series", "time_s", "ready_tasks", "tasks"),
        Plot("CPU held", "series", "time_s", "cpu", "cores"),
        Plot("Memory held", "series", "time_s", "memory", "units of memory"),
    ),
)

__getattr__ = exports(
    __name__,
    JobsScenario="spec",
    JobsDecision="decision",
    JobsRun="run",
    Machines="state",
    Tasks="state",
    NEXT="state",
    NOTHING="state",
    POLICIES="policies",
    can_start="policies.helpers",
    copies_that_fit="policies.helpers",
    first_machine="policies.helpers",
    fits="policies.helpers",
    gang_fits="policies.helpers",
    WaitingJob="policies.ranking",
    ranked="policies.ranking",
    WindowRuns="run.windows",
)
