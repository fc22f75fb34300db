"""The records of which the state of a run is made, as NumPy types.

Things of which there are many are records in one array. A record is one pointer to compiled code,
the whole World some three hundred values: so what happens often takes records. Loads are whole
millionths of a device, so that sums never drift. Times are seconds, sizes bytes, and CPU that is
asked for millicores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cloudarena.scenarios.faas.spec.functions import LONGEST_WINDOW
from cloudarena.scenarios.faas.state.enums import POWERED, Outcome, Predicate, Resource

Record = Any
"""One record of an array: compiled code reads and changes it by the names of its fields."""

HISTORY = LONGEST_WINDOW + 1
"""Ticks of a scaler that are remembered."""

CARBON = np.dtype(
    [
        ("begin", np.float64),
        ("g_per_j", np.float64),  # of the grid, until the next row
        ("total", np.float64),  # its integral up to the begin
    ]
)


RULES = np.dtype(
    [
        ("end_s", np.float64),
        ("most_workers", np.int64),  # of a replica of any function
        ("router", np.int64),
        ("contention", np.bool_),
        ("requests_on_network", np.bool_),
        ("network", np.bool_),  # whether there is a topology; without one,
        ("bandwidth", np.float64),  # bytes move at so many a second, each by itself
        ("scheduling_s", np.float64),
        ("off_after_s", np.float64),  # empty nodes are switched off then; infinity: never
        ("horizon_s", np.float64),  # over which placers spread the energy of a cold start
        ("sample_s", np.float64),
        ("rows", np.bool_),  # whether anything is recorded,
        ("all_rows", np.bool_),  # and whether all invocations and flows are
        ("execution_key", np.uint64),
        ("latency_key", np.uint64),
        ("origin_key", np.uint64),
        ("router_key", np.uint64),
        ("start_key", np.uint64),
        ("predicates", np.int64, (len(Predicate),)),  # whether each counts
    ],
    align=True,
)
"""The spec's numbers that the kernel needs."""


NODE = np.dtype(
    [
        # What changes with every invocation:
        ("since", np.float64),  # up to when the node has been metered,
        ("carbon", np.float64),  # and what the integral of the grid's intensity was then
        ("power_w", np.float64),
        ("energy_j", np.float64),
        ("carbon_g", np.float64),
        ("base_w", np.float64),  # the power without what executes
        ("busy_s", np.float64),  # time with something executing
        ("running_s", np.float64),  # the integral of what executes
        ("cpu_s", np.float64),  # the integral of CPU utilisation, in millionths
        ("state", np.int64),  # a NodeState
        ("replicas", np.int64),
        ("starting", np.int64),  # replicas that claim CPU since they pull, start or set up
        ("running", np.int64),  # invocations that execute,
        ("first_slot", np.int64),  # and the list of them, the newest first
        ("load", np.int64, (len(Resource),)),  # their claims, millionths
        ("unit_w", np.float64, (POWERED,)),  # power for a millionth of claim
        ("unit_j", np.float64, (POWERED,)),  # its integral
        ("slope_w", np.float64, (POWERED,)),  # the same while it is not fully used, if linear
        ("stretch", np.float64, (len(Resource),)),  # how much each is overbooked, at least 1
        # The device:
        ("device_type", np.int64),
        ("tier", np.int64),
        ("accelerator", np.int64),
        ("cores", np.int64),
        ("memory", np.int64),
        ("accelerator_memory", np.int64),
        ("model", np.int64),  # a PowerModel
        ("coefficient_w", np.float64, (POWERED,)),  # W at full use, above idle
        ("exponent", np.float64),  # of the curve
        ("points", np.float64, (11,)),  # W above idle at 0, 10, ..., 100 % of CPU
        ("idle_w", np.float64),
        ("off_w", np.float64),
        ("boot_w", np.float64),
        ("boot_s", np.float64),
        # What changes with its state and its replicas:
        ("base_since", np.float64),  # up to when these have been metered:
        ("base_j", np.float64),  # the integral of base_w,
        ("on_s", np.float64),  # the time not switched off,
        ("share_w", np.float64),  # base_w for each replica that is there,
        ("share_j", np.float64),  # and its integral
        # Transfers:
        ("byte_j", np.float64),  # energy of a byte that its interface sends or receives
        ("network_j", np.float64),  # energy of transfers; it is in energy_j too
        ("transfers", np.int64),  # without a topology: those under way,
        ("transfer_w", np.float64),  # what each draws,
        ("transfers_since", np.float64),  # and up to when they have been metered
        ("transfers_carbon", np.float64),
        ("pull", np.int64),  # the route from the registry,
        ("pull_byte_s", np.float64),  # and how long a byte takes on it, alone
        # Replicas:
        ("free_cpu", np.int64),
        ("free_memory", np.int64),
        ("free_accelerator_memory", np.int64),
        ("first_replica", np.int64),  # list of those that are there
        ("hosted", np.int64),  # placed there so far
        ("empty_j", np.float64),  # the part of base_j while none was there: nobody's
        ("boots", np.int64),
        # For the replica that is to be placed, as in Nodes:
        ("valid", np.bool_),
        ("variant", np.int64),
        ("execution_s", np.float64),
        ("invocation_j", np.float64),
        ("added_w", np.float64),
        ("pull_s", np.float64),
        ("data_s", np.float64),
        ("data_byte_s", np.float64),  # how long a byte of the function's data takes, alone
    ],
    align=True,
)
"""A node: what is on it, its power and its energy."""


