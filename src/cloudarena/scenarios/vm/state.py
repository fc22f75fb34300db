"""What a run of a data centre holds: integers and floats in arrays.

Cores and memory are whole numbers of a millionth, so that nothing drifts; ``Machines`` shows
their values in cores and GB. What VMs use is in millionths of a core times percent: whole numbers
too where the readings are.

A machine is *steady* while its use does not change by itself: no VM on it has readings, and it is
not overloaded. Nobody touches it from tick to tick: what it draws is counted when something happens
to it, and the sums over all steady machines are kept. The others are in the list ``varying``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.calendar import Calendar
from cloudarena.engine.gpu_scores import KINDS
from cloudarena.engine.ordered_rooms import OrderedRooms
from cloudarena.engine.recorder import Log
from cloudarena.engine.shape_counts import ShapeCounts
from cloudarena.engine.status import FIRST_REASON
from cloudarena.engine.timing_wheel import TimingWheel

WINDOW = 256
"""Ticks for which the machines' use is summed ahead, VM by VM, since readings lie that way."""

NO_READINGS = -1
"""The ``first_reading`` of a VM whose use is constant."""
DELAY_INSENSITIVE = 0
"""The category of VMs that may share an oversubscribed machine; others may not."""
UNKNOWN = 2
"""The category of VMs of which it is not known; below are those of which it is."""
NEVER = -1
"""The value of ``off_after_ticks`` by which no machine is switched off."""
REFUSE = -1
"""The action that turns a request away. ``-1 - n`` puts it off by n delays."""


class Sharing(IntEnum):
    """Which VMs a machine hosts: interactive and unknown ones; none; delay-insensitive ones."""

    SEPARATE = -1
    EMPTY = 0
    SHARED = 1


class Power(IntEnum):
    """Whether a machine is on."""

    OFF = 0
    BOOTING = 1
    ON = 2


class Outcome(IntEnum):
    """What has become of a VM; while it is starting, its machine boots."""

    NOT_ARRIVED = 0
    WAITING = 1
    RUNNING = 2
    COMPLETED = 3
    FAILED = 4
    REFUSED = 5
    KILLED = 6
    STARTING = 7


class Ranking(IntEnum):
    """How a policy chooses among the valid machines, if it says so.

    By a scan of its own; the first; the next after the last choice, in a circle; the lowest key;
    any with the same chance.
    """

    SCAN = 0
    FIRST = 1
    NEXT = 2
    KEY = 3
    ANY = 4


class Ranks(IntEnum):
    """What stands where in ``World.ranking``."""

    RANKING = 0
    FIRST_COLUMN = 1
    FIRST_SIGN = 2
    SECOND_COLUMN = 3
    SECOND_SIGN = 4
    CHECKED_EVERY = 5
    """How many choices of the index after which one is compared with the policy's; 0 for never."""
    CHOICES = 6
    """How many choices the index has made."""


class Column(IntEnum):
    """What of a machine may be a key."""

    NONE = 0
    FREE_CORES = 1
    FREE_MEMORY_GB = 2
    POWER_W = 3
    UTILISATION = 4
    VMS = 5


COLUMNS = tuple(column.name.lower() for column in Column if column != Column.NONE)
"""The columns of ``Machines`` that a policy may rank by."""
ORDERS = ("index", "next")
"""What else: the index of a machine; the same, but from the last choice on in a circle."""
ANY = "any"
"""What ``random`` says: any valid machine with the same chance, by one draw. No policy of a user's
may, since it could not be checked without drawing."""
OF_USE = ("power_w", "utilisation")
"""Columns that change in each tick where VMs have readings."""


class NotAllowed(IntEnum):
    """Why an action may not be taken."""

    NO_SUCH_MACHINE = FIRST_REASON
    NOT_VALID = FIRST_REASON + 1
    NOT_AS_RANKED = FIRST_REASON + 2


