"""The functions of Azure's trace of 2021, each with the durations of its invocations in order."""

from __future__ import annotations

from pathlib import Path

from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.workloads.arrivals.azure_functions_2021 import read_timed_invocations
from cloudarena.workloads.faas.azure_day import DEFAULT_MB, LEAST_S, AzureFunction
from cloudarena.workloads.faas.requests import short_name


def read_timed_functions(
    path: Path, count: int, first_s: float, duration_s: float
) -> list[tuple[AzureFunction, list[float]]]:
    """The busiest functions of a time of the trace, and how long each invocation took."""
    trace = read_timed_invocations(path)
    begin, end = np.searchsorted(trace.arrival_s, (first_s, first_s + duration_s))
    function, seconds = trace.function[begin:end], trace.duration_s[begin:end]
    seconds = np.maximum(seconds, LEAST_S)
    totals = np.bincount(function, minlength=len(trace.names))
    found = []
    for k in np.argsort(-totals, kind="stable")[:count].tolist():
        if totals[k] > 0:
            one = AzureFunction(short_name(trace.names[k]), int(totals[k]), (), DEFAULT_MB)
            found.append((one, seconds[function == k].tolist()))
    if not found:
        raise TraceError(f"{path}: has no invocations between {first_s:g} s and the end of the run")
    names = [one.name for one, _ in found]
    for name in names:
        if names.count(name) > 1:
            raise TraceError(f"{path}: two functions are called {name!r} in short")
    return found
