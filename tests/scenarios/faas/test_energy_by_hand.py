"""Energy in closed form: what cold starts, transfers and placements add, and to whom it goes."""

import numpy as np
import pytest

import cloudarena
from cloudarena import simulate
from cloudarena.scenarios.faas.state import Priority
from cloudarena.workloads.faas.functions import resource_use
from tests.scenarios.faas.cases import MB_S, column, function, scenario

NIC_MB_S = 125.0
IDLE_W, CPU_W, NETWORK_W = 6.0, 28.0, 2.0  # of a NUC, which has four cores
FULL_RATE_W = NETWORK_W * MB_S / NIC_MB_S
"""What a NUC's interface draws while a transfer of 1,000 Mbit/s goes on."""


def cold(**changes):
    """A function whose cold start claims a core in each phase, as by default."""
    return function(**{"pull_cores": 1.0, "start_cores": 1.0, "setup_cores": 1.0, **changes})


def energy_j(result):
    return result.metrics["energy_wh"] * 3600


def test_a_cold_start_draws_for_each_of_its_phases():
    image = {"image_mb": 66 * MB_S, "setup_mb": 20 * MB_S}
    work = cold(rate=0.001, image=image, start_s=30.0, setup_s=40.0, start_cores=2.0)
    result = simulate(scenario(work, duration_s=300))
    pull, start, set_up = 66 * CPU_W / 4, 30 * CPU_W / 2, (20 + 40) * CPU_W / 4
    network = (66 + 20) * FULL_RATE_W
    execution = 1.0 * 0.25 * CPU_W
    total = 300 * IDLE_W + pull + start + set_up + network + execution
    assert energy_j(result) == pytest.approx(total)
    assert column(result, "functions", "start_energy_j")[0] == pytest.approx(pull + start + set_up)
    assert column(result, "functions", "network_energy_j")[0] == pytest.approx(network)
    assert column(result, "functions", "dynamic_energy_j")[0] == pytest.approx(execution)
    assert column(result, "nodes", "network_energy_j") == pytest.approx([network])
    assert column(result, "nodes", "cpu_utilisation") == pytest.approx(
        [(66 / 4 + 30 / 2 + 60 / 4 + 0.25) / 300]
    )


def test_replicas_that_wait_for_one_pull_claim_its_core_once():
    work = cold(rate=0.001, image={"image_mb": 10 * MB_S}, scaling={"minimum": 3})
    result = simulate(scenario(work))
    assert column(result, "functions", "start_energy_j")[0] == pytest.approx(10 * CPU_W / 4)


def test_a_pull_that_nobody_waits_for_is_given_up_with_what_it_has_used():
    rule = {"by": "average-requests", "minimum": 0, "start": 1, "interval_s": 20, "maximum": 1}
    image = {"image_mb": 50 * MB_S}
    work = cold(image=image, scaling=rule, requests={"source": "none"})
    later = {**work, "name": "g", "scaling": {"minimum": 1}}
    result = simulate(scenario(work, later))
    # The first function has no requests and goes at 20 s; the other has an image of its own.
    network = (20 + 50) * FULL_RATE_W
    assert column(result, "replicas", "stopped_s")[0] == 20.0
    assert column(result, "functions", "network_energy_j")[:2] == pytest.approx(
        [20 * FULL_RATE_W, 50 * FULL_RATE_W]
    )
    assert energy_j(result) == pytest.approx(100 * IDLE_W + (20 + 50) * CPU_W / 4 + network)


def test_cold_starts_slow_down_what_executes():
    # One invocation takes all of the CPU; a start of 8 s claims a quarter from 4 s on.
    busy = function(10.0, rate=0.001, image={"use": {"cpu": 1.0}}, memory_bound=0.0)
    starts = cold(name="g", start_s=8.0, requests={"source": "none"})
    result = simulate(scenario(busy, starts, scheduler={"delay_s": 0.0}))
    # At 1 / 1.25 for 8 s, 6.4 s of work are done; the rest takes 3.6 s.
    assert column(result, "invocations", "finish_s") == pytest.approx([11.6])


