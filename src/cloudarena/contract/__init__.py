"""The contract: a simulation is a sequence of decisions.

A run advances until something must be decided, hands the decision to a policy, takes the
action and goes on::

    run = scenario.start(seed=0)
    while (decision := run.decision) is not None:
        run.apply(policy(decision))
    result = run.result()

The command line, the Gymnasium environments, the optimisers, the experiment runner and the
report use what is in this package and nothing behind it.
"""

from typing import TYPE_CHECKING, Any

from cloudarena.base.errors import InvalidAction
from cloudarena.base.lazy import exports
from cloudarena.contract.kind import ROOMS, Kind
from cloudarena.contract.metric import Metric, metric, shared
from cloudarena.contract.plot import Plot, TradeOff

if TYPE_CHECKING:
    from cloudarena.contract.candidates import Candidates, Feature
    from cloudarena.contract.decision import Decision, Observer
    from cloudarena.contract.model import Model
    from cloudarena.contract.picture import Picture
    from cloudarena.contract.result import RecordLevel, Result
    from cloudarena.contract.run import Run
    from cloudarena.contract.saved import Saved
    from cloudarena.contract.scenario import Scenario, scenario_from_yaml
    from cloudarena.contract.spec import Spec
    from cloudarena.policies.policy import Policy

__all__ = [
    "ROOMS",
    "Candidates",
    "Decision",
    "Feature",
    "InvalidAction",
    "Kind",
    "Metric",
    "Model",
    "Observer",
    "Picture",
    "Plot",
    "Policy",
    "RecordLevel",
    "Result",
    "Run",
    "Saved",
    "Scenario",
    "Spec",
    "TradeOff",
    "metric",
    "scenario_from_yaml",
    "shared",
]

# What needs NumPy or Pydantic is imported when it is asked for: a list of kinds needs neither.
__getattr__: Any = exports(
    __name__,
    Candidates="candidates",
    Feature="candidates",
    Decision="decision",
    Model="model",
    Saved="saved",
    scenario_from_yaml="scenario",
    Observer="decision",
    Picture="picture",
    RecordLevel="result",
    Result="result",
    Run="run",
    Scenario="scenario",
    Spec="spec",
    Policy=".policies.policy",
)
