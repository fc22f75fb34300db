"""Cases worked by hand."""

from collections import Counter

import numpy as np
import pytest

import cloudarena
from cloudarena import simulate
from tests.scenarios.faas.cases import MB_S, column, function, scenario

PHASES = ("scheduled", "pulling", "starting", "setting_up", "running", "draining")


def phase_times(result, replica=0):
    return [column(result, "replicas", f"{phase}_time_s")[replica] for phase in PHASES]


def test_a_replica_goes_through_its_phases():
    image = {"image_mb": MB_S, "setup_mb": 2 * MB_S}
    spec = scenario(
        function(rate=0.001, image=image, start_s=2.0, setup_s=3.0), scheduler={"delay_s": 0.5}
    )
    result = simulate(spec)
    assert phase_times(result) == pytest.approx([0.5, 1.0, 2.0, 5.0, 91.5, None])
    assert column(result, "invocations", "start_s") == pytest.approx([8.5])
    assert column(result, "invocations", "cold") == [True]
    assert result.metrics["queueing_share"] == pytest.approx(8.5 / 9.5)


def test_replicas_of_one_image_share_its_pull():
    both = [function(rate=0.001, image={"image_mb": 10 * MB_S}, scaling={"minimum": 2})]
    result = simulate(scenario(*both))
    assert column(result, "replicas", "running_s") == pytest.approx([10.0, 10.0])


def test_a_later_replica_finds_the_image_there():
    rule = {"by": "request-rate", "threshold": 0.5, "interval_s": 20, "step": 1, "maximum": 2}
    result = simulate(
        scenario(function(0.1, image={"image_mb": 10 * MB_S}, scaling=rule), duration_s=30)
    )
    assert column(result, "replicas", "running_s") == pytest.approx([10.0, 20.0])
    assert column(result, "scaling", "after") == [2]


def test_scaling_down_drains():
    class Fewer:
        """One replica, whatever the load."""

        @staticmethod
        def scale(scaling, rng):
            return 1

    rule = {"by": "average-requests", "start": 2, "interval_s": 10, "maximum": 2, "threshold": 1}
    spec = scenario(function(15.0, rate=0.3, scaling=rule, workers=1), duration_s=60)
    result = simulate(spec, Fewer())
    # Round robin: the second replica has request 1, from 10/3 s on; request 3 comes at 10 s.
    replicas = result.tables["replicas"].to_pylist()
    assert replicas[1]["draining_s"] == 10.0
    assert replicas[1]["stopped_s"] == pytest.approx(10 / 3 + 15)
    assert replicas[1]["requests"] == 1
    assert replicas[0]["draining_s"] is None


def test_scale_to_zero_and_from_zero():
    rule = {"by": "average-requests", "minimum": 0, "maximum": 5, "interval_s": 10, "threshold": 1}
    result = simulate(scenario(function(2.0, rate=0.02, scaling=rule, start_s=3.0)))
    rows = result.tables["scaling"].to_pylist()
    assert [(row["time_s"], row["before"], row["after"], row["by"]) for row in rows] == [
        (0.0, 0, 1, "from-zero"),
        (20.0, 1, 0, "scaler"),
        (50.0, 0, 1, "from-zero"),
        (70.0, 1, 0, "scaler"),
    ]
    assert column(result, "invocations", "response_s") == [5.0, 5.0]
    assert result.metrics["cold_starts"] == 2


def test_requests_time_out_wherever_they_are():
    result = simulate(scenario(function(3.0, rate=1.0, timeout_s=4.0), duration_s=10))
    # One worker: request 0 runs from 0 to 3, request 1 from 3 until it is given up at 5, request 2
    # from then until 6, and so on; request 6 would be given up at the end.
    outcomes = column(result, "invocations", "outcome")
    assert outcomes == ["completed"] + 5 * ["timed_out"] + 4 * ["unfinished"]
    assert column(result, "invocations", "executed_s")[:4] == pytest.approx([3.0, 2.0, 1.0, 1.0])
    assert result.metrics["requests"] == 10


def test_a_full_queue_rejects():
    result = simulate(scenario(function(10.0, rate=1.0, queue_limit=2), duration_s=9.5))
    assert result.metrics["rejected"] == 7
    assert result.metrics["unfinished"] == 3