def test_data_of_requests_draws_while_it_moves():
    image = {"input_mb": 2 * MB_S, "output_mb": 3 * MB_S}
    result = simulate(scenario(function(1.0, rate=0.1, image=image)))
    # Ten requests of 2 + 1 + 3 s; each moves five seconds' worth of bytes.
    network = 10 * 5 * FULL_RATE_W
    assert column(result, "functions", "network_energy_j")[0] == pytest.approx(network)
    assert energy_j(result) == pytest.approx(100 * IDLE_W + 10 * 7.0 + network)


def test_data_that_is_given_up_draws_until_then():
    image = {"input_mb": 10 * MB_S}
    result = simulate(scenario(function(1.0, rate=0.01, timeout_s=4.0, image=image)))
    assert result.metrics["timed_out"] == 1
    assert column(result, "functions", "network_energy_j")[0] == pytest.approx(4 * FULL_RATE_W)


def test_flows_draw_by_the_byte_at_both_ends():
    image = {"image_mb": 40.0, "setup_mb": 8.0, "input_mb": 3.0, "output_mb": 5.0}
    spec = scenario(
        function(1.0, rate=0.1, image=image, request_kb=200.0, response_kb=300.0),
        devices={"types": {"nuc": 2, "rpi4": 3}},
        topology={"kind": "industrial-iot", "seed": 1},
        network={"requests": True, "copies": 1},
        duration_s=200,
    )

    class Last:
        """The last node, which holds no data."""

        @staticmethod
        def place(nodes, replica, rng):
            best = -1
            for node in range(len(nodes.valid)):
                if nodes.valid[node]:
                    best = node
            return best

    result = simulate(spec, Last(), record="full")
    assert result.metrics["unfinished"] == 0
    watts = {"nuc": 2.0, "rpi4": 0.9}
    devices = dict(
        zip(column(result, "nodes", "node"), column(result, "nodes", "device"), strict=True)
    )
    expected = dict.fromkeys(devices, 0.0)
    for row in result.tables["flows"].to_pylist():
        for end in {row["source"], row["target"]} & set(devices):
            expected[end] += row["bytes"] * watts[devices[end]] / 125e6
    found = column(result, "nodes", "network_energy_j")
    assert found == pytest.approx(list(expected.values()), rel=1e-9)
    # The board serves: 40 + 8 MB once, and 8.5 MB for each of twenty requests. A NUC has the data:
    # 8 MB once, and 8 MB for each request.
    board, holder = (48e6 + 20 * 8.5e6) * 0.9 / 125e6, (8e6 + 20 * 8e6) * 2.0 / 125e6
    assert sorted(found) == pytest.approx([0.0, 0.0, 0.0, board, holder])


def test_the_tpu_draws():
    spec = cloudarena.load(
        {
            "scenario": "faas",
            "duration_s": 100,
            "devices": {"types": {"coral": 1}},
            "functions": [
                {"name": "mobilenet-inference", "requests": {"source": "constant", "rate": 0.1}}
            ],
        }
    )
    result = simulate(spec)
    use = resource_use("mobilenet-inference-tpu", "coral")
    assert use.accelerator == pytest.approx(0.0026 / 0.548, abs=5e-5)
    watts = 3.5 * use.cpu + 2.0 * use.accelerator + 0.6 * use.network_bytes_s / 125e6
    watts += 0.4 * use.memory
    for row in result.tables["invocations"].to_pylist():
        assert row["energy_j"] == pytest.approx(watts * row["executed_s"], rel=1e-5)


TWO = {
    "nuc": {"model": "linear", "idle_w": 50, "cpu_w": 10},
    "nx": {"model": "linear", "idle_w": 1, "cpu_w": 30},
}


def one_of_two(power, **changes):
    """Half a request a second for an hour, each a second of a whole CPU, on a NUC or an NX."""
    work = function(1.0, rate=0.5, image={"use": {"cpu": 1.0}}, memory_bound=0.0)
    return scenario(
        work,
        duration_s=3600,
        devices={"types": {"nx": 1, "nuc": 1}},
        power={"devices": TWO, **power},
        **changes,
    )


