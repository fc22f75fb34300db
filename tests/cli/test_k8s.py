"""``cloudarena k8s``: what it prints, and what it refuses."""

import json

import pytest

from tests.kubernetes.clusters import node, pod

TYPE = "node.kubernetes.io/instance-type"


@pytest.fixture
def files(tmp_path):
    nodes = [node(name, labels={TYPE: "m5.xlarge"}) for name in ("n1", "n2")]
    pods = [pod("web-1", on="n1"), pod("web-2", cpu="3", on="n1"), pod("db", cpu="2", on="n2")]
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "NodeList", "items": nodes}))
    (tmp_path / "pods.json").write_text(json.dumps({"kind": "PodList", "items": pods}))
    (tmp_path / "types.csv").write_text("name,vcpu,memory_gb,hour_usd\nm5.xlarge,4,16,0.2\n")
    return tmp_path


def test_headroom(cloudarena, files):
    snap = files / "nodes.json", files / "pods.json"
    code, out, err = cloudarena("k8s", "headroom", *snap, "--pod", "pod/web-1")
    assert code == 0, err
    assert "2 more of deployment/web fit. The next one: 0/2 nodes: 2 too little cpu." in out
    assert "not modelled: preemption, disruption budgets, quotas" in err
    code, out, _ = cloudarena("k8s", "headroom", *snap, "--request", "cpu=1", "--json")
    assert json.loads(out)["nodes"][1] == {
        "node": "n2", "pods": 2, "stopped_by": ["too little cpu"],
    }  # fmt: skip


def test_drain(cloudarena, files):
    snap = files / "nodes.json", files / "pods.json"
    code, out, err = cloudarena("k8s", "drain", *snap, "n1")
    assert code == 0, err
    assert "0/1 nodes: 1 too little cpu" in out
    assert "1 of 2 pods of n1 do not fit elsewhere: no placement has room for more" in out
    said = json.loads(cloudarena("k8s", "drain", *snap, "n1", "--json")[1])
    assert (said["fits"], said["proven"], said["most"]) == (False, True, 1)


def test_mix(cloudarena, files):
    snap = files / "nodes.json", files / "pods.json"
    code, out, err = cloudarena("k8s", "mix", *snap, "--types", files / "types.csv")
    assert code == 0, err
    assert "2 x m5.xlarge: 3 pods for $0.4000 an hour" in out
    assert "No mix is cheaper (proven)" in out
    said = json.loads(cloudarena("k8s", "mix", *snap, "--json")[1])
    # The pods may not run on ARM, and burstable CPUs are not theirs.
    assert not any("g." in name or name.startswith("t3.") for name in said["mix"])
    said = json.loads(cloudarena("k8s", "mix", *snap, "--only", "m5.x*,m5.large", "--json")[1])
    assert said["gap"] >= 0
    assert said["hour_usd"] <= said["today_hour_usd"] == pytest.approx(0.384)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["headroom", "pods.json", "--pod", "deployment/web"], "has no nodes: a snapshot is made"),
        (["headroom", "all.json"], "either --pod or --request is needed"),
        (["headroom", "all.json", "--pod", "web"], "--pod: 'web' is not allowed: as in deploy"),
        (["drain", "all.json", "n9"], "NODE: 'n9' is not in the snapshot: one of n1, n2."),
        (["mix", "all.json", "--only", "x*"], "--only: 'x*' matches none of"),
        (["mix", "none.json"], "none.json: does not exist"),
    ],
)
def test_what_is_refused(cloudarena, files, monkeypatch, words, message):
    monkeypatch.chdir(files)
    parts = [json.loads((files / name).read_text()) for name in ("nodes.json", "pods.json")]
    (files / "all.json").write_text(json.dumps(parts))
    code, _, err = cloudarena("k8s", *words)
    assert code == 2
    assert message in err
