"""GPUs of machines are devices: shares lie on one, whole ones are those that nobody shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

import cloudarena
from cloudarena.base.errors import InvalidAction, SpecError
from cloudarena.engine.gpu_scores import Rule
from cloudarena.engine.gpu_tuned import WEIGHTS
from cloudarena.reproduce import fgd
from cloudarena.scenarios.vm import REFUSE

Spec = dict[str, Any]


def cloud(*vms: Spec, machines: list[Spec], ticks: int = 10) -> Spec:
    """VMs of one core that live to the end, unless they say otherwise."""
    each = {"created": 0, "lifetime": ticks, "cores": 1, "memory_gb": 1}
    return {
        "scenario": "vm",
        "ticks": ticks,
        "machines": [{"count": 1, "cores": 64, "memory_gb": 64, **kind} for kind in machines],
        "workload": {"source": "inline", "vms": [{**each, **vm} for vm in vms]},
    }


def share(milli: int, **more: Any) -> Spec:
    return {"gpus": 1, "gpu_milli": milli, **more}


def placed(spec: Spec, policy: str = "first-fit") -> list[int | None]:
    """The machine of each VM."""
    return cloudarena.simulate(spec, policy).tables["vms"]["machine"].to_pylist()


@pytest.mark.parametrize(
    ("vms", "expected"),
    [
        ([share(600)] * 3, [0, 0, None]),
        ([share(600), share(600), share(400), share(400)], [0, 0, 0, 0]),
        ([share(300), share(400), share(300), {"gpus": 1}], [0, 0, 0, 0]),  # one device is filled
        ([share(1), {"gpus": 2}], [0, None]),
        ([{"gpus": 2}, {}, share(1)], [0, 0, None]),  # who asks for none has room
    ],
)
def test_what_fits_two_gpus(vms: list[Spec], expected: list[int | None]) -> None:
    assert placed(cloud(*vms, machines=[{"gpus": 2}])) == expected


def test_gpus_are_given_back() -> None:
    vms = [share(600, lifetime=2), share(600), {"gpus": 1, "created": 1}, {"gpus": 1, "created": 2}]
    result = cloudarena.simulate(cloud(*vms, machines=[{"gpus": 2}]), "first-fit")
    assert result.tables["vms"]["machine"].to_pylist() == [0, 0, None, 0]
    # 0.6 for 2 ticks and for 10, a whole one for 8, of 2 GPUs in 10 ticks.
    assert result.metrics["mean_gpu_allocation"] == pytest.approx((1.2 + 6 + 8) / 20)


def test_models() -> None:
    machines = [{"gpus": 1, "gpu_model": "T4"}, {"gpus": 1, "gpu_model": "A100"}]
    vms = [share(500, gpu_models=["A100"]), share(500, gpu_models=["P4", "A100"]), share(500),
           share(600, gpu_models=["P4"])]  # fmt: skip
    assert placed(cloud(*vms, machines=machines)) == [1, 1, 0, None]


def test_a_policy_may_choose_the_device() -> None:
    run = cloudarena.load(cloud(share(500), share(400), share(200), machines=[{"gpus": 2}])).start()
    run.apply(0)
    assert run.decision.machines.gpu_free.tolist() == [[500, 1000]]
    run.apply(0 + 1 * (1 + 1))  # machine 0 of 1, device 1
    assert run.decision.machines.gpu_free.tolist() == [[500, 600]]
    assert run.decision.request.gpu_milli == 200
    run.apply(0)  # the kernel takes the fullest
    assert run.decision is None
    run = cloudarena.load(cloud(share(500), share(600), machines=[{"gpus": 1}])).start()
    run.apply(0)
    assert run.decision is None  # nothing has room: nobody is asked


def test_a_device_without_room_is_refused() -> None:
    spec = cloud(share(500), share(600), machines=[{"gpus": 2}])
    run = cloudarena.load(spec).start()
    run.apply(0)
    with pytest.raises(InvalidAction, match=r"0\.6 GPU of an allowed model: 0\.5, 1 are free"):
        run.apply(0 + 1 * (1 + 0))
    run.apply(0)
    assert run.decision is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gpus": 2, "gpu_milli": 500}, "gpu_milli: 500 is not allowed: 1000 unless gpus is 1"),
        ({"gpus": 63}, "gpus"),
    ],
)
def test_what_no_vm_may_ask_for(changes: Spec, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        cloudarena.load(cloud(changes, machines=[{"gpus": 2}]))


def test_nodes_and_gpus_do_not_go_together() -> None:
    with pytest.raises(SpecError, match=r"machines\[0\]\.gpus: 2 is not allowed"):
        cloudarena.load(cloud({}, machines=[{"gpus": 2, "nodes": 2}]))


def test_fragments() -> None:
    # All ask for a whole GPU: of the two devices the half that is left is of no use.
    spec = cloud({"gpus": 1}, *[{"gpus": 1, "created": 9}] * 30, share(500), machines=[{"gpus": 2}])
    spec["workload"]["vms"].sort(key=lambda vm: vm["created"])
    result = cloudarena.simulate(spec, "first-fit")
    assert result.metrics["gpu_fragments_share"] == pytest.approx(0.25 * 31 / 32, abs=0.01)


PODS = [(4, 1, 500), (8, 1, 1000), (2, 1, 300), (16, 2, 1000), (6, 0, 1000), (32, 4, 1000)]


@pytest.mark.parametrize("name", ["gpu-dot-product", "gpu-clustering", "gpu-packing",
                                  "gpu-best-fit", "fgd", "fgd-tuned"])  # fmt: skip
def test_policies_give_as_many_gpus_as_the_program_of_the_entry(name: str, tmp_path: Any) -> None:
    """The scenario and the entry ``fgd`` place the same pods one after the other alike."""
    rng = np.random.default_rng(1)
    pods = [PODS[k] for k in rng.integers(0, len(PODS), 120)]
    nodes = tmp_path / "nodes.csv"
    rows = [f"n{k},{cpu},{8 * cpu},{gpus},{model}" for k, (cpu, gpus, model) in
            enumerate([(64000, 8, "A"), (96000, 4, "B"), (32000, 2, "A")] * 2)]  # fmt: skip
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\n" + "\n".join(rows) + "\n")
    listed = tmp_path / "pods.csv"
    lines = [f"p{k},{cpu * 1000},1024,{gpus},{milli},," for k, (cpu, gpus, milli) in
             enumerate(pods)]  # fmt: skip
    header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos"
    listed.write_text(header + "\n" + "\n".join(lines) + "\n")
    cluster = fgd.read_cluster(nodes, listed)
    rules = {**fgd.POLICIES, fgd.TUNED: Rule.TUNED}
    rule = rules[{"fgd": "FGD"}.get(name, name.removeprefix("gpu-"))]
    given = fgd.place_all(
        cluster.nodes, cluster.pods, cluster.typical, cluster.listed, int(rule), False,
        WEIGHTS, rng,
    )  # fmt: skip
    machines = [
        {"cores": cpu / 1000, "memory_gb": 8 * cpu / 1024, "gpus": gpus, "gpu_model": model}
        for cpu, gpus, model in [(64000, 8, "A"), (96000, 4, "B"), (32000, 2, "A")] * 2
    ]
    vms = [{"cores": cpu, "gpus": gpus, "gpu_milli": milli if gpus else 1000} for cpu, gpus, milli
           in pods]  # fmt: skip
    result = cloudarena.simulate(cloud(*vms, machines=machines), name)
    assert result.metrics["mean_gpu_allocation"] * 28_000 == pytest.approx(given)


def test_a_run_replayed_takes_the_same_devices(tmp_path: Any) -> None:
    machines = [{"gpus": 2, "cores": 8}, {"gpus": 4, "cores": 8}]
    vms = [share(300), share(600, gpu_models=["", "x"]), {"gpus": 2}, share(500), share(400)] * 2
    result = cloudarena.simulate(cloud(*vms, machines=machines), "fgd")
    table = result.tables["vms"]
    held = table.select(["machine", "gpus", "device"]).to_pylist()
    assert held[0]["gpus"] == 0.3
    assert held[0]["device"] is not None
    assert held[2]["device"] is None  # whole ones
    path = tmp_path / "decisions.parquet"
    pyarrow.parquet.write_table(result.tables["decisions"], path)
    again = cloudarena.simulate(cloud(*vms, machines=machines), f"replay:{path}")
    assert again.tables["vms"].equals(table)


def test_whoever_refuses_holds_nothing() -> None:
    run = cloudarena.load(cloud(share(500), share(600), machines=[{"gpus": 1}])).start()
    run.apply(REFUSE)
    run.apply(0)
    assert run.decision is None
