"""What runs cost, worked by hand, in every kind."""

import pytest

import cloudarena
from cloudarena.scenarios import kinds
from tests.scenarios.faas.cases import function, scenario
from tests.scenarios.workflow.clusters import HOUR_OPERATIONS, flow, fn, play, server, toy

HOURS = {"ticks": 4, "tick_seconds": 3600.0}
VMS = [
    {"created": 0, "lifetime": 2, "cores": 2, "memory_gb": 1},
    {"created": 0, "lifetime": 1, "cores": 2, "memory_gb": 1},
    {"created": 1, "lifetime": 9, "cores": 4, "memory_gb": 1},
    {"created": 3, "lifetime": 1, "cores": 2, "memory_gb": 1},
]


def vm(price, **prices):
    machine = {"count": 2, "cores": 4, "memory_gb": 8, "price": price}
    spec = {
        "scenario": "vm", **HOURS, "machines": [machine], "prices": prices,
        "workload": {"source": "inline", "vms": VMS},
    }  # fmt: skip
    return cloudarena.simulate(spec, "first-fit").metrics


@pytest.mark.parametrize("kind", [name for name, kind in kinds().items() if kind.prices])
def test_cost_is_a_highlight_of_every_kind(kind):
    metric = kinds()[kind].metric["cost_usd"]
    assert metric.highlight
    assert metric.better == "lower"


def test_vm_machines_on_demand_are_paid_for_while_a_vm_is_on_them():
    # Machine 0: VMs 0 and 1 in ticks 0 and 1, VM 3 in tick 3. Machine 1: VM 2 from tick 1 on.
    assert vm({"hour_usd": 1})["cost_usd"] == (2 + 1) + 3
    assert vm({"hour_usd": 1, "terms": "reserved"})["cost_usd"] == 2 * 4


def test_vm_energy_is_paid_for_owned_machines_alone():
    owned = vm({"purchase_usd": 4 * 8766.0, "years": 4})
    assert owned["cost_usd"] == pytest.approx(2 * 4 + owned["energy_cost_usd"])
    free = vm(None)
    assert free["cost_usd"] == free["energy_cost_usd"] > 0
    taxed = vm(None, carbon_g_per_kwh=500, carbon_tonne_usd=100, kwh_usd=0)
    assert taxed["cost_usd"] == pytest.approx(taxed["energy_kwh"] * 1.7 * 0.5 / 1000 * 100)


def test_vm_each_vm_that_is_not_served_costs_its_penalty():
    machine = {"count": 1, "cores": 4, "memory_gb": 8, "price": {"hour_usd": 0}}
    spec = {
        "scenario": "vm", **HOURS, "machines": [machine], "prices": {"unserved_usd": 7},
        "workload": {"source": "inline", "vms": VMS},
    }  # fmt: skip
    metrics = cloudarena.simulate(spec, "first-fit").metrics
    assert metrics["failed"] == 1  # VM 2: VM 0 is still there
    assert metrics["cost_usd"] == 7


def jobs(price, **prices):
    spec = {
        "scenario": "jobs",
        "machines": [{"count": 2, "cpu": 2, "price": price}],
        "prices": prices,
        "workload": {
            "source": "inline",
            "jobs": [
                {"submit": 0, "tasks": [{"instances": 2, "cpu": 1, "duration": 3600}]},
                {"submit": 0, "tasks": [{"cpu": 2, "duration": 1800}]},
                {"submit": 0, "tasks": [{"cpu": 2, "duration": 7200}]},
            ],
        },
    }
    return cloudarena.simulate(spec, "fcfs").metrics


def test_jobs_machines_on_demand_are_paid_for_while_something_runs():
    # Machine 0 is busy for an hour, machine 1 for half an hour, then for two.
    metrics = jobs({"hour_usd": 1})
    assert metrics["makespan_s"] == 1800 + 7200
    assert metrics["cost_usd"] == 1 + 2.5
    assert jobs({"hour_usd": 1, "terms": "reserved"})["cost_usd"] == 2 * 2.5


def test_jobs_that_wait_too_long_cost_their_penalty():
    metrics = jobs({"hour_usd": 0}, late_after_s=600, late_usd=5)
    assert metrics["cost_usd"] == 5  # the third, which waits for half an hour


