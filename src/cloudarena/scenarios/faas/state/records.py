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
from cloudarena.scenarios.faas.spec.power import MOST_POINTS
from cloudarena.scenarios.faas.state.enums import POWERED, Outcome, Predicate, Resource

Record = Any
"""One record of an array: compiled code reads and changes it by the names of its fields."""

HISTORY = LONGEST_WINDOW + 1
"""Ticks of a scaler that are remembered."""
INSIDE, SUGGESTED = 4, 5
"""Columns of the history: the integral of requests in the system, and what was suggested."""


def carbon_type(grids: int) -> np.dtype[np.void]:
    """A row of the intensities of so many grids."""
    return np.dtype(
        [
            ("begin", np.float64),
            ("g_per_j", np.float64, (grids,)),  # until the next row
            ("total", np.float64, (grids,)),  # their integrals up to the start
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
        ("limited", np.bool_),  # whether there are limits of power or energy:
        ("most_invocation_j", np.float64),  # what an invocation may add; infinity
        ("sample_s", np.float64),
        ("measures", np.bool_),  # whether a function of the user's looks at the run
        ("rows", np.bool_),  # whether anything is recorded,
        ("all_rows", np.bool_),  # and whether all invocations and flows are
        ("execution_key", np.uint64),
        ("latency_key", np.uint64),
        ("origin_key", np.uint64),
        ("router_key", np.uint64),
        ("start_key", np.uint64),
        ("setup_key", np.uint64),
        ("failure_key", np.uint64),
        ("evict", np.int64),  # an Evict
        ("neighbours", np.bool_),  # whether functions mind who else is on a node
        ("predicates", np.int64, (len(Predicate),)),  # whether each counts
    ],
    align=True,
)
"""The spec's numbers that the kernel needs."""


