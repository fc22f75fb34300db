"""Which machine takes a VM: a month of a data centre, energy, oversubscription."""

from typing import TYPE_CHECKING

from cloudarena.base.lazy import exports
from cloudarena.contract.kind import Kind
from cloudarena.contract.plot import Plot, Slices

if TYPE_CHECKING:
    from cloudarena.scenarios.vm.decision import VmDecision as VmDecision
    from cloudarena.scenarios.vm.policies import POLICIES as POLICIES
    from cloudarena.scenarios.vm.policies import OracleIlp as OracleIlp
    from cloudarena.scenarios.vm.policies import on_node as on_node
    from cloudarena.scenarios.vm.policies import postpone as postpone
    from cloudarena.scenarios.vm.run import VmRun as VmRun
    from cloudarena.scenarios.vm.spec import VmScenario as VmScenario
    from cloudarena.scenarios.vm.state import REFUSE as REFUSE
    from cloudarena.scenarios.vm.state import Machines as Machines
    from cloudarena.scenarios.vm.state import Request as Request

KIND = Kind(
    name="vm",
    package=__name__,
    description="which machine takes a VM: a month of a data centre, energy, oversubscription",
    unit_of_work="VMs",
    headline="profit_usd",
    prices="machines[0].price or prices.kwh_usd",
    load_keys=("workload.vms",),
    compile_s=7,
    default_policy="best-fit",
    example="vm/azure-like-10k",
    toy="vm/toy",
    small={
        "ticks": 300,
        "workload.vms": 600,
        "workload.concurrent": 100,
        "machines[0].count": 12,
    },
    slices=Slices("vms", "start", "end", ("machine",), ("id",), weight="cores"),
    plots=(
        Plot("Cores in use", "series", "tick", "used_cores", "cores"),
        Plot("Cores allocated", "series", "tick", "allocated_cores", "cores"),
        Plot("Power", "series", "tick", "power_w", "W"),
        Plot("VMs alive", "series", "tick", "live_vms", "VMs"),
    ),
)

__getattr__ = exports(
    __name__,
    VmScenario="spec",
    VmDecision="decision",
    VmRun="run",
    Machines="state",
    Request="state",
    REFUSE="state",
    POLICIES="policies",
    OracleIlp="policies",
    on_node="policies",
    postpone="policies",
)
