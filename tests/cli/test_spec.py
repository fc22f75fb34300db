"""``cloudarena spec KIND`` and ``cloudarena schema KIND``."""

import json

import pytest
import yaml

from cloudarena.catalogue import ANSWER, STUDY, load
from cloudarena.contract.spec_text import spec_text
from cloudarena.scenarios import kinds
from cloudarena.scenarios.faas.spec.power import NodePower


@pytest.mark.parametrize("kind", kinds())
def test_the_whole_spec_of_a_kind_is_a_spec_of_what_the_example_is(cloudarena, tmp_path, kind):
    code, out, _ = cloudarena("spec", kind)
    assert code == 0
    file = tmp_path / "spec.yaml"
    file.write_text(out)
    example = load(kinds()[kind].example)
    assert load(str(file)).model_dump() == example.model_dump()
    missing = set(kinds()[kind].scenario.model_fields) - set(yaml.safe_load(out)) - {"version"}
    assert not [name for name in missing if f"{name}:" not in out]


def test_mappings_by_name_are_written_by_name():
    text = spec_text(
        NodePower, {"devices": {"nano": {"model": "linear", "idle_w": 1.5, "cpu_w": 4.0}}}
    )
    assert yaml.safe_load(text)["devices"]["nano"]["cpu_w"] == 4.0
    assert "# By name: NAME: {" in spec_text(NodePower, {})


def forms(schema, part):
    """The types that a part of a schema may have."""
    return {one.get("type", "ref" if "$ref" in one else "other") for one in part["anyOf"]}


def test_the_schema_of_faas_takes_the_short_forms_that_specs_have(cloudarena):
    _, out, _ = cloudarena("schema", "faas")
    schema = json.loads(out)
    known = schema["$defs"]
    assert forms(schema, known["Topology"]) == {"object", "string"}
    assert "path" in known["Topology"]["anyOf"][0]["properties"]
    assert "string" in forms(schema, known["Scheduler"]["properties"]["priorities"]["items"])
    assert "string" in forms(schema, known["Function"]["properties"]["calls"]["items"])
    assert "from" in known["Function"]["properties"]
    assert "number" in forms(schema, known["Link"]["properties"]["latency_ms"])
    traces = schema["properties"]["functions"]["anyOf"][1]["anyOf"]
    assert [one["properties"]["source"]["const"] for one in traces] == ["azure-2019", "azure-2021"]


def test_the_catalogue_keeps_the_schemas():
    jsonschema = pytest.importorskip("jsonschema")
    for kind in kinds().values():
        keeps = jsonschema.Draft202012Validator(kind.scenario.model_json_schema())
        for file in sorted(kind.entries.glob("*.yaml")):
            if not file.name.endswith((STUDY, ANSWER)):
                spec = yaml.safe_load(file.read_text())
                assert not [one.message for one in keeps.iter_errors(spec)], file
                assert list(keeps.iter_errors({**spec, "no_such_key": 1})), file
