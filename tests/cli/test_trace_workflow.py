"""``cloudarena trace`` for workflows."""

import gzip
import json

import pytest

from cloudarena.workloads.workflow.dax import Dax
from cloudarena.workloads.workflow.files import read_workflow_file
from cloudarena.workloads.workflow.shapes import draw_workflows

DAX = """<adag><job id="a" runtime="2"><uses file="x" link="output" size="5"/></job>
<job id="b" runtime="3"><uses file="x" link="input" size="5"/></job>
<child ref="b"><parent ref="a"/></child></adag>"""
WFFORMAT = json.dumps(
    {
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {"tasks": [{"id": "a"}, {"id": "b", "parents": ["a"]}]},
            "execution": {"tasks": [{"id": k, "runtimeInSeconds": 4} for k in "ab"]},
        },
    }
)
ALIBABA = "M1,2,j_1,1,Terminated,5,9,100,1\nR2_1,2,j_1,1,Terminated,5,9,100,1\n"
NEUTRAL = json.dumps(
    {
        "templates": [
            {
                "functions": [{"computation": 9, "memory_req": 1, "parallelism": 1}] * 2,
                "edges": [[0, 1, 7]],
            }
        ],
        "arrivals": [3, 4],
    }
)


@pytest.mark.parametrize(
    ("name", "text", "figures"),
    [
        ("dax", DAX, {"workflows": 1, "critical_path_max_s": 5.0, "bytes": 5}),
        ("wfcommons", WFFORMAT, {"workflows": 1, "critical_path_max_s": 8.0, "bytes": 0}),
        ("alibaba-2018-workflows", ALIBABA, {"workflows": 1, "core_seconds": 16.0}),
        ("workflows", NEUTRAL, {"workflows": 2, "bytes": 14, "span_s": 1.0}),
    ],
)
def test_convert_and_describe(cloudarena, tmp_path, name, text, figures):
    trace, out = tmp_path / "trace", tmp_path / "out"
    trace.write_text(text)
    code, shown, err = cloudarena("trace", "convert", name, trace, "--out", out, "--json")
    assert (code, err) == (0, "")
    made = json.loads(shown)
    assert made["out"] == str(out)
    assert made["functions_of_templates"] == 2
    code, shown, _ = cloudarena("trace", "describe", out, "--json")
    assert code == 0
    told = json.loads(shown)[str(out)]
    assert told["workflows"] == made["workflows"]
    assert told["edges"] == told["workflows"]
    for figure, value in figures.items():
        assert told[figure] == pytest.approx(value), figure
    code, shown, _ = cloudarena("trace", "describe", trace, "--format", name, "--json")
    assert (code, json.loads(shown)) == (0, {str(trace): told})


@pytest.mark.parametrize(
    ("name", "text", "figures"),
    [
        ("a.dax", DAX, {"functions": 2, "edges": 1, "levels_max": 2, "width_max": 1, "bytes": 5}),
        ("a.json", WFFORMAT, {"functions": 2, "critical_path_max_s": 8.0}),
        ("batch_task.csv", ALIBABA, {"jobs": 1, "tasks": 2, "edges": 1, "instances": 4}),
        ("workflows.json.gz", NEUTRAL, {"workflows": 2, "functions": 4}),
    ],
)
def test_describe_recognises_a_file(cloudarena, tmp_path, name, text, figures):
    packed = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    (tmp_path / name).write_bytes(packed)
    code, shown, err = cloudarena("trace", "describe", tmp_path / name, "--json")
    assert (code, err) == (0, "")
    assert json.loads(shown)[str(tmp_path / name)].items() >= figures.items()