NODE = np.dtype(
    [
        # What changes with every invocation:
        ("since", np.float64),  # up to when the node has been metered,
        ("carbon", np.float64),  # and what the integral of its grid's intensity was then
        ("grid", np.int64),
        ("power_w", np.float64),
        ("energy_j", np.float64),
        ("carbon_g", np.float64),
        ("base_w", np.float64),  # the power without what executes
        ("busy_s", np.float64),  # time with something executing
        ("running_s", np.float64),  # the integral of what executes
        ("use_s", np.float64, (POWERED,)),  # the integrals of utilisations, in millionths
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
        ("points", np.float64, (MOST_POINTS,)),  # W above idle at 0, 10, ..., 100 % of CPU,
        ("points_at", np.float64, (MOST_POINTS,)),  # or at these utilisations,
        ("segments", np.int64),  # with so many lines between them
        ("idle_w", np.float64),
        ("most_w", np.float64),  # its budget; infinity
        ("cap_w", np.float64),  # what it can draw at most; infinity,
        ("throttle", np.float64),  # how much slower executions should be for that,
        ("slowed", np.float64),  # and how much slower they are since their speeds were found last
        ("supply", np.int64),  # its battery; NONE
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
        ("used_s", np.float64),  # the time in which there were some
        ("aged", np.float64),  # the rank of the last that was evicted there, by greedy-dual
        ("boots", np.int64),
        ("boot_j", np.float64),  # the part of base_j while it booted
        ("dynamic_j", np.float64),  # of executions,
        ("start_j", np.float64),  # and of the CPU that cold starts claim
        ("completed", np.int64),  # invocations that have executed there
        # For the replica that is to be placed, as in Nodes:
        ("valid", np.bool_),
        ("variant", np.int64),
        ("execution_s", np.float64),
        ("invocation_j", np.float64),
        ("worker_w", np.float64),  # what a busy worker would draw there, beside what executes
        ("added_w", np.float64),
        ("pull_s", np.float64),
        ("data_s", np.float64),
        ("g_per_kwh", np.float64),
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
        ("cold_distribution", np.int64),  # of a replica's first request; -1: as of the others
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
        ("failure_share", np.float64),
        ("retries", np.int64),
        ("first_call", np.int64),  # of the calls that an invocation makes
        ("end_call", np.int64),
        (
            "start_s",
            np.float64,
        ),  # of a container; not a number: by the distribution of image and device
        ("setup_s", np.float64),
        ("bucket", np.int64),  # where its data is
        ("per_node", np.int64),  # the most replicas of it on a node
        ("bit", np.int64),  # by which others know it that want it near, or avoid it,
        ("near", np.int64),  # the bits of those of which it wants one on its node,
        ("apart", np.int64),  # and of those that it avoids
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
        ("panic_window", np.int64),  # in intervals; surges are looked for in it
        ("panic_threshold", np.float64),
        ("most_up", np.float64),  # times the ready replicas, or all, at most,
        ("most_more", np.int64),  # or so many more of all
        ("most_down", np.float64),
        ("stabilisation", np.int64),  # in intervals; fewer replicas only as all of them say
        ("expiry_s", np.float64),
        ("keep", np.int64),  # a Keep
        ("bins", np.int64),  # of the histogram of idle times, as far as it is looked at,
        ("bin_s", np.float64),  # how long each is,
        ("head", np.float64),  # the shares of idle times between which a replica is warm,
        ("tail", np.float64),
        ("margin", np.float64),  # by how much it is warm before and after,
        ("least_variation", np.float64),  # and of the bins' counts, else they tell nothing
        # What is:
        ("wanted", np.int64),
        ("placed", np.int64),  # replicas that are there, without those that drain
        ("begun", np.int64),  # replicas that were placed so far
        ("ahead", np.int64),  # replicas that it should have before a request comes: 0 or 1,
        ("ahead_s", np.float64),  # and when that will be; infinity
        ("floor", np.int64),  # the fewest replicas, as a scaler that is asked has said last
        ("idle_since", np.float64),  # when its last invocation ended; not a number while it serves
        ("keep_until", np.float64),  # by the histogram, as of then
        ("uses", np.int64),  # invocations since it had no replica
        ("ready", np.int64),
        ("turn", np.int64),  # whose turn it is in round robin
        ("first", np.int64),  # the line of
        ("last", np.int64),
        ("waiting", np.int64),  # requests that wait for a replica,
        ("queued", np.int64),  # and those that are queued at replicas
        ("held", np.int64),  # workers that are held
        ("changed_s", np.float64),
        ("ticks", np.int64),
        ("history", np.float64, (HISTORY, 6)),  # at the last ticks the integrals, that of requests
        # in the system, and what the scaler would have done at once
        ("inside", np.int64),  # requests in the system,
        ("stamps", np.float64),  # and the sum of times at which requests came less that of ends
        ("panic_s", np.float64),  # when the last surge was seen; minus infinity without one,
        ("panic_most", np.int64),  # and the most replicas since it began
        ("cpu_asked", np.int64),  # millicores that its replicas have asked for,
        ("cpu_used", np.int64),  # millionths of cores that its invocations use,
        ("integrals", np.float64, (4,)),  # of requests, waiting, used, asked
        ("metered_s", np.float64),
        # What was:
        ("arrived", np.int64),
        ("called", np.int64),  # those of them that other functions called
        ("retried", np.int64),  # times that requests were begun again
        ("early", np.int64),  # those of them that ended within the warm-up
        ("late", np.int64),  # and those that came in it and were answered after it
        ("uncalled", np.int64),  # requests that never came, since those that call them were lost
        ("missed", np.int64),  # those that were lost within the warm-up
        ("again", np.int64),  # those of them that were called before, by the same request,
        ("again_done", np.int64),  # and were answered
        ("outcomes", np.int64, (len(Outcome),)),
        ("cold", np.int64),  # completed requests whose replica was not ready when they came
        ("response_s", np.float64),
        ("waited_s", np.float64),
        ("executed_s", np.float64),
        ("dynamic_j", np.float64),  # of executions,
        ("start_j", np.float64),  # of the CPU that cold starts claim,
        ("phase_j", np.float64, (3,)),  # the parts of that: pulling, starting, setting up
        ("network_j", np.float64),  # of transfers, at both ends,
        ("idle_j", np.float64),  # and of its replicas' shares of idle power
        ("replica_s", np.float64),  # seconds that replicas were there,
        ("memory_s", np.float64),  # their memory in byte-seconds,
        ("wasted_s", np.float64),  # and the part of that while they were ready and idle
    ],
    align=True,
)
"""Functions and what their scalers have seen."""


REPLICA_SLOT = np.dtype(
    [
        ("state", np.int64),
        ("number", np.int64),
        ("order", np.int64),  # its number among the replicas of its function
        ("position", np.int64),  # its place in ``members`` while it takes requests
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
        ("placed_s", np.float64),  # likewise, whatever is counted
        ("flow", np.int64),  # that brings the data it needs first; -1
        ("fetching", np.bool_),  # whether that data comes without a topology,
        ("fetching_s", np.float64),  # since when
        ("pulls", np.bool_),  # whether the pull of its image goes by its name
        ("claim_phase", np.int64),  # of its cold start, 0 to 2: pulling, starting, setting up,
        ("phase_unit_j", np.float64),  # and what the meter of a millionth showed when it began
        ("claim", np.int64),  # CPU that its cold start claims now, millionths,
        ("claim_j", np.float64),  # and what the meter of a millionth showed when that began
        ("ready_s", np.float64),  # when it was ready first
        ("idle_s", np.float64),  # since when no worker is held; not a number before it is ready
        ("rank", np.float64),  # of idle ones the lowest is evicted first
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
        ("unit_j", np.float64, (POWERED,)),  # what the meters showed at the start
        ("flow", np.int64),
        ("next", np.int64),
        ("before", np.int64),
        # Of runs with extras:
        ("tries", np.int64),  # how often it was begun again
        ("caller", np.int64),  # the request that called it and waits for it; NONE
        ("caller_function", np.int64),  # whose function and number these are, waiting or not
        ("caller_number", np.int64),
        ("call", np.int64),  # the next call that it makes,
        ("reached", np.int64),  # the next one that it has not made before, also in earlier tries,
        ("open", np.int64),  # and how many of those that it waits for are under way
        ("broken", np.bool_),  # whether one of them had no answer
        ("late", np.bool_),  # whether the first that called it came in the warm-up, and it did not
        ("again", np.bool_),  # whether it, or one that called it, was called in an earlier try
    ],
    align=True,
)
"""Requests that are in the system, in slots that are used again."""


