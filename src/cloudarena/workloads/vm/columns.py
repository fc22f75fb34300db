"""VM requests and their CPU readings as columns: what every source of VMs ends as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cloudarena.base.arrow import pa, read_numbers
from cloudarena.base.numpy import np
from cloudarena.engine.deferred import jit_deferred

if TYPE_CHECKING:
    from numpy.typing import NDArray

CATEGORIES = ("delay-insensitive", "interactive", "unknown")
"""The categories of Azure's trace, by their number in the canonical format."""

MOST_VMS = 10_000_000
"""Four times all VMs of Azure's trace of 2019."""
READING_BYTES = 8.0
TICKS_PER_DAY = 288
"""Ticks of five minutes, as Azure's trace has them."""

MOST_GPUS, WHOLE_GPU = 62, 1000
"""The most GPUs of a machine, each of which has a bit; the thousandths of a GPU."""
SMALLEST_SIZE, LARGEST_SIZE = 1e-6, 1e6
"""The cores and GB that a VM or a machine may have: they are counted in millionths."""

VMTABLE_COLUMNS = (
    "vmid",
    "subscriptionid",
    "deploymentid",
    "vmcreated",
    "vmdeleted",
    "vmcategory",
    "vmcorecountbucket",
    "vmmemorybucket",
    "lifetime",
)


class VmGpus(NamedTuple):
    """What each VM asks for of GPUs."""

    wanted: NDArray[np.int64]
    milli: NDArray[np.int64]
    """Thousandths of each GPU: fewer than 1000 of one GPU, or 1000."""
    models: pa.Array
    """The models that are allowed, with | between them; nothing: any."""


class VmWorkload(NamedTuple):
    """VMs in order of arrival; times are ticks.

    The readings of VM ``v`` are ``readings[first_reading[v] : first_reading[v] + lifetime[v]]``,
    the CPU utilisation in percent of its cores in each tick of its life. If ``first_reading[v]`` is
    -1 it has none, and uses ``cpu_percent`` of its cores all its life.
    """

    ids: pa.Array
    subscription: NDArray[np.int64]
    deployment: NDArray[np.int64]
    created: NDArray[np.int64]
    lifetime: NDArray[np.int64]
    category: NDArray[np.int64]
    cores: NDArray[np.float64]
    memory_gb: NDArray[np.float64]
    first_reading: NDArray[np.int64]
    readings: NDArray[np.float64]
    cpu_percent: float = 0.0
    gpus: VmGpus | None = None
    """What VMs ask for of GPUs, where some ask for any."""


OF_EACH_VM = tuple(
    name for name in VmWorkload._fields if name not in ("readings", "cpu_percent", "gpus")
)
"""The columns with an entry for each VM."""


def offsets(lifetime: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each VM's readings begin when they lie one VM after the other."""
    return np.concatenate(([0], np.cumsum(lifetime)[:-1])).astype(np.int64)


def no_readings(vms: int) -> NDArray[np.int64]:
    """The ``first_reading`` of VMs that have none."""
    return np.full(vms, -1, np.int64)


def numeric_ids(ids: pa.Array, first: int = 0) -> NDArray[np.int64]:
    """The number of each VM, by which decisions, tables, files and messages of a run know it.

    It is the VM's id where ids are whole numbers, else its index in the trace, from 0; ``first`` is
    that of the first VM given.
    """
    if pa.types.is_integer(ids.type) and not ids.null_count:
        try:
            return read_numbers(ids.cast(pa.int64())).copy()
        except pa.ArrowInvalid:  # some are beyond 64 bits with a sign
            pass
    return np.arange(first, first + len(ids))


def vmtable(workload: VmWorkload) -> pa.Table:
    """The canonical table of requests."""
    columns = (
        workload.ids,
        workload.subscription,
        workload.deployment,
        workload.created,
        workload.created + workload.lifetime - 1,
        workload.category,
        workload.cores,
        workload.memory_gb,
        workload.lifetime,
    )
    return pa.table(dict(zip(VMTABLE_COLUMNS, columns, strict=True)))


def readings_table(workload: VmWorkload) -> pa.Table:
    """The canonical table of readings, VM by VM."""
    owner = np.repeat(np.arange(len(workload.created)), workload.lifetime)
    within = np.arange(len(owner)) - workload.first_reading[owner]
    return pa.table(
        {
            "timestamp": workload.created[owner] + within,
            "vmid": workload.ids.take(pa.array(owner)),
            "maxcpu": workload.readings,
        }
    )


def describe(workload: VmWorkload) -> dict[str, Any]:
    """The figures by which VM traces are known."""
    horizon = int((workload.created + workload.lifetime).max()) if len(workload.created) else 0
    change = np.zeros(horizon + 1)
    np.add.at(change, workload.created, 1)
    np.add.at(change, workload.created + workload.lifetime, -1)
    live = np.cumsum(change)[:-1]
    cores, cores_count = np.unique(workload.cores, return_counts=True)
    memory, memory_count = np.unique(workload.memory_gb, return_counts=True)
    return {
        "vms": len(workload.created),
        "ticks": horizon,
        "readings": len(workload.readings),
        "concurrent_mean": float(live.mean()) if horizon else 0.0,
        "concurrent_max": int(live.max()) if horizon else 0,
        "cores_mean": float(workload.cores.mean()) if len(cores) else 0.0,
        "memory_gb_mean": float(workload.memory_gb.mean()) if len(memory) else 0.0,
        "cpu_percent_mean": float(workload.readings.mean()) if len(workload.readings) else 0.0,
        "lifetime_ticks_median": float(np.median(workload.lifetime)) if len(cores) else 0.0,
        "categories": {
            name: int((workload.category == code).sum()) for code, name in enumerate(CATEGORIES)
        },
        "cores": {f"{c:g}": int(n) for c, n in zip(cores, cores_count, strict=True)},
        "memory_gb": {f"{m:g}": int(n) for m, n in zip(memory, memory_count, strict=True)},
    }


@jit_deferred
def fill_gaps(
    first_reading: NDArray[np.int64],
    lifetime: NDArray[np.int64],
    readings: NDArray[np.float64],
) -> None:
    """Fills missing readings (NaN): idle before a VM's first reading, then its last one."""
    for vm in range(len(first_reading)):
        last = 0.0
        for k in range(first_reading[vm], first_reading[vm] + lifetime[vm]):
            if np.isnan(readings[k]):
                readings[k] = last
            else:
                last = readings[k]