@pytest.mark.parametrize("policy", ["energy-efficiency", "least-power"])
def test_nodes_that_are_on_anyway_add_no_idle_power(policy):
    result = simulate(one_of_two({}), policy)
    assert column(result, "replicas", "node") == ["nuc-0"]
    assert result.metrics["energy_wh"] == pytest.approx(56.0)  # 51 idle, and not 15 but 5


@pytest.mark.parametrize("policy", ["energy-efficiency", "least-power"])
def test_nodes_that_go_off_add_their_idle_power(policy):
    result = simulate(one_of_two({"off_after_s": 0.0, "boot_s": 0.0}), policy)
    assert column(result, "replicas", "node") == ["nx-0"]
    assert result.metrics["energy_wh"] == pytest.approx(16.0)


def expected_j(spec):
    """What the first placer to be asked after 20 s sees, by node."""
    run = spec.start(0)
    first_fit = spec.kind.policies.resolve("first-fit")
    while run.decision.kind != "place" or run.now < 20:
        run.apply(first_fit(run.decision))
    return run.decision.nodes.invocation_j.copy(), run.decision.nodes.added_w.copy()


def test_an_invocation_adds_what_its_replica_keeps_on():
    """Two functions; at 20 s the second should have a replica more, on any of three nodes."""
    rule = {"by": "request-rate", "threshold": 0.1, "interval_s": 20, "maximum": 2}
    first = function(1.0, rate=0.001)
    more = cold(
        seconds=2.0, rate=0.5, name="g", scaling=rule, start_s=5.0, image={"image_mb": 10 * MB_S}
    )
    wide = {"cpu_millicores": 3000}
    first["image"] |= wide
    more["image"] |= wide
    power = {"off_after_s": 10.0, "boot_s": 20.0, "boot_w": 30.0, "off_w": 1.0}
    spec = scenario(
        first,
        more,
        devices={"types": {"nuc": 4}},
        power=power,
        scheduler={"horizon_s": 1000.0},
    )
    invocation, added = expected_j(spec)
    # f is on the first node, g on the second; the others went off at 10 s. Ten requests of g came
    # in 20 s, and it should have two replicas: 4 s from one invocation of a replica to the next.
    dynamic = 2.0 * 0.25 * CPU_W
    pull = 10 * CPU_W / 4 + 10 * MB_S * NETWORK_W / NIC_MB_S
    start = 5 * CPU_W / 4
    boot = 20 * (30 - 1)
    expected = dynamic + 4 * ((IDLE_W - 1) + (pull + start + boot) / 1000)
    assert invocation[2:] == pytest.approx([expected] * 2)
    assert np.isinf(invocation[:2]).all()  # no room there
    assert added[2:] == pytest.approx([0.25 * CPU_W + IDLE_W - 1] * 2)


def test_a_node_that_others_keep_on_adds_no_idle_power():
    first = function(1.0, rate=0.001)
    second = {**first, "name": "g"}
    spec = scenario(first, second, devices={"types": {"nuc": 2}}, power={"off_after_s": 60.0})
    run = spec.start(0)
    run.apply(0)  # f is on the first node; now g
    # No request has come: as if an invocation followed the other.
    assert run.decision.nodes.invocation_j == pytest.approx([7.0, 7.0 + IDLE_W])


def test_contention_counts_workers():
    wide = function(1.0, workers=16, image={"use": {"cpu": 0.25}})
    narrow = function(1.0, name="g", workers=1, image={"use": {"cpu": 0.30}})
    more = function(1.0, name="h", image={"use": {"cpu": 0.1}})
    run = scenario(wide, narrow, more, devices={"types": {"nuc": 2}}).start(0)
    run.apply(0)
    run.apply(1)
    scores = run.decision.scores[Priority.CONTENTION]
    assert scores.tolist() == [0.0, 10.0]  # loads of 4.1 and 0.4