OUTAGE = np.dtype(
    [
        ("time", np.float64),
        ("is_link", np.bool_),  # of a link; else of a node
        ("index", np.int64),
        ("is_over", np.bool_),  # whether it works again
        ("bytes_s", np.float64),  # what the link carries from then on
    ],
    align=True,
)
"""Something fails, or works again."""

CALL = np.dtype(
    [
        ("function", np.int64),
        ("waits", np.bool_),  # whether the caller waits for the answer
        ("requests", np.int64),  # the call and all calls that follow from it
    ],
    align=True,
)
"""A call that each invocation of a function makes."""

PROGRESS = np.dtype(
    [
        *(("outage", np.int64), ("settled_s", np.float64)),
        ("fault", np.int64),  # 1 + the function of the user's whose answer was not allowed
        *(("fault_rows", np.int64), ("answer", np.float64)),
    ],
    align=True,
)
"""How far a run with extras is: the next of its outages, and until when supplies have been met."""

SUN = np.dtype([("begin", np.float64), ("watts", np.float64)], align=True)
"""What panels give, until the next row."""

SUPPLY = np.dtype(
    [
        ("node", np.int64),
        ("grid", np.int64),  # that it falls back on,
        ("has_grid", np.bool_),  # if there is one; else it fails
        ("failed", np.bool_),
        ("battery_j", np.float64),
        ("charge_j", np.float64),
        ("least_j", np.float64),  # with less it takes no replica
        ("restart_j", np.float64),  # with so much it works again
        ("sun", np.int64),  # the row of what its panels give now
        ("end_sun", np.int64),
        ("carbon", np.float64),  # the integral of the grid's intensity when it was settled
        ("network_j", np.float64),  # that it was settled for
        # What was:
        ("sun_j", np.float64),  # from the panels,
        ("spilled_j", np.float64),  # the part of it that found the battery full,
        ("grid_j", np.float64),  # and from the grid
    ],
    align=True,
)
"""The battery and panels of a node."""


_CLOCK = np.dtype(
    [
        ("now", np.float64),
        ("carbon_row", np.int64),
        ("pending", np.int64),  # the kind of decision, or 0
        ("function", np.int64),  # that it is for
        ("suggested", np.int64),
        ("may_place", np.bool_),  # whether replicas may be placed
        ("arrived", np.int64),  # of the arrivals at hand,
        ("windows", np.int64),  # and how many more times of arrivals are to be drawn
        ("completed", np.int64),  # response times that are kept
        ("placed", np.int64),
        ("free_slot", np.int64),  # lists of what is free; NONE if nothing is
        ("free_replica", np.int64),
        ("asked", np.int64),  # flows that begin when the event is over
        ("changed_node", np.int64),  # the node on which executions have begun or ended; NONE
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
        ("next_count", np.float64),  # when the warm-up ends and metrics begin; infinity
        ("next_look", np.float64),  # the earliest of the three
        ("warm", np.bool_),  # the warm-up is over, and meters are to be set to zero
        ("looks", np.bool_),  # a function of the user's is to look at the run
        ("counted_from_s", np.float64),  # when that was; 0
        ("evictions", np.int64),
        ("stuck", np.bool_),  # whether a replica has found no node, and may if another is idle
        ("action", np.int64),  # the last one, for the message when it is not allowed
    ],
    align=True,
)


def clock_type(grids: int) -> np.dtype[np.void]:
    """The clock of a run with so many grids: the integrals of their intensities, g s / J, too."""
    fields = [(name, _CLOCK[name]) for name in _CLOCK.names or ()]
    return np.dtype([*fields, ("carbon", np.float64, (grids,))], align=True)


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
        ("distribution", np.int64),  # of the time of execution; -1: cannot run
        ("mean_s", np.float64),
        ("claim", np.int64, (len(Resource),)),  # of an invocation, millionths
        ("cold_claim", np.int64, (3,)),  # of CPU while a replica pulls, starts, is set up
        ("start_distribution", np.int64),  # of the time that a container takes to start,
        ("start_s", np.float64),  # and its mean
        ("setup_distribution", np.int64),  # of its set-up; -1: the function's ``setup_s``
        ("setup_s", np.float64),  # and its mean
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
