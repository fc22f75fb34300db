"""How many fat and thin VMs each tier of an elastic service gets, minute by minute."""

from typing import TYPE_CHECKING

from cloudarena.base.lazy import exports
from cloudarena.contract.kind import Kind
from cloudarena.contract.plot import Plot

if TYPE_CHECKING:
    from cloudarena.scenarios.tiers.decision import Period as Period
    from cloudarena.scenarios.tiers.decision import TiersDecision as TiersDecision
    from cloudarena.scenarios.tiers.policies import POLICIES as POLICIES
    from cloudarena.scenarios.tiers.run import TiersRun as TiersRun
    from cloudarena.scenarios.tiers.spec import TiersScenario as TiersScenario

KIND = Kind(
    name="tiers",
    package=__name__,
    description="how many fat and thin VMs each tier of an elastic service gets, minute by minute",
    unit_of_work="requests",
    headline="total_cost_usd",
    prices="prices.fat_minute_usd and prices.thin_minute_usd",
    default_policy="model-based",
    load_keys=(
        "arrivals.rate",
        "arrivals.mean",
        "arrivals.peak",
        "arrivals.base",
        "arrivals.burst",
    ),
    example="tiers/rubis-hour",
    toy="tiers/toy",
    small={"duration_s": 300},
    plots=(
        Plot("Arrivals", "periods", "time_s", "rate", "requests/s"),
        Plot("VMs", "periods", "time_s", "vms", "VMs"),
        Plot("Fat VMs by tier", "tiers", "time_s", "fat", "VMs", by="tier"),
        Plot("Thin VMs by tier", "tiers", "time_s", "thin", "VMs", by="tier"),
        Plot(
            "Mean response time",
            "periods",
            "time_s",
            "response_mean_s",
            "s",
            beside=("response_predicted_s",),
        ),
        Plot("Cost of the period", "periods", "time_s", "cost_usd", "$"),
    ),
)

__getattr__ = exports(
    __name__,
    TiersScenario="spec",
    TiersDecision="decision",
    Period="decision",
    TiersRun="run",
    POLICIES="policies",
)