class Machines(NamedTuple):
    """What a policy sees of the machines: one entry each, in the order of the spec."""

    valid: NDArray[np.bool_]
    """Whether the machine may take the request."""
    cores: NDArray[np.float64]
    memory_gb: NDArray[np.float64]
    allocated_cores: NDArray[np.float64]
    allocated_memory_gb: NDArray[np.float64]
    free_cores: NDArray[np.float64]
    """Capacity minus allocation; negative where oversubscribed."""
    free_memory_gb: NDArray[np.float64]
    limit_cores: NDArray[np.float64]
    """What delay-insensitive VMs may allocate: capacity times oversubscription."""
    utilisation: NDArray[np.float64]
    """Used over physical cores; more than 1 where overloaded."""
    power_w: NDArray[np.float64]
    vms: NDArray[np.int64]
    """How many VMs run on the machine."""
    sharing: NDArray[np.int64]
    """Which VMs it holds: -1 interactive and unknown ones, 0 none, 1 delay-insensitive ones."""
    rack: NDArray[np.int64]
    state: NDArray[np.int64]
    """0: off; 1: booting; 2: on, so that a VM placed there starts at once."""
    type: NDArray[np.int64]
    """Machines of the same number are alike: size, limits and power curve."""
    limit_memory_gb: NDArray[np.float64]
    idle_w: NDArray[np.float64]
    busy_w: NDArray[np.float64]
    curve_r: NDArray[np.float64]
    """The exponent of the power curve."""
    off_w: NDArray[np.float64]
    last_tick: NDArray[np.int64]
    """When a VM was placed there last; -1 on an empty machine."""
    last_deployment: NDArray[np.int64]
    """The deployment of that VM; -1 on an empty machine."""
    node_free_cores: NDArray[np.float64]
    """Free cores of each NUMA node, (machines, nodes); without columns where machines have one."""
    node_free_memory_gb: NDArray[np.float64]
    gpus: NDArray[np.int64]
    """How many GPUs each machine has."""
    gpu_model: NDArray[np.int64]
    """The index of their model among the models of the spec, in rising order."""
    gpu_free: NDArray[np.int64]
    """What is free of each GPU in thousandths, (machines, devices); no columns without GPUs."""
    gpu_kinds: NDArray[np.int64]
    """VMs on each machine by what they ask for: nothing, a share, one GPU, two, and so on."""
    typical_pods: NDArray[np.float64]
    """The most frequent requests, (requests, 5): thousandths of a core, GPUs, thousandths of each,
    models as bits, and the share of all requests; no rows where no VM asks for GPUs."""


class Request(NamedTuple):
    """What a policy sees of the request."""

    vm: int
    """The number of the VM in all tables, files and messages: its id in the trace where ids are
    whole numbers, else its index in the trace, from 0."""
    cores: float
    memory_gb: float
    category: int
    """0 delay-insensitive, 1 interactive, 2 unknown."""
    subscription: int
    deployment: int
    tick: int
    buffer_ticks: int
    """How long the request may still wait."""
    lifetime_ticks: int
    """The lifetime; -1 unless the spec says that lifetimes are known."""
    last_machine: int
    """The machine of the last placement; -1 before the first."""
    budget_ticks: int = 0
    """How long a request may wait in all."""
    delay_ticks: int = 1
    """How long it waits when it is put off by one delay."""
    time_of_day: float = 0.0
    """The share of the day that has passed, from 0 to 1, if the run begins at midnight."""
    is_split: bool = False
    """Whether the VM is spread evenly over all NUMA nodes of its machine."""
    gpus: int = 0
    """How many GPUs are asked for."""
    gpu_milli: int = 1000
    """Thousandths of each; fewer than 1000 of one GPU are a share of it."""
    gpu_models: int = -1
    """A bit for each model that is allowed, the lowest for model 0."""


class Fleet(NamedTuple):
    """The machines as they were built."""

    cores: NDArray[np.int64]
    memory: NDArray[np.int64]
    cores_limit: NDArray[np.int64]
    memory_limit: NDArray[np.int64]
    use_limit: NDArray[np.float64]
    """Use up to which delay-insensitive VMs are admitted."""
    idle_w: NDArray[np.float64]
    busy_w: NDArray[np.float64]
    curve_r: NDArray[np.float64]
    boot_w: NDArray[np.float64]
    off_w: NDArray[np.float64]


class Demand(NamedTuple):
    """The VMs as the trace has them."""

    vm_id: NDArray[np.int64]
    arrival: NDArray[np.int64]
    lifetime: NDArray[np.int64]
    cores: NDArray[np.int64]
    memory: NDArray[np.int64]
    category: NDArray[np.int64]
    subscription: NDArray[np.int64]
    deployment: NDArray[np.int64]
    first_reading: NDArray[np.int64]
    """Where its readings begin; ``NO_READINGS`` if it has none."""
    use: NDArray[np.float64]
    """What a VM without readings uses all its life: a whole number."""
    readings: NDArray[np.float64]


