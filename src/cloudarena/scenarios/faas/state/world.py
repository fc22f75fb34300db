"""Everything that a run of functions holds: arrays that the kernel changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.alarms import Alarms
from cloudarena.engine.flows import Flows
from cloudarena.engine.laws import Laws
from cloudarena.scenarios.faas.state.rows import Records
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

    nodes: Alarms
    """A node has booted, or is to be switched off."""
    replicas: Alarms
    """The phase of a replica ends, or it has been idle for too long."""
    finishes: Alarms
    """A request has executed, or its data or latency is over."""
    timeouts: Alarms
    scalers: Alarms


class World(NamedTuple):
    """Everything a run holds."""

    clock: NDArray[np.void]  # (1,) of CLOCK
    rules: NDArray[np.void]  # (1,) of RULES
    carbon: NDArray[np.void]  # of CARBON
    weights: NDArray[np.float64]  # (priorities,): of the spec's scheduler
    arrivals: NDArray[np.float64]
    arriving: NDArray[np.int32]
    """The function of each arrival."""
    nodes: NDArray[np.void]  # of NODE
    scores: NDArray[np.float64]  # (priorities, nodes)
    images: NDArray[np.void]  # (nodes, images) of IMAGE
    variants: NDArray[np.void]  # of VARIANT
    fits: NDArray[np.void]  # (variants, device types) of FIT
    laws: Laws
    """Of execution times, and of the latencies of hops."""
    functions: NDArray[np.void]  # of FUNCTION
    members: NDArray[np.int64]  # (functions, replicas): those that take requests, oldest first
    replicas: NDArray[np.void]  # of REPLICA_SLOT
    slots: NDArray[np.void]  # of REQUEST_SLOT
    due: Due
    paths: Paths
    responses: NDArray[np.float64]
    """Response times, in the order of completion,"""
    responded: NDArray[np.int32]
    """and their functions."""
    records: Records