def test_energy_of_a_schedule_is_exact():
    # A NUC: 6 W idle, 28 W for all of its CPU. Ten requests of 1 s with a quarter of it.
    result = simulate(scenario(function(1.0, rate=0.1)))
    energy = 6.0 * 100 + 10 * 0.25 * 28.0
    assert result.metrics["energy_wh"] == pytest.approx(energy / 3600)
    assert column(result, "functions", "energy_j") == pytest.approx([energy, 0.0])
    assert column(result, "functions", "dynamic_energy_j") == pytest.approx([70.0, 0.0])
    assert column(result, "invocations", "energy_j") == pytest.approx([7.0] * 10)
    assert result.metrics["carbon_g"] == pytest.approx(energy / 3.6e6 * 300)
    assert column(result, "nodes", "cpu_utilisation") == pytest.approx([0.025])


def test_carbon_follows_the_grid():
    carbon = {"series": [[0, 100], [50, 700]]}
    result = simulate(scenario(function(1.0, rate=0.001), carbon=carbon))
    dynamic = 7.0 * 100
    assert result.metrics["carbon_g"] == pytest.approx((300 * 100 + 300 * 700 + dynamic) / 3.6e6)


@pytest.mark.parametrize(
    ("model", "watts"),
    [
        ({"model": "linear", "idle_w": 10, "cpu_w": 40}, 10 + 40 * 0.25),
        ({"model": "points", "watts": [10, 20, 28, 34, 39, 43, 46, 48, 49, 50, 50]}, 31.0),
        ({"model": "curve", "idle_w": 10, "busy_w": 50, "r": 2}, 10 + 40 * (0.5 - 0.0625)),
    ],
)
def test_power_models(model, watts):
    result = simulate(
        scenario(function(50.0, rate=0.001), power={"devices": {"nuc": model}}), record="full"
    )
    power = column(result, "power", "power_w")
    assert power[0] == pytest.approx(watts)
    assert power[-1] == 10.0
    assert result.metrics["energy_wh"] * 3600 == pytest.approx(50 * watts + 50 * 10)


def test_overbooked_cores_are_shared():
    image = {"use": {"cpu": 0.8}}
    spec = scenario(
        function(10.0, rate=0.2, image=image, workers=2, memory_bound=0.0), duration_s=40
    )
    # Request 0 alone until 5 s; then two at a time, at 1 / 1.6.
    rows = simulate(spec).tables["invocations"].to_pylist()
    assert [row["start_s"] for row in rows[:2]] == [0.0, 5.0]
    assert [row["finish_s"] for row in rows[:2]] == pytest.approx([13.0, 21.0])


def test_empty_nodes_are_switched_off_and_boot():
    rule = {"by": "average-requests", "minimum": 0, "maximum": 1, "interval_s": 10, "threshold": 1}
    power = {"off_after_s": 5.0, "boot_s": 4.0, "boot_w": 20.0}
    result = simulate(scenario(function(1.0, rate=0.02, scaling=rule), power=power))
    # On from 0; replica until 20; off at 25; boots from 50 to 54; replica until 70; off at 75.
    energy = 6 * 25 + 20 * 4 + 6 * 21 + 2 * 7
    assert result.metrics["energy_wh"] * 3600 == pytest.approx(energy)
    assert column(result, "nodes", "boots") == [1]
    assert column(result, "invocations", "response_s") == [1.0, 5.0]


def test_predicates_choose_the_nodes():
    spec = cloudarena.load(
        {
            "scenario": "faas",
            "duration_s": 10,
            "devices": {"types": {"rpi3": 1, "nano": 1, "coral": 1, "xeongpu": 1}},
            "functions": [{"name": "resnet50-training", "scaling": {"minimum": 1}}],
        }
    )
    decision = spec.start(0).decision
    assert decision.valid.tolist() == [False, True, False, True]
    assert np.isfinite(decision.nodes.execution_s).tolist() == [False, True, False, True]


def test_a_tpu_has_room_for_one_replica():
    spec = cloudarena.load(
        {
            "scenario": "faas",
            "duration_s": 10,
            "devices": {"types": {"coral": 1}},
            "functions": [{"name": "mobilenet-inference", "scaling": {"minimum": 2}}],
        }
    )
    result = simulate(spec)
    images = column(result, "replicas", "image")
    assert images == ["mobilenet-inference-tpu", "mobilenet-inference-tflite"]


def test_round_robin_goes_round():
    spec = scenario(
        function(0.1, rate=1.0, scaling={"minimum": 3}), duration_s=6.5, router="round-robin"
    )
    assert column(simulate(spec), "invocations", "replica") == [0, 1, 2, 0, 1, 2, 0]


def test_placements_that_do_not_fit_wait_until_something_ends():
    wide = function(1.0, rate=0.001, image={"cpu_millicores": 3000})
    second = {**wide, "name": "g", "scaling": {"minimum": 1, "maximum": 1}}
    rule = {"by": "average-requests", "minimum": 0, "maximum": 1, "interval_s": 10, "threshold": 1}
    result = simulate(scenario({**wide, "scaling": {**rule, "start": 1}}, second))
    # The first has no requests after 10 s and ends at 20 s, when the second can be placed.
    assert column(result, "replicas", "scheduled_s") == [0.0, 20.0]