def test_several_files_arrive_by_a_process(cloudarena, tmp_path):
    for name in ("one.dax", "two.dax"):
        (tmp_path / name).write_text(DAX)
    code, out, _ = cloudarena(
        "trace", "convert", "dax", tmp_path / "one.dax", tmp_path / "two.dax", "--workflows", 10,
        "--arrivals", "even", "--rate", 0.5, "--single-core-speed", 1000, "--resources", "one-core",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert code == 0
    assert "templates: 2" in out
    assert "workflows: 10" in out
    assert "workflows.json" in "".join(out.split())
    mix = read_workflow_file(tmp_path / "out" / "workflows.json")
    assert [template.name for template in mix.templates] == ["one", "two"]
    assert mix.arrivals.tolist() == [2.0 * k for k in range(10)]
    assert mix.templates[1].computation.tolist() == [2000, 3000]
    assert mix.single_core_speed == 1000


def test_azure_functions(cloudarena, tmp_path):
    (tmp_path / "workflows.json").write_text(NEUTRAL)
    minutes = ",".join(map(str, range(1, 1441)))
    counts = ",".join(["2"] * 1440)
    (tmp_path / "d01.csv").write_text(
        f"HashOwner,HashApp,HashFunction,Trigger,{minutes}\n"
        f"o,a,f,http,{counts}\no,a,g,timer,{counts}\n"
    )
    code, out, err = cloudarena(
        "trace", "convert", "azure-functions-2019", tmp_path / "d01.csv",
        "--templates", tmp_path / "workflows.json", "--trigger", "timer", "--first-minute", 2,
        "--minutes", 3, "--spread", "even", "--out", tmp_path / "out", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert json.loads(out).items() >= {"invoked_functions": 1, "workflows": 6}.items()
    mix = read_workflow_file(tmp_path / "out" / "workflows.json")
    assert mix.arrivals.tolist() == [15, 45, 75, 105, 135, 165]


def test_generate(cloudarena, tmp_path):
    out = tmp_path / "out"
    code, shown, err = cloudarena(
        "trace", "generate", "workflows", "--shape", "montage", "--shape", "sipht", "--functions",
        40, "--workflows", 12, "--arrivals", "bursty", "--rate", 0.1, "--templates", 2,
        "--runtime-scale", 0.5, "--seed", 3, "--out", out, "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert json.loads(shown)["functions_of_templates"] == 160
    made = read_workflow_file(out / "workflows.json")
    want = draw_workflows(
        ["montage", "sipht"], 40, 12, 3, templates=2, arrivals="bursty", rate=0.1, runtime_scale=0.5
    )
    assert made.arrivals.tolist() == want.arrivals.tolist()
    assert made.which.tolist() == want.which.tolist()
    assert made.templates[3].computation.tolist() == want.templates[3].computation.tolist()
    code, shown, _ = cloudarena("trace", "describe", out)
    assert code == 0
    assert any(line.split() == ["functions", "480"] for line in shown.splitlines())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["convert", "dax", "no.dax", "--out", "x"], "no.dax: does not exist"),
        (["convert", "dax", "bad", "--out", "x"], "bad, line 1: is not XML"),
        (["convert", "wfcommons", "bad", "--out", "x"], "bad, line 1: is not JSON"),
        (["convert", "workflows", "bad", "--out", "x"], "bad, line 1: is not JSON"),
        (
            ["convert", "azure-functions-2019", "no.csv", "--templates", "bad", "--out", "x"],
            "bad, line 1: is not JSON",
        ),
        (
            ["generate", "workflows", "--functions", "9", "--workflows", "1", "--out", "x"],
            "functions: 9 is not allowed: from 15 to 10,000,000 for montage",
        ),
        (["describe", "."], "workflows.json for workflow"),
    ],
)
def test_mistakes(cloudarena, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad").write_text("bad")
    code, out, err = cloudarena("trace", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["bad"]


DRAWN = {"memory_mean_mb", "memory_max_mb", "parallelism_mean", "parallelism_max", "core_seconds"}


def test_what_a_document_does_not_tell_is_marked(cloudarena, tmp_path):
    trace = tmp_path / "mine.dax"
    trace.write_text(DAX)
    code, shown, _ = cloudarena("trace", "describe", trace, "--seed", 3, "--json")
    assert code == 0
    marked = json.loads(shown)[str(trace)]["not_in_file"]
    assert set(marked) == DRAWN | {"span_s"}
    words = "drawn under seed 3 by the distribution azure-like for 2 of 2 functions"
    assert marked["memory_mean_mb"] == words
    assert marked["core_seconds"] == f"run times times the parallelism, which is {words}"
    code, shown, _ = cloudarena("trace", "describe", trace, "--seed", 3)
    lines = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert "all figures are" not in shown
    for figure in DRAWN:
        assert lines[figure].rstrip().endswith("†"), figure
    for figure in ("functions", "bytes", "runtime_total_s", "critical_path_max_s"):
        assert "†" not in lines[figure], figure
    assert "† not in" in shown
    assert "".join(words.split()) in "".join(shown.split())  # however lines are broken


def test_only_what_is_missing_is_marked(cloudarena, tmp_path):
    """A WfCommons instance that tells the cores of both tasks, and the memory of one."""
    document = json.loads(WFFORMAT)
    for task in document["workflow"]["execution"]["tasks"]:
        task["coreCount"] = 2
    document["workflow"]["execution"]["tasks"][0]["memoryInBytes"] = 2**28
    trace = tmp_path / "some.json"
    trace.write_text(json.dumps(document))
    _, shown, _ = cloudarena("trace", "describe", trace, "--json")
    marked = json.loads(shown)[str(trace)]["not_in_file"]
    assert set(marked) == {"memory_mean_mb", "memory_max_mb", "span_s"}
    assert marked["memory_max_mb"].endswith("for 1 of 2 functions")
    out = tmp_path / "set"
    cloudarena("trace", "convert", "wfcommons", trace, "--resources", "one-core", "--out", out)
    _, shown, _ = cloudarena("trace", "describe", out, "--json")
    marked = json.loads(shown)[str(out)]["not_in_file"]
    assert (
        marked["memory_max_mb"] == "128 MB, set by the distribution one-core for 1 of 2 functions"
    )


def test_marks_survive_conversion_and_come_from_generators_too(cloudarena, tmp_path):
    alibaba, out = tmp_path / "batch_task.csv", tmp_path / "out"
    alibaba.write_text(ALIBABA)
    cloudarena("trace", "convert", "alibaba-2018-workflows", alibaba, "--workers", 2, "--out", out)
    _, shown, _ = cloudarena("trace", "describe", out, "--json")
    marked = json.loads(shown)[str(out)]["not_in_file"]
    assert "at most 2" in marked["parallelism_max"]
    assert marked["bytes"] == "set to 0"
    assert "core_seconds" not in marked
    made = tmp_path / "made"
    size = ("--functions", 20, "--workflows", 2)
    cloudarena("trace", "generate", "workflows", *size, "--seed", 4, "--out", made)
    _, shown, _ = cloudarena("trace", "describe", made, "workflow/demo", "--seed", 2, "--json")
    figures = json.loads(shown)
    assert figures[str(made)]["not_in_file"] == {
        "all": "drawn by the generator of shapes under seed 4"
    }
    assert figures["workflow/demo"]["not_in_file"]["all"].endswith("under seed 2")
    _, shown, _ = cloudarena("trace", "describe", made)
    assert "†" not in shown
    assert "all figures are drawn by the generator of shapes under seed 4" in " ".join(
        shown.split()
    )
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "scenario: workflow\n"
        "cluster: {servers: [{name: s, hourly_rate: 1, cold_start_latency: 0,"
        " numa_nodes: {cpu: 2, memory: 4096}}]}\n"
        f"workload: {{source: file, path: {out}/workflows.json}}\n"
    )
    _, shown, _ = cloudarena("trace", "describe", spec, "--json")
    assert json.loads(shown)[str(spec)]["not_in_file"] == marked


def test_a_function_is_drawn_by_its_name(tmp_path):
    """Another order of jobs, another document beside it: each function has the same memory."""
    jobs = [f'<job id="{name}" runtime="2"/>' for name in "abcdef"]
    for name, order in (("one", jobs), ("two", jobs[::-1])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "w.dax").write_text(f"<adag>{''.join(order)}</adag>")
    (tmp_path / "other.dax").write_text(f"<adag>{''.join(jobs)}</adag>")

    def drawn(*paths, seed=0):
        documents = Dax(source="dax", paths=tuple(tmp_path / path for path in paths))
        workload = documents.load(seed, 10**9)
        first = 0 if len(paths) == 1 else 6
        names = workload.function_ids.to_pylist()[first : first + 6]
        columns = zip(workload.memory_req, workload.parallelism, strict=True)
        return dict(zip(names, list(columns)[first : first + 6], strict=True))

    assert drawn("one/w.dax") == drawn("two/w.dax") == drawn("other.dax", "one/w.dax")
    assert drawn("one/w.dax") != drawn("other.dax")
    assert drawn("one/w.dax") != drawn("one/w.dax", seed=1)
    assert len(set(drawn("one/w.dax").values())) > 3