class Rules(NamedTuple):
    """The spec's numbers that the kernel needs."""

    ticks: int
    budget_ticks: int
    delay_ticks: int
    kill: bool
    decide_when_full: bool
    lifetimes_known: bool
    series_every: int
    off_after_ticks: int
    boot_ticks: int
    median_cores: int
    """The shape by which it is told whether free cores are stranded."""
    median_memory: int
    tick_seconds: float
    split_above: int
    """VMs with more memory, in millionths, are spread over all nodes of their machine."""
    queues: bool
    """Whether requests that find no room wait, and all later ones behind them."""
    warmup_ticks: int
    """The tick from which on sums are kept: before it they are of no meaning."""


class Nodes(NamedTuple):
    """The NUMA nodes of machines, where these have more than one."""

    cores: NDArray[np.int64]  # (machines,): of each node
    memory: NDArray[np.int64]
    held_cores: NDArray[np.int64]  # (machines, nodes)
    held_memory: NDArray[np.int64]
    of_vm: NDArray[np.int64]
    """The node of each VM that is placed; of no meaning for a VM that is split."""
    is_split: NDArray[np.bool_]
    """Which VMs are spread evenly over all nodes of their machine."""


class Gpus(NamedTuple):
    """What VMs ask for and hold of GPUs, where some ask for any."""

    wanted: NDArray[np.int64]
    milli: NDArray[np.int64]
    models: NDArray[np.int64]
    """A bit for each model that is allowed."""
    device: NDArray[np.int64]
    """The device of a share; of no meaning else."""
    held: NDArray[np.int64]
    """A bit for each whole device that a VM holds."""


class Vms(NamedTuple):
    """What has become of each VM."""

    outcome: NDArray[np.int64]
    machine: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    buffer: NDArray[np.int64]
    delay: NDArray[np.int64]
    chosen_delay: NDArray[np.int64]
    """The part of the delay that no lack of room explains: the policy wanted it."""


class Series(NamedTuple):
    """The state in which every n-th tick is spent; without rows where it is not recorded."""

    totals: NDArray[np.float64]  # (rows, columns): SERIES_COLUMNS
    allocated_cores: NDArray[np.float64]  # (rows, machines), and so on
    allocated_memory_gb: NDArray[np.float64]
    utilisation: NDArray[np.float64]
    power_w: NDArray[np.float64]
    vms: NDArray[np.int64]


SERIES_COLUMNS = (
    "allocated_cores",
    "used_cores",
    "demanded_cores",
    "power_w",
    "live_vms",
    "waiting",
    "machines_on",
)

CLOCK = np.dtype(
    [
        ("tick", np.int64),
        ("begun", np.int64),  # whether the tick's departures and readings are done
        ("arrived", np.int64),  # how many VMs in memory have arrived
        ("gone", np.int64),  # how many arrived and are not in memory any more
        ("pending", np.int64),  # the VM to decide on, or -1
        ("valid_count", np.int64),
        ("action", np.int64),  # the last action, for the message when it is not allowed
        ("last_machine", np.int64),
        ("window_start", np.int64),
        ("placed", np.int64),  # how many entries `order` has
        ("live", np.int64),
        ("more", np.int64),  # whether VMs will come that are not yet in memory
        ("decided", np.int64),  # of a queue: the next VM to be decided
        ("blocked", np.int64),  # of a queue: the last tick in which its head waited
        ("choice", np.int64),  # the machine that an index has found for the pending VM, or -1
        ("varying", np.int64),  # how many entries `varying` has
        ("cores", np.int64),  # allocated on all machines
        ("memory", np.int64),
        ("machines_on", np.int64),
        ("starting_cores", np.int64),  # held by VMs whose machines boot
        ("starting_memory", np.int64),
        # Sums over steady machines; a float as a pair, of which the second is what rounding left.
        ("steady_watts", np.float64),
        ("steady_watts_rest", np.float64),
        ("steady_use", np.float64),
        ("steady_oversubscribed", np.int64),
    ]
)