def test_requests_of_azure_2019_arrive_in_their_minutes(tmp_path):
    minutes = [str(minute) for minute in range(1, 1441)]
    counts = {"busy": {1: 30, 2: 60}, "calm": {1: 10, 5: 5}}
    lines = [",".join(["HashOwner", "HashApp", "HashFunction", "Trigger", *minutes])]
    for name, at in counts.items():
        row = [str(at.get(minute, 0)) for minute in range(1, 1441)]
        lines.append(",".join(["o", "a", name, "http", *row]))
    path = tmp_path / "day.csv"
    path.write_text("\n".join(lines) + "\n")
    two = [function(0.01, name=name, requests={"source": "none"}) for name in "fg"]
    trace = {"source": "azure-2019", "path": str(path)}
    result = simulate(scenario(*two, duration_s=300, trace=trace), record="full")
    arrived = [
        (name, int(time // 60) + 1)
        for name, time in zip(
            column(result, "invocations", "function"),
            column(result, "invocations", "arrival_s"),
            strict=True,
        )
    ]
    assert Counter(arrived) == {("f", 1): 30, ("f", 2): 60, ("g", 1): 10, ("g", 5): 5}
    twice = scenario(*two, duration_s=300, trace=trace, load_scale=2.0)
    assert simulate(twice).metrics["requests"] == 210


def test_requests_of_azure_2021_arrive_when_they_began(tmp_path):
    path = tmp_path / "invocations.csv"
    path.write_text("app,func,end_timestamp,duration\nA,x,10.5,0.5\nA,x,11,2\nA,y,30,1\n")
    two = [function(0.1, name=name, requests={"source": "none"}) for name in "fg"]
    trace = {"source": "azure-2021", "path": str(path)}
    result = simulate(scenario(*two, trace=trace), record="full")
    assert column(result, "invocations", "function") == ["f", "f", "g"]
    assert column(result, "invocations", "arrival_s") == [0.0, 1.0, 20.0]


@pytest.mark.parametrize(
    ("seconds", "rate", "rule", "changes"),
    [
        # Two requests a second are above 1.5, each time one replica more, up to four.
        (0.1, 2.0, {"by": "request-rate", "threshold": 1.5}, [(10, 2), (20, 3), (30, 4)]),
        # Ten requests a second, four for each replica: ceil(10 / 4) = 3.
        (0.01, 10.0, {"by": "average-requests", "threshold": 4.0}, [(10, 3)]),
        # A replica asks for a core and uses 0.9 of it; ceil(0.9 / 0.4) = 3, and 0.3 is enough.
        (0.9, 1.0, {"by": "cpu-utilisation", "threshold": 0.4}, [(10, 3)]),
        # Of a request a second a replica serves every tenth: the queue grows, one more at a time.
        (10.0, 1.0, {"by": "queue-length", "step": 1}, [(10, 2), (20, 3), (30, 4)]),
        (0.1, 2.0, {"by": "none"}, []),
    ],
)  # fmt: skip
def test_scalers_follow_their_rules(seconds, rate, rule, changes):
    scaling = {"interval_s": 10, "maximum": 4, **rule}
    use = {"cpu_millicores": 1000, "use": {"cpu": 0.25}}
    nodes = {"types": {"nuc": 2}}
    one = function(seconds, rate, scaling=scaling, image=use)
    result = simulate(scenario(one, devices=nodes, duration_s=60))
    found = zip(
        column(result, "scaling", "time_s"), column(result, "scaling", "after"), strict=True
    )
    assert list(found) == changes


def test_costs_are_energy_requests_and_memory():
    prices = {"kwh_usd": 0.3, "request_usd": 0.001, "gb_second_usd": 0.0001}
    one = function(1.0, 0.1, image={"memory_mb": 500.0})
    result = simulate(scenario(one, prices=prices, devices={"types": {"nuc": 3}}))
    metrics = result.metrics
    energy_kwh = metrics["energy_wh"] / 1000
    cost = 0.3 * energy_kwh + 0.001 * metrics["completed"] + 0.0001 * 0.5 * 100
    assert metrics["cost_usd"] == pytest.approx(cost)
    assert metrics["replicas_mean"] == pytest.approx(1.0)
    assert metrics["nodes_used"] == 1
    assert metrics["energy_j_per_invocation"] == pytest.approx(
        metrics["energy_wh"] * 3600 / metrics["completed"]
    )
