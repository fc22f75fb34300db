"""Which share of m VMs each class of tasks gets, stage by stage."""

from typing import TYPE_CHECKING

from cloudarena.base.lazy import exports
from cloudarena.contract.kind import Kind
from cloudarena.contract.plot import Plot, Slices

if TYPE_CHECKING:
    from cloudarena.scenarios.clusters.decision import UNTIL_DONE as UNTIL_DONE
    from cloudarena.scenarios.clusters.decision import ClustersDecision as ClustersDecision
    from cloudarena.scenarios.clusters.decision import Plan as Plan
    from cloudarena.scenarios.clusters.policies import POLICIES as POLICIES
    from cloudarena.scenarios.clusters.policies.model import ClusterModel as ClusterModel
    from cloudarena.scenarios.clusters.policies.model import Compositions as Compositions
    from cloudarena.scenarios.clusters.policies.model import JointCompositions as JointCompositions
    from cloudarena.scenarios.clusters.policies.model import designed_sample as designed_sample
    from cloudarena.scenarios.clusters.policies.model import mean_model_seeds as mean_model_seeds
    from cloudarena.scenarios.clusters.run import ClustersRun as ClustersRun
    from cloudarena.scenarios.clusters.run import Stage as Stage
    from cloudarena.scenarios.clusters.spec import ClustersScenario as ClustersScenario

KIND = Kind(
    name="clusters",
    package=__name__,
    description="which share of m VMs each class of tasks gets, stage by stage",
    unit_of_work="tasks",
    headline="makespan_s",
    prices="prices.vm_hour_usd",
    default_policy="mean-optimum",
    load_keys=("workload.load",),
    example="clusters/hfhc",
    toy="clusters/toy",
    models={"shares": "policies.model.study:Shares"},
    small={"vms": 9, "workload.batches": 10, "workload.horizon_s": 300},
    slices=Slices("stages", "begin_s", "end_s", (), ("stage",)),
    plots=(
        Plot("Backlog at the start of a stage", "stages", "begin_s", "backlog_tasks", "tasks"),
        Plot("Length of stages", "stages", "begin_s", "length_s", "s"),
        Plot(
            "Similarity of a batch to the one before, and where stages begin",
            "batches",
            "time_s",
            "similarity",
            "cosine",
            marks=("stages", "begin_s"),
        ),
    ),
)

__getattr__ = exports(
    __name__,
    ClustersScenario="spec",
    ClustersDecision="decision",
    Plan="decision",
    UNTIL_DONE="decision",
    ClustersRun="run",
    Stage="run",
    POLICIES="policies",
    ClusterModel="policies.model",
    Compositions="policies.model",
    JointCompositions="policies.model",
    designed_sample="policies.model",
    mean_model_seeds="policies.model",
)