@pytest.mark.parametrize("sample_s", [7.0, 10.0, 1000.0])
def test_the_series_of_power_sums_to_the_energy(sample_s):
    spec = scenario(
        cold(seconds=3.3, rate=0.4, image={"image_mb": 500.0, "input_mb": 40.0}, start_s=2.5),
        sample_s=sample_s,
    )
    result = simulate(spec, record="full")
    power = np.array(column(result, "power", "power_w"))
    length = np.array(column(result, "power", "interval_s"))
    assert length.sum() == pytest.approx(100.0)
    assert (power * length).sum() == pytest.approx(energy_j(result), rel=1e-9)


def test_samples_are_means():
    # A request of 5 s at 0, 20, ... s with a quarter of the CPU, and another from 15 s on.
    other = function(20.0, rate=0.001, name="g", start_s=15.0)
    spec = scenario(function(5.0, rate=0.05), other, sample_s=10.0, duration_s=45)
    rows = simulate(spec, record="full").tables["power"].to_pylist()
    assert [row["time_s"] for row in rows] == [0.0, 10.0, 20.0, 30.0, 40.0]
    assert [row["interval_s"] for row in rows] == [10.0, 10.0, 10.0, 10.0, 5.0]
    assert [row["running"] for row in rows] == pytest.approx([0.5, 0.5, 1.5, 0.5, 1.0])
    assert [row["dynamic_w"] for row in rows] == pytest.approx([3.5, 3.5, 10.5, 3.5, 7.0])
    assert [row["waiting"] for row in rows] == pytest.approx([1.0, 0.5, 0.0, 0.0, 0.0])
    assert [row["replicas"] for row in rows] == pytest.approx([2.0] * 5)


def test_idle_energy_means_one_thing():
    power = {"off_after_s": 20.0, "boot_s": 4.0, "boot_w": 20.0, "off_w": 0.5}
    rule = {"by": "average-requests", "minimum": 0, "maximum": 1, "interval_s": 10, "threshold": 1}
    spec = scenario(
        function(1.0, rate=0.02, scaling=rule), devices={"types": {"nuc": 2}}, power=power
    )
    result = simulate(spec)
    nodes, functions = result.tables["nodes"].to_pylist(), result.tables["functions"].to_pylist()
    idle = sum(row["idle_energy_j"] for row in nodes)
    # The first node: its replica is there from 0 to 20 s; off at 40 s; boots at 50 s; until 70 s;
    # off at 90 s. The other goes off at 20 s.
    first = 40 * 6 + 10 * 0.5 + 4 * 20 + 36 * 6 + 10 * 0.5
    assert [row["idle_energy_j"] for row in nodes] == pytest.approx([first, 20 * 6 + 80 * 0.5])
    used = 20 * 6 + 4 * 20 + 16 * 6
    assert [row["empty_energy_j"] for row in nodes] == pytest.approx([first - used, 160.0])
    assert [row["idle_energy_j"] for row in functions] == pytest.approx([used, idle - used])
    assert sum(column(result, "replicas", "idle_energy_j")) == pytest.approx(used)


def test_carbon_of_flows_follows_the_grid():
    # A pull of 500 MB at a constant rate, half of it before the grid's intensity changes.
    spec = scenario(
        function(1.0, rate=0.001, image={"image_mb": 500.0}),
        topology="cloud-regions",
        carbon={"series": [[0, 100], [2, 700]]},
        power={"devices": {"nuc": {"model": "linear", "idle_w": 0, "cpu_w": 0, "network_w": 1e4}}},
    )
    result = simulate(spec, record="full")
    [flow] = result.tables["flows"].to_pylist()
    early = 2.0 / flow["end_s"]
    energy = 500e6 * 1e4 / 125e6
    assert 0.2 < early < 0.8
    grams = energy / 3.6e6 * (early * 100 + (1 - early) * 700)
    assert result.metrics["carbon_g"] == pytest.approx(grams, rel=1e-9)
