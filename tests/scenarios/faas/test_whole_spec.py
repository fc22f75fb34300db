"""The page of the scenario has every key there is, in a spec that runs."""

import re
from pathlib import Path

import yaml

import cloudarena
from cloudarena import simulate
from cloudarena.scenarios.faas.spec import FaasScenario

PAGE = Path(__file__).parents[3] / "docs" / "faas.md"
ELSEWHERE = {
    *("Azure2019", "Azure2021", "Invocations", "Resample", "Bursts", "RandomWalk", "Recorded"),
    *("Constant", "QuantileTime", "RecordedTime", "EmpiricalTime", "LogNormalTime"),
}
"""Sources and distributions, which have tables of their own."""


def test_every_key_is_written_and_the_spec_runs():
    section = PAGE.read_text(encoding="utf-8").partition("## The whole spec")[2]
    block = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)[1]
    schema = FaasScenario.model_json_schema()
    parts = {"": schema, **schema["$defs"]}
    missing = [
        f"{name}.{key}"
        for name, part in parts.items()
        for key in part.get("properties", {})
        if name not in ELSEWHERE and not re.search(rf"\b{key}\b", block)
    ]
    assert missing == []
    spec = cloudarena.load(yaml.safe_load(block), {"duration_s": 120, "topology.failures": []})
    assert spec.has_extras
    assert simulate(spec).metrics["completed"] > 0