VARIANT = np.dtype(
    [
        ("image", np.int64),
        ("cpu", np.int64),
        ("memory", np.int64),
        ("accelerator", np.int64),
        ("accelerator_memory", np.int64),
        ("memory_bound", np.float64),  # the share of execution that waits for memory
        ("cold_law", np.int64),  # of a replica's first request; -1: as of the others
        ("setup_bytes", np.float64),  # fetched when a replica is set up,
        ("input_bytes", np.float64),  # by each invocation before it executes,
        ("output_bytes", np.float64),  # and stored after it
    ]
)
"""The images of the functions, function by function as they are ranked."""


FUNCTION = np.dtype(
    [
        ("key", np.int64),  # of its random numbers: from its name, wherever it stands in the spec
        ("first_variant", np.int64),
        ("end_variant", np.int64),
        ("workers", np.int64),
        ("queue_limit", np.int64),
        ("timeout_s", np.float64),
        ("start_s", np.float64),  # of a container; not a number: by the law of image and device
        ("setup_s", np.float64),
        ("bucket", np.int64),  # where its data is
        ("request_bytes", np.float64),
        ("response_bytes", np.float64),
        # Scaling:
        ("scaler", np.int64),
        ("interval_s", np.float64),
        ("window", np.int64),  # in intervals
        ("threshold", np.float64),
        ("lower_threshold", np.float64),
        ("tolerance", np.float64),
        ("step", np.int64),
        ("minimum", np.int64),
        ("maximum", np.int64),
        ("cooldown_s", np.float64),
        ("expiry_s", np.float64),
        # What is:
        ("wanted", np.int64),
        ("placed", np.int64),  # replicas that are there, without those that drain
        ("begun", np.int64),  # replicas that were placed so far
        ("blocked", np.bool_),  # no node could take a replica; waits until something is free
        ("ready", np.int64),
        ("turn", np.int64),  # whose turn it is in round robin
        ("first", np.int64),  # the line of
        ("last", np.int64),
        ("waiting", np.int64),  # requests that wait for a replica,
        ("queued", np.int64),  # and those that are queued at replicas
        ("held", np.int64),  # workers that are held
        ("changed_s", np.float64),
        ("ticks", np.int64),
        ("history", np.float64, (HISTORY, 4)),  # the integrals at the last ticks
        ("cpu_asked", np.int64),  # millicores that its replicas have asked for,
        ("cpu_used", np.int64),  # millionths of cores that its invocations use,
        ("integrals", np.float64, (4,)),  # of requests, waiting, used, asked
        ("metered_s", np.float64),
        # What was:
        ("arrived", np.int64),
        ("outcomes", np.int64, (len(Outcome),)),
        ("cold", np.int64),  # completed requests whose replica was not ready when they came
        ("response_s", np.float64),
        ("waited_s", np.float64),
        ("executed_s", np.float64),
        ("dynamic_j", np.float64),  # of executions,
        ("start_j", np.float64),  # of the CPU that cold starts claim,
        ("network_j", np.float64),  # of transfers, at both ends,
        ("idle_j", np.float64),  # and of its replicas' shares of idle power
        ("replica_s", np.float64),  # seconds that replicas were there,
        ("memory_s", np.float64),  # and their memory in byte-seconds
    ],
    align=True,
)
"""The functions."""


REPLICA_SLOT = np.dtype(
    [
        ("state", np.int64),
        ("number", np.int64),
        ("order", np.int64),  # its number among the replicas of its function
        ("function", np.int64),
        ("variant", np.int64),
        ("node", np.int64),
        ("busy", np.int64),  # workers that are held
        ("first", np.int64),
        ("last", np.int64),
        ("queued", np.int64),
        ("coming", np.int64),  # requests on their way to it
        ("served", np.int64),  # requests that it took up
        ("since", np.float64),
        ("flow", np.int64),  # that brings the data it needs first; -1
        ("fetching", np.bool_),  # whether that data comes without a topology,
        ("fetching_s", np.float64),  # since when
        ("pulls", np.bool_),  # whether the pull of its image goes by its name
        ("claim", np.int64),  # CPU that its cold start claims now, millionths,
        ("claim_j", np.float64),  # and what the meter of a millionth showed when that began
        ("ready_s", np.float64),  # when it was ready first
        ("share_j", np.float64),  # what the meter of idle shares of its node showed when it came
        ("next", np.int64),
        ("before", np.int64),
    ]
)
"""Replicas in slots that are used again."""


REQUEST_SLOT = np.dtype(
    [
        ("state", np.int64),
        ("function", np.int64),
        ("number", np.int64),  # its number among the requests of its function
        ("replica", np.int64),  # its slot; another's once this one has stopped,
        ("replica_number", np.int64),  # so for the response, its number
        ("node", np.int64),  # and its node
        ("outcome", np.int64),  # set when it ends
        ("cold", np.bool_),
        ("arrival", np.float64),
        ("waited", np.float64),  # how long, up to when it began to wait last
        ("start", np.float64),  # when it got its worker; not a number before
        ("executed", np.float64),  # when it began to execute; in the end, how long it executed
        ("since", np.float64),  # when it began to wait; while it executes, when its speed changed,
        ("left", np.float64),  # and the seconds alone on the node that were left then
        ("stretch", np.float64),
        ("energy_j", np.float64),
        ("unit_j", np.float64, (POWERED,)),  # what the meters showed at the begin
        ("flow", np.int64),
        ("next", np.int64),
        ("before", np.int64),
    ],
    align=True,
)
"""Requests that are in the system, in slots that are used again."""


CLOCK = np.dtype(
    [
        ("now", np.float64),
        ("carbon", np.float64),  # the integral of the grid's intensity until now, g s / J
        ("carbon_row", np.int64),
        ("pending", np.int64),  # the kind of decision, or 0
        ("function", np.int64),  # that it is for
        ("suggested", np.int64),
        ("looks", np.bool_),  # whether replicas may be placed
        ("arrived", np.int64),  # of the arrivals at hand,
        ("windows", np.int64),  # and how many more times of arrivals are to be drawn
        ("completed", np.int64),  # response times that are kept
        ("placed", np.int64),
        ("free_slot", np.int64),  # lists of what is free; NONE if nothing is
        ("free_replica", np.int64),
        ("asked", np.int64),  # flows that begin when the event is over
        ("unsettled", np.int64),  # the node on which executions have begun or ended; NONE
        ("in_system", np.int64),
        ("in_system_s", np.float64),  # its integral
        ("metered_s", np.float64),
        ("replicas", np.int64),
        ("invocations", np.int64),  # rows
        ("changes", np.int64),
        ("moved", np.int64),
        ("samples", np.int64),
        ("next_sample", np.float64),
        ("replicas_s", np.float64),  # the integral of replicas,
        ("replicas_until_s", np.float64),  # up to then
        ("next_carbon", np.float64),  # when flows are metered for another intensity; infinity
        ("next_look", np.float64),  # the earlier of the two
        ("action", np.int64),  # the last one, for the message when it is not allowed
    ],
    align=True,
)


FLOW = np.dtype(
    [
        ("purpose", np.int64),
        ("owner", np.int64),  # the replica or the request it is for; of a pull the variant
        ("function", np.int64),  # that pays for it
        ("begin", np.float64),
        ("node", np.int64),
        ("other", np.int64),  # the point at its other end
        ("route", np.int64),
        ("bytes", np.float64),
        ("metered", np.float64),  # bytes whose energy has been counted
    ]
)
"""What a flow is for."""

HOLDER = np.dtype(
    [
        ("point", np.int64),  # the nearest that holds the bucket
        ("fetch", np.int64),  # the route from there; -1 if it is the node itself
        ("store", np.int64),  # and back
        ("byte_s", np.float64),  # how long a byte takes, alone
    ]
)

CLIENT = np.dtype(
    [
        ("ask", np.int64),  # the route of requests
        ("answer", np.int64),  # and of responses
        ("latency_s", np.float64),  # one way, on average
    ]
)


FIT = np.dtype(
    [
        ("law", np.int64),  # of the time of execution; -1: cannot run
        ("mean_s", np.float64),
        ("claim", np.int64, (len(Resource),)),  # of an invocation, millionths
        ("cold_claim", np.int64, (3,)),  # of CPU while a replica pulls, starts, is set up
        ("start_law", np.int64),  # of the time that a container takes to start,
        ("start_s", np.float64),  # and its mean
        ("image_bytes", np.float64),
    ]
)
"""An image on a device."""

IMAGE = np.dtype(
    [
        ("state", np.int64),  # an ImageState
        ("time", np.float64),  # when one on its way is there; infinity with a network
        ("since", np.float64),  # when its pull began,
        ("function", np.int64),  # for whom,
        ("flow", np.int64),  # and its flow
    ]
)
"""An image on a node."""
