"""Workflows on serverless-workflow-arena 1.0.0, in a Python that has it.

``python workflow_on_arena.py < WORKLOAD.json`` prints what happened and how long it took as JSON.
It needs that package and nothing of cloudarena, so that the two may live in different environments.
"""

from __future__ import annotations

import json
import random
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from itertools import cycle
from types import SimpleNamespace
from typing import Any

PACKAGE = "serverless-workflow-arena"
SLICE_STEPS = 500
"""Steps that take about a tenth of a second."""


def main() -> None:
    """Reads the workload, runs it, and prints the figures."""
    try:
        installed = version(PACKAGE)
    except PackageNotFoundError:
        print(json.dumps({"installed": None}))
        return
    workload = json.load(sys.stdin)
    print(json.dumps({"installed": installed, **run(workload)}))


def run(workload: dict[str, Any]) -> dict[str, Any]:
    """Steps through the workload, round-robin over the nodes, up to a number of steps."""
    from serverless_workflow_arena import ClusterConfig, RawEnv

    cluster, options = workload["cluster"], workload["memory_options"]
    places = [
        (kind["name"], server, node)
        for kind in cluster["servers"]
        for server in range(kind["count"])
        for node in range(kind["numa_nodes"]["count"])
    ]
    # It takes templates from DAX files only, but looks at nothing but these attributes.
    templates: list[Any] = [
        SimpleNamespace(**{**template, "edges": [tuple(edge) for edge in template["edges"]]})
        for template in workload["templates"]
    ]
    random.seed(workload["seed"])  # it draws templates from the global random numbers
    env: Any = RawEnv(workload["arrivals"], templates, ClusterConfig(**cluster))
    env.reset()
    logs: list[Any] = []
    slices: list[float] = []
    turn = cycle(places)
    start = time.process_time()
    while env.current_function is not None and len(logs) < workload["steps"]:
        _, workflow, function = env.current_function
        need = env.workload[workflow][function].memory_req
        memory = next((option for option in options if option >= need), options[-1])
        logs.append(env.step(*next(turn), memory))
        if len(logs) % SLICE_STEPS == 0:
            slices.append(time.process_time() - start)
            start = time.process_time()
    slices.append(time.process_time() - start)
    return {"steps": len(logs), "slices_s": slices, **outcome(env, logs, cluster)}


def outcome(env: Any, logs: list[Any], cluster: dict[str, Any]) -> dict[str, Any]:
    """Makespans, rent, and how many functions ran faster than the cores can."""
    finished = [record for log in logs for record in log.finished_workflow_records]
    makespans = [
        record.completion_time - env.workload[record.wf_id].arrival_time for record in finished
    ]
    ran, too_fast = 0, 0
    for record in (record for log in logs for record in log.finished_function_records):
        function = env.workload[record.wf_id][record.fn_id]
        least = function.computation / (function.parallelism * cluster["single_core_speed"])
        ran += 1
        too_fast += record.completion_time - record.start_time < least * (1 - 1e-6)
    return {
        "workflows": len(makespans),
        "makespan_mean_s": sum(makespans) / max(1, len(makespans)),
        "rent_usd": sum(log.rent for log in logs),
        "impossible": too_fast / max(1, ran),
    }


if __name__ == "__main__":
    main()
