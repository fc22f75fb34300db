"""Everything that a run of functions holds: arrays that the kernel changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.flows import Flows
from cloudarena.engine.indexed_heap import IndexedHeap
from cloudarena.engine.variates import Distributions
from cloudarena.scenarios.faas.state.rows import Records
from cloudarena.scenarios.faas.state.seen import Nodes
from cloudarena.workloads.faas.topology import Routes

FLOW_MARGIN = 64
"""Flows, and rows of them, that one event may need besides one for each worker and replica."""


class Paths(NamedTuple):
    """The network, and what goes between which points of it."""

    flows: Flows
    purposes: NDArray[np.void]  # (flows,) of FLOW
    asked: NDArray[np.void]  # (flows,) of FLOW: those that begin when the event is over
    holders: NDArray[np.void]  # (buckets, nodes) of HOLDER
    clients: NDArray[np.void]  # (clients, nodes) of CLIENT
    points: NDArray[np.int64]  # (clients,): where requests come from
    registry: int
    routes: Routes


class Due(NamedTuple):
    """When something happens next."""

    nodes: IndexedHeap
    """A node has booted, or is to be switched off."""
    replicas: IndexedHeap
    """The phase of a replica ends, or it has been idle for too long."""
    finishes: IndexedHeap
    """A request has executed, or its data or latency is over."""
    timeouts: IndexedHeap
    scalers: IndexedHeap


class Extras(NamedTuple):
    """What only some specs have. Numba leaves out what stands behind ``extras is not None``."""

    progress: NDArray[np.void]  # (1,) of PROGRESS
    outages: NDArray[np.void]  # of OUTAGE, by time
    calls: NDArray[np.void]  # of CALL, function by function
    supplies: NDArray[np.void]  # of SUPPLY
    suns: NDArray[np.void]  # of SUN, supply by supply
    charges: NDArray[np.float64]  # (samples, supplies): joules at the end of intervals
    hooks: NDArray[np.int64]  # (7,): addresses of functions of the user's; 0: none
    shown: NDArray[np.float64]  # (replicas, 8): what they are shown


class World(NamedTuple):
    """Everything a run holds."""

    clock: NDArray[np.void]  # (1,) of ``clock_type``
    rules: NDArray[np.void]  # (1,) of RULES
    carbon: NDArray[np.void]  # of ``carbon_type``
    weights: NDArray[np.float64]  # (priorities,): of the spec's scheduler
    arrivals: NDArray[np.float64]
    arriving: NDArray[np.int32]
    """The function of each arrival."""
    nodes: NDArray[np.void]  # of NODE
    scores: NDArray[np.float64]  # (priorities, nodes)
    images: NDArray[np.void]  # (nodes, images) of IMAGE
    variants: NDArray[np.void]  # of VARIANT
    fits: NDArray[np.void]  # (variants, device types) of FIT
    distributions: Distributions
    """The distributions of execution times, and of the latencies of hops."""
    functions: NDArray[np.void]  # of FUNCTION
    lacking: NDArray[np.bool_]
    """Functions that may have fewer replicas than they should: others are not looked at."""
    blocked: NDArray[np.bool_]
    """Functions of which no node could take a replica, until something is free."""
    gaps: NDArray[np.int64]  # (functions, bins + 1): idle times by length, the last: longer ones
    members: NDArray[np.int64]  # (functions, replicas): those that take requests, oldest first
    idle: NDArray[np.uint64]  # bit sets: where in ``members`` stand those that may have no requests
    replicas: NDArray[np.void]  # of REPLICA_SLOT
    slots: NDArray[np.void]  # of REQUEST_SLOT
    due: Due
    paths: Paths
    responses: NDArray[np.float64]
    """Response times, in the order of completion."""
    responded: NDArray[np.int32]
    """The functions of the response times."""
    records: Records
    seen: Nodes
    """What learners see of the nodes, written when they look."""
    extras: Extras | None
