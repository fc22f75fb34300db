"""Workflows here and on serverless-workflow-arena, placed round-robin."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cloudarena.catalogue import load
from cloudarena.scenarios.workflow import WorkflowRun, WorkflowScenario
from cloudarena.workloads.workflow.shapes import draw_workflows

POLICY = "round-robin"

SEED = 0

CLUSTER = "workflow/demo"
"""The entry whose eight servers are used here: one of each c5 type."""

ARENA = Path(__file__).with_name("workflow_on_arena.py")

RESOURCES = "one-core"
"""128 MB and one thread for each function, as that package has it by default."""


class Work(NamedTuple):
    """Workflows at equal distances."""

    name: str
    shapes: tuple[str, ...]
    functions: int
    """Functions of one workflow."""
    workflows: int
    apart_s: float

    @property
    def steps(self) -> int:
        """One for each function."""
        return self.functions * self.workflows


LARGE = Work("100 x 200 functions, 20 s apart", ("cybershake", "montage"), 200, 100, 20.0)

SMALL = Work("5,000 x 10 functions, 1 s apart", ("layered",), 10, 5_000, 1.0)


def laid_out(work: Work) -> dict[str, Any]:
    """The workload with its templates and arrivals, as the spec has it.

    The package draws templates with Python's global random numbers; so they are drawn here.
    """
    mix = draw_workflows(work.shapes, work.functions, 1, SEED, resources=RESOURCES)
    templates = [
        {
            "functions": [
                {"computation": computation, "memory_req": memory, "parallelism": threads}
                for computation, memory, threads in zip(
                    template.computation.tolist(),
                    template.memory_req.tolist(),
                    template.parallelism.tolist(),
                    strict=True,
                )
            ],
            "edges": template.edges.tolist(),
        }
        for template in mix.templates
    ]
    draw = random.Random(SEED)
    return {
        "templates": templates,
        "arrivals": [k * work.apart_s for k in range(work.workflows)],
        "which": [draw.randint(0, len(templates) - 1) for _ in range(work.workflows)],
    }


def scenario_of(workload: Mapping[str, Any]) -> WorkflowScenario:
    """A workload on the eight servers."""
    entry: Any = load(CLUSTER)
    cluster = entry.cluster.model_dump()
    scenario: Any = load({"scenario": "workflow", "cluster": cluster, "workload": workload})
    made: WorkflowScenario = scenario
    return made


def play(run: WorkflowRun) -> float:
    """CPU seconds of a whole run, compiled."""
    policy = run.scenario.kind.policies.resolve(POLICY)
    start = time.process_time()
    run.play(policy)
    return time.process_time() - start


def on_arena(
    scenario: WorkflowScenario, workload: Mapping[str, Any], python: str, steps: int
) -> Any:
    """The workload on the package, in a process of its own; None where it is not installed."""
    cluster = scenario.cluster.model_dump()
    for name in ("memory_bandwidth", "numa_bandwidth", "network_bandwidth"):
        cluster[name] = int(cluster[name])
    templates = [
        {
            "computations": [function["computation"] for function in template["functions"]],
            "memory_reqs": [function["memory_req"] for function in template["functions"]],
            "parallelisms": [function["parallelism"] for function in template["functions"]],
            "edges": template["edges"],
        }
        for template in workload["templates"]
    ]
    work = {
        "cluster": cluster,
        "templates": templates,
        "arrivals": workload["arrivals"],
        "memory_options": scenario.memory_options,
        "seed": SEED,
        "steps": steps,
    }
    child = subprocess.run(
        [python, str(ARENA)],
        input=json.dumps(work),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    figures = json.loads(child.stdout)
    return figures if figures["installed"] else None