def test_clusters_and_workflow():
    clusters = cloudarena.simulate("clusters/toy").metrics
    vms = cloudarena.load("clusters/toy").vms
    assert clusters["cost_usd"] == pytest.approx(vms * clusters["makespan_s"] / 3600 * 0.096)
    workflow = cloudarena.simulate("workflow/toy").metrics
    assert workflow["cost_usd"] == workflow["rent_usd"]


def test_workflow_servers_are_paid_for_by_the_hour_that_is_begun():
    # An hour and a thousandth of a second on one server, three seconds in one hour on another.
    scenario = toy(
        flow(fn(HOUR_OPERATIONS + 1), fn(1000)),
        flow(fn(2000), arrival=50),
        servers=[server("a"), server("b")],
    )
    assert play(scenario, 0, 1, 1).metrics["cost_usd"] == (2 + 1) * 1.5
    # On one server of eight cores all three are done in the two hours of the first.
    assert play(scenario, 0, 0, 0).metrics["cost_usd"] == 2 * 1.5


def test_faas_all_that_is_paid_for():
    # One NUC has f's replica, and answers in half a second each second; nothing has room for g. Of
    # 20 s the first 10 are warm-up. The Pi, which is rented, has nothing to do.
    linear = {"model": "linear", "network_w": 0.0}
    spec = scenario(
        function(0.5, start_s=8.0, image={"memory_mb": 500.0}),
        function(0.5, 0.2, name="g", image={"memory_mb": 1e6}),
        duration_s=20,
        warmup_s=10,
        devices={"types": {"nuc": 1, "rpi4": 1}},
        power={
            "devices": {
                "nuc": {**linear, "idle_w": 6.0, "cpu_w": 28.0},
                "rpi4": {**linear, "idle_w": 2.0, "cpu_w": 4.0},
            }
        },
        carbon={"g_per_kwh": 360.0},
        prices={
            "kwh_usd": 3600.0,
            "request_usd": 0.01,
            "gb_second_usd": 0.02,
            "device_hour_usd": {"rpi4": 36.0},
            "device_hours": "all",
            "carbon_tonne_usd": 1e6,
            "unserved_usd": 7.0,
        },
    )
    metrics = cloudarena.simulate(spec, "first-fit").metrics
    assert (metrics["requests"], metrics["completed"]) == (10 + 2, 10)
    joules = 10 * 6 + 10 * 0.5 * 28 / 4
    assert metrics["energy_wh"] * 3600 == pytest.approx(joules + 10 * 2)
    parts = {
        "energy of the NUC": joules / 1000,
        "requests": 10 * 0.01,
        "memory": 10 * 0.5 * 0.02,
        "the Pi": 10 * 0.01,
        "carbon": (joules + 20) / 1e4,
        "g": 2 * 7,
    }
    assert metrics["cost_usd"] == pytest.approx(sum(parts.values()))
    used = spec.model_dump(exclude_unset=True)
    used["prices"]["device_hours"] = "used"
    rent = parts["the Pi"]
    found = cloudarena.simulate(used, "first-fit").metrics["cost_usd"]
    assert found == pytest.approx(metrics["cost_usd"] - rent)


def test_faas_devices_are_paid_for_while_they_hold_a_replica():
    spec = {
        "scenario": "faas",
        "duration_s": 3600,
        "devices": {"types": {"xeoncpu": 2}},
        "network": {"preloaded": True},
        "functions": [
            {
                "name": "f",
                "image": {"execution": {"distribution": "constant", "seconds": 1}},
                "requests": {"source": "constant", "rate": 0.01},
                "start_s": 0,
            }
        ],
    }
    used = {"device_hour_usd": {"xeoncpu": 3}}
    one = cloudarena.simulate({**spec, "prices": used}, "first-fit").metrics
    assert one["nodes_used"] == 1
    assert one["cost_usd"] == pytest.approx(3)  # a replica from the start; energy is in the price
    reserved = {**used, "device_hours": "all"}
    both = cloudarena.simulate({**spec, "prices": reserved}, "first-fit").metrics
    assert both["cost_usd"] == pytest.approx(6)
    free = cloudarena.simulate(spec, "first-fit").metrics
    assert free["cost_usd"] == pytest.approx(free["energy_wh"] / 1000 * 0.25)
