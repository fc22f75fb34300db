"""What a run of a data centre holds: integers and floats in arrays.

Cores and memory are whole numbers of a millionth, so that nothing drifts; ``Machines`` shows
their values in cores and GB. What VMs use is in millionths of a core times percent: whole numbers
too where the readings are.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.calendar import Calendar
from cloudarena.engine.recorder import Log
from cloudarena.engine.status import FIRST_REASON

WINDOW = 256
"""Ticks for which the machines' use is summed ahead, VM by VM, since readings lie that way."""

DELAY_INSENSITIVE = 0
"""The category of VMs that may share an oversubscribed machine; others may not."""
NEVER = -1
"""As ``off_after_ticks``: no machine is switched off."""
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


class NotAllowed(IntEnum):
    """Why an action may not be taken."""

    NO_SUCH_MACHINE = FIRST_REASON
    NOT_VALID = FIRST_REASON + 1


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
    """-1: interactive and unknown VMs; 0: empty; 1: delay-insensitive VMs."""
    rack: NDArray[np.int64]
    state: NDArray[np.int64]
    """0: off; 1: booting; 2: on, so that a VM placed there starts at once."""


class Request(NamedTuple):
    """What a policy sees of the request."""

    vm: int
    """The number of the VM in all tables, files and messages: its id in the trace where ids are
    whole numbers, else its place in the trace, from 0."""
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
    """-1 unless the spec says that lifetimes are known."""
    last_machine: int
    """The machine of the last placement; -1 before the first."""


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

    number: NDArray[np.int64]
    arrival: NDArray[np.int64]
    lifetime: NDArray[np.int64]
    cores: NDArray[np.int64]
    memory: NDArray[np.int64]
    category: NDArray[np.int64]
    subscription: NDArray[np.int64]
    deployment: NDArray[np.int64]
    first_reading: NDArray[np.int64]
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
        ("arrived", np.int64),  # how many VMs have arrived
        ("pending", np.int64),  # the VM to decide on, or -1
        ("valid_count", np.int64),
        ("action", np.int64),  # the last action, for the message when it is not allowed
        ("last_machine", np.int64),
        ("window_start", np.int64),
        ("placed", np.int64),  # how many entries `order` has
        ("live", np.int64),
        ("starting_cores", np.int64),  # held by VMs whose machines boot
        ("starting_memory", np.int64),
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
    ahead: NDArray[np.float64]  # (machines, WINDOW): the same in each tick of the window
    order: NDArray[np.int64]  # VMs in the order of their placement, less those found dead
    departures: Calendar
    retries: Calendar
    starts: Calendar  # of VMs whose machines boot
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


def empty_machines(count: int) -> Machines:
    """The arrays of a number of machines, all zero."""
    kinds = {"valid": np.bool_, **dict.fromkeys(("vms", "sharing", "rack", "state"), np.int64)}
    return Machines(*(np.zeros(count, kinds.get(name, np.float64)) for name in Machines._fields))
