"""Rows for the tables of a run, as the kernel writes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.scenarios.faas.state.enums import POWERED, Phase

PHASES = tuple(phase.name.lower() for phase in Phase if phase != Phase.FREE)
"""The phases of a replica's life, as tables call them."""

INVOCATION = np.dtype(
    [
        ("function", np.int32),
        ("number", np.int64),
        ("outcome", np.int8),
        ("cold", np.bool_),
        ("replica", np.int64),
        ("node", np.int32),
        ("arrival", np.float64),
        ("start", np.float64),
        ("finish", np.float64),
        ("waited", np.float64),
        ("executed", np.float64),
        ("energy", np.float64),
        ("tries", np.int32),
        ("caller", np.int32),  # its function,
        ("caller_number", np.int64),  # and the number of the request
    ]
)

REPLICA = np.dtype(
    [
        ("function", np.int32),
        ("variant", np.int32),
        ("node", np.int32),
        ("served", np.int64),
        ("idle", np.float64),
        *((phase, np.float64) for phase in PHASES),
    ]
)
"""When each phase began."""

CHANGE = np.dtype(
    [
        ("time", np.float64),
        ("function", np.int32),
        ("before", np.int64),
        ("after", np.int64),
        ("by_scaler", np.bool_),
    ]
)

MOVED = np.dtype(
    [
        ("purpose", np.int8),
        ("begin", np.float64),
        ("end", np.float64),
        ("node", np.int32),
        ("other", np.int32),  # the point at the other end
        ("outward", np.bool_),  # from the node
        ("bytes", np.float64),
        ("function", np.int32),
    ]
)
"""A transfer over the network."""

SAMPLE = np.dtype(
    [
        ("time", np.float64),  # when the interval begins,
        ("seconds", np.float64),  # how long it is; means over it:
        ("power", np.float64),
        ("idle", np.float64),
        ("network", np.float64),
        ("nodes_on", np.float64),
        ("replicas", np.float64),
        ("running", np.float64),
        ("waiting", np.float64),
    ]
)

METERS = np.dtype(
    [
        ("energy", np.float64),
        ("idle", np.float64),
        ("network", np.float64),
        ("on", np.float64),
        ("running", np.float64),
        ("use", np.float64, (POWERED,)),
    ]
)
"""What the meters of a node show at an instant."""

NODE_SERIES = 3 + POWERED
"""Figures of a node in an interval: power, idle and network watts, and utilisations."""
FUNCTION_SERIES = 4
"""Figures of a function in an interval: watts of executions, cold starts, network, idle shares."""

TOTALS = np.dtype([("replicas", np.float64), ("waiting", np.float64)])
"""The meters of all nodes together."""


class Records(NamedTuple):
    """Rows for the tables; those that are not recorded have no room."""

    invocations: NDArray[np.void]
    replicas: NDArray[np.void]
    changes: NDArray[np.void]
    moved: NDArray[np.void]
    samples: NDArray[np.void]
    nodes: NDArray[np.float64]  # (samples, nodes, NODE_SERIES)
    functions: NDArray[np.float64]  # (samples, functions, FUNCTION_SERIES)
    spent: NDArray[np.float64]  # (2, functions, FUNCTION_SERIES): at the last sample, and now
    uses: NDArray[np.float64]  # (samples, functions, POWERED): what each used, in whole nodes
    used: NDArray[np.float64]  # (functions, POWERED): its integral since the last sample,
    used_since: NDArray[np.float64]  # (nodes,): up to when each node has been counted
    meters: NDArray[np.void]  # (2, nodes) of METERS: at the last sample, and now
    totals: NDArray[np.void]  # (2,) of TOTALS: likewise