TOTALS = np.dtype(
    [
        ("allocated", np.int64),
        ("completed", np.int64),
        ("failed", np.int64),
        ("refused", np.int64),
        ("killed", np.int64),
        ("delay_ticks", np.int64),
        ("oversubscribed", np.int64),
        ("overloaded_machines", np.int64),
        ("overloaded_vms", np.int64),
        ("core_ticks", np.int64),  # allocated, in millionths of a core
        ("billed_core_ticks", np.int64),  # less what is refunded
        ("billed_memory_ticks", np.int64),
        ("demand_ticks", np.float64),  # in millionths of a core times percent
        ("excess_ticks", np.float64),  # the part of it beyond the cores of overloaded machines
        ("watt_ticks", np.float64),
        ("slowdowns", np.float64),  # of the VMs that were given a machine
        ("boots", np.int64),
        ("boot_wait_ticks", np.int64),
        ("empty_ticks", np.int64),  # of machines that are not empty now
        ("stranded_ticks", np.int64),  # in millionths of a core, up to each `stranded_since`
    ]
)


class World(NamedTuple):
    """Everything a run holds."""

    rules: Rules
    fleet: Fleet
    demand: Demand
    machines: Machines
    vms: Vms
    allocated_cores: NDArray[np.int64]
    allocated_memory: NDArray[np.int64]
    used: NDArray[np.float64]  # what VMs ask of each machine in this tick
    constant_use: NDArray[np.float64]  # the part of it of VMs without readings
    ahead: NDArray[np.float64]  # (machines, WINDOW): the rest in each tick of the window
    order: NDArray[np.int64]  # VMs in the order of their placement, less those found dead
    varying: NDArray[np.int64]  # the machines that are not steady
    varying_at: NDArray[np.int64]  # where a machine stands in that list, or -1
    vms_with_readings: NDArray[np.int64]  # on each machine
    counted_to: NDArray[np.int64]  # the tick up to which a steady machine's sums are counted
    departures: TimingWheel
    retries: Calendar
    starts: Calendar  # of VMs whose machines boot
    switches: Calendar  # boots that end, and machines to be switched off if they are still empty
    off_planned: NDArray[np.bool_]  # whether there is such an event of a machine
    state: NDArray[np.int64]  # of each machine: OFF, BOOTING or ON
    ready: NDArray[np.int64]  # the tick in which a booting machine is on
    empty_since: NDArray[np.int64]  # the tick; of use while the machine is empty
    stranded: NDArray[np.int64]  # free cores where the median VM does not fit
    stranded_since: NDArray[np.int64]  # the tick up to which they are counted
    clock: NDArray[np.void]  # (1,) of CLOCK
    totals: NDArray[np.void]  # (1,) of TOTALS
    machine_watt_ticks: NDArray[np.float64]
    machine_demand_ticks: NDArray[np.float64]
    machine_excess_ticks: NDArray[np.float64]
    machine_oversubscribed: NDArray[np.int64]
    machine_overloaded: NDArray[np.int64]
    decisions: Log  # tick, vm, action, valid count
    series: Series
    ranking: NDArray[np.int64]  # (len(Ranks),): see Ranks
    rooms: OrderedRooms | None  # finds the choice of a policy that ranks machines
    shapes: ShapeCounts | None  # finds that of a policy that takes any machine
    nodes: Nodes | None
    gpus: Gpus | None


def empty_machines(count: int, nodes: int = 0, devices: int = 0, typical: int = 0) -> Machines:
    """The arrays of a number of machines, all zero.

    Args:
        count: of machines.
        nodes: the NUMA nodes of each.
        devices: the most GPUs of one.
        typical: the requests that are shown as typical.
    """
    whole = (
        "vms", "sharing", "rack", "state", "type", "last_tick", "last_deployment",
        "gpus", "gpu_model", "gpu_free", "gpu_kinds",
    )  # fmt: skip
    kinds = {"valid": np.bool_, **dict.fromkeys(whole, np.int64)}
    shapes = dict.fromkeys(("node_free_cores", "node_free_memory_gb"), (count, nodes))
    shapes["gpu_free"] = (count, devices)
    shapes["gpu_kinds"] = (count, KINDS if devices else 0)
    shapes["typical_pods"] = (typical, 5)
    return Machines(
        *(
            np.zeros(shapes.get(name, (count,)), kinds.get(name, np.float64))
            for name in Machines._fields
        )
    )
