"""Azure Functions 2021: single invocations, each with its end and its duration.

The public trace of two weeks in January 2021 (Zhang et al., SOSP 2021) is one file with a row for
each invocation: app, func, end_timestamp and duration, both in seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.workloads.arrays import writable
from cloudarena.workloads.columns import NUMBER, TEXT, check, read_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS = {
    "app": TEXT,
    "func": TEXT,
    "end_timestamp": NUMBER,
    "duration": NUMBER,
}


class TimedInvocations(NamedTuple):
    """Invocations in the order of their arrival, which is their end less their duration."""

    names: tuple[str, ...]
    """The names of functions, ``app/func``, in the order of the file."""
    function: NDArray[np.int64]
    arrival_s: NDArray[np.float64]  # from the first arrival
    duration_s: NDArray[np.float64]


def read_timed_invocations(path: Path) -> TimedInvocations:
    """Reads the trace, or a part of it with the same columns."""
    table = read_columns(path, COLUMNS)
    if len(table) == 0:
        raise TraceError(f"{path}: has no invocations")
    end, duration = writable(table["end_timestamp"]), writable(table["duration"])
    check(path, "end_timestamp", end, np.isfinite(end), "a number of seconds")
    check(path, "duration", duration, (duration >= 0) & np.isfinite(duration), "at least 0")
    names = pc.binary_join_element_wise(table["app"], table["func"], "/").dictionary_encode()
    codes = pa.chunked_array([names]) if isinstance(names, pa.Array) else names
    encoded = codes.combine_chunks()
    arrival = end - duration
    order = np.argsort(arrival, kind="stable")
    return TimedInvocations(
        names=tuple(encoded.dictionary.to_pylist()),
        function=encoded.indices.to_numpy().astype(np.int64)[order],
        arrival_s=(arrival - arrival[order[0]])[order],
        duration_s=duration[order],
    )
