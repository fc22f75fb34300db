"""``cloudarena trace`` is made of the sources of the kinds: what holds for each of them."""

import json

import pytest

from cloudarena import simulate
from cloudarena.base.errors import CloudarenaError
from cloudarena.catalogue import load
from cloudarena.cli import trace
from cloudarena.cli.source_options import make_source
from cloudarena.scenarios import kinds

GENERATED = {
    "clusters": ["generated", "--batches", 5, "--seconds", 1, "--seconds", 3, "--vms", 4],
    "faas": ["poisson", "--rate", 2, "--duration-s", 100],
    "jobs": ["deeprm", "--jobs", 5],
    "tiers": ["bursts", "--kind", "tiers", "--base", 5, "--burst", 50, "--seconds", 90],
    "vm": ["azure-like", "--vms", 30, "--ticks", 100],
    "workflow": ["shapes", "--functions", 20, "--workflows", 3],
}
"""A small trace of each kind."""
WORK = {
    "clusters": "tasks",
    "faas": "requests",
    "jobs": "instances",
    "tiers": "requests_expected",
    "vm": "readings",
    "workflow": "functions",
}
"""The figure that counts the work."""


@pytest.mark.parametrize("kind", kinds())
def test_every_kind_shows_its_toy(cloudarena, kind):
    code, out, err = cloudarena("trace", "describe", kinds()[kind].toy, "--json")
    assert (code, err) == (0, "")
    (figures,) = json.loads(out).values()
    numbers = {name: value for name, value in figures.items() if isinstance(value, int | float)}
    assert numbers.get(WORK.get(kind, ""), max(numbers.values())) > 0


@pytest.mark.parametrize("kind", GENERATED)
def test_what_is_generated_is_the_trace_of_a_kind_again(cloudarena, tmp_path, kind):
    folder, again = tmp_path / "made", tmp_path / "again"
    code, _, err = cloudarena(
        "trace", "generate", *GENERATED[kind], "--seed", 3, "--out", folder, "--json"
    )
    assert (code, err) == (0, "")
    ((known, name),) = [one for one in trace._canonical() if one[0].kind.name == kind]
    words = []
    for field, file in known.source.canonical.items():
        words += [f"--{field}"] if field not in known.source.arguments else []
        words += [next(folder.glob(f"{file}*"))]
    if len(trace.known_sources(generators=False)[name]) > 1:
        words += ["--kind", kind]
    code, _, err = cloudarena("trace", "convert", name, *words, "--out", again, "--json")
    assert (code, err) == (0, "")
    shown = [cloudarena("trace", "describe", one, "--json")[1] for one in (folder, again)]
    first, second = (next(iter(json.loads(one).values())) for one in shown)
    assert first[WORK[kind]] == pytest.approx(second[WORK[kind]])
    assert first[WORK[kind]] > 0


@pytest.mark.parametrize("kind", kinds())
def test_each_source_says_what_it_is(kind):
    for name, source in kinds()[kind].sources.items():
        assert source.__doc__, name
        assert not (source.is_generator and source.reads_files), name
        if source.is_generator or source.reads_files:
            assert source.command().example, name


def test_a_name_of_two_kinds_needs_to_be_told_apart():
    found = trace.known_sources(generators=False)
    assert trace.find_source(found, "openb", None).kind.name == "vm"
    assert trace.find_source(found, "openb", "jobs").kind.name == "jobs"
    assert trace.find_source(found, "openb-jobs", None).kind.name == "jobs"
    assert trace.find_source(found, "alibaba-2018", None).kind.name == "jobs"
    assert trace.find_source(found, "nothing", None) is None
    with pytest.raises(CloudarenaError, match="--kind: 'tiers' is not allowed: one of jobs, vm"):
        trace.find_source(found, "openb", "tiers")
    with pytest.raises(CloudarenaError, match="--kind: is required: file is a source of"):
        trace.find_source(found, "file", None)


def test_one_list_of_pods_as_vms_and_as_jobs(cloudarena, tmp_path):
    pods = tmp_path / "pods.csv"
    pods.write_text(
        "name,cpu_milli,memory_mib,qos,creation_time,deletion_time\na,1000,1024,LS,0,900\n"
    )
    for kind, file in (("vm", "vmtable.parquet"), ("jobs", "jobs.parquet")):
        out = tmp_path / kind
        words = ("trace", "convert", "openb", "--kind", kind, "--pods", pods, "--out", out)
        assert cloudarena(*words)[0] == 0
        assert (out / file).is_file()
        code, shown, _ = cloudarena(
            "trace", "describe", pods, "--format", "openb", "--kind", kind, "--json"
        )
        assert code == 0
        assert json.loads(shown)[str(pods)][{"vm": "vms", "jobs": "jobs"}[kind]] == 1


def test_the_options_of_a_command_are_the_keys_of_a_spec(tmp_path):
    known = trace.find_source(trace.known_sources(generators=True), "azure-like", None)
    source = make_source(known.source, "azure-like", {"vms": 20, "concurrent": None, "ticks": 50})
    scenario = load("vm/toy", {"workload": {"source": "azure-like", "vms": 20, "ticks": 50}})
    assert source == scenario.workload


def test_the_requests_of_a_run_are_those_that_are_shown(cloudarena):
    code, out, _ = cloudarena("trace", "describe", "faas/toy", "--seed", 4, "--json")
    assert code == 0
    (figures,) = json.loads(out).values()
    metrics = simulate("faas/toy", seed=4).metrics
    assert figures["requests"] == metrics["requests"] > 0
    assert figures["requests_per_second"] == metrics["requests"] / load("faas/toy").duration_s
