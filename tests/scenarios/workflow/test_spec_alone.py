"""A spec is only a description: validating one needs neither compiled code nor Arrow."""

from __future__ import annotations

import json
import subprocess
import sys

from .clusters import flow, fn, spec_of

PROGRAM = """
import json, sys
from cloudarena.scenarios.workflow.spec import WorkflowScenario
for spec in json.load(sys.stdin):
    WorkflowScenario.parse(spec)
print(json.dumps(sorted({"numba", "pyarrow", "scipy", "pandas"} & set(sys.modules))))
"""


def test_specs_are_validated_without_numba_and_arrow() -> None:
    inline = spec_of(flow(fn(1), fn(2), edges=[(0, 1, 5)]))
    shapes = {"source": "shapes", "functions": 20, "workflows": 3}
    templates = {"templates": [{"functions": [fn(1)]}], "arrivals": "poisson", "workflows": 3}
    alibaba = {"source": "alibaba-2018", "path": "batch_task.csv"}
    specs = [inline, *({**inline, "workload": one} for one in (shapes, templates, alibaba))]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(specs),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == []
