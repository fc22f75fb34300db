"""The least energy of requests: cases by hand, and no policy is below it."""

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import SpecError
from cloudarena.scenarios.faas.build.bound import energy_bound, energy_distance
from tests.scenarios.faas.cases import function, scenario

POWER = {
    "devices": {
        "nuc": {"model": "linear", "idle_w": 10, "cpu_w": 20},
        "xeoncpu": {"model": "linear", "idle_w": 50, "cpu_w": 100},
    }
}
TWO = {"types": {"nuc": 1, "xeoncpu": 1}}


def test_the_toy():
    # Both are on all the time: 600 J; five requests take 10 J each on the first, else 25 J.
    toy = cloudarena.load("faas/toy")
    bound = energy_bound(toy, 0)
    assert (bound.energy_j, bound.requests, bound.is_optimal) == (pytest.approx(650), 5, True)
    policies = ("energy-efficiency", "highest-performance")
    found = [energy_distance(cloudarena.simulate(toy, name, record="full")) for name in policies]
    assert [one.above for one in found] == pytest.approx([0.0, 725 / 650 - 1])


def test_nodes_that_may_be_off():
    # 100 s; a node without a replica is off after 20 s. The replica that is always there is on the
    # NUC: 10 W for 100 s, 50 W for 20 s, and ten requests of 1 s of half a CPU: 10 J each.
    made = function(rate=0.1, image={"use": {"cpu": 0.5}})
    spec = scenario(made, devices=TWO, power={**POWER, "off_after_s": 20})
    bound = energy_bound(spec, 0)
    assert bound.energy_j == pytest.approx(1000 + 1000 + 100)
    assert bound.nodes_on == 1
    # Of the first three of them alone.
    three = np.array([[0, 0], [0, 1], [0, 2]])
    assert energy_bound(spec, 0, three).energy_j == pytest.approx(1000 + 1000 + 30)


def test_replicas_that_do_not_fit_one_node_take_two():
    made = function(requests={"source": "none"}, image={"cpu_millicores": 3000})
    made["scaling"] = {"minimum": 2, "maximum": 2}
    spec = scenario(made, devices=TWO, power={**POWER, "off_after_s": 20})
    # Each has four cores, and takes one: 50 W and 10 W for 100 s.
    bound = energy_bound(spec, 0)
    assert (bound.energy_j, bound.nodes_on) == (pytest.approx(5000 + 1000), 2)
    made["placement"] = {"devices": ["nuc"]}
    with pytest.raises(SpecError, match="bound: no placement of the functions' minimum replicas"):
        energy_bound(scenario(made, devices=TWO), 0)


def test_work_keeps_nodes_on():
    # No replica is always there. Ten requests of 9 s of a whole CPU: 90 s of work for a NUC that is
    # on for 20 s anyway, then at 10 W, or 50 W on the Xeon, of whose 20 s work comes for nothing
    # but its own 100 W against 20 W.
    made = function(9.0, 0.1, image={"use": {"cpu": 1.0}})
    made["scaling"] = {"by": "per-request", "minimum": 0}
    spec = scenario(made, devices=TWO, power={**POWER, "off_after_s": 20})
    assert energy_bound(spec, 0).energy_j == pytest.approx(90 * 10 + 20 * 50 + 90 * 20)


@pytest.mark.parametrize("model", ["linear", "curve", "points"])
def test_no_policy_is_below_it(model):
    nuc = {
        "linear": {"model": "linear", "idle_w": 6.0, "cpu_w": 28.0},
        "curve": {"model": "curve", "idle_w": 6, "busy_w": 34, "r": 1.3},
        "points": {"model": "points", "points": [[0, 6], [0.2, 20], [0.8, 22], [1, 34]]},
    }[model]
    made = [
        function(
            rate=0.8,
            name=name,
            requests={"source": "poisson", "rate": 0.8},
            image={
                "execution": {"distribution": "gamma", "shape": 2, "mean_s": 1.5},
                "use": {"cpu": use},
            },
            by_device={"rpi4": {"execution": {"distribution": "exponential", "mean_s": 3}}},
            scaling={"by": "average-requests", "minimum": 1, "maximum": 4, "interval_s": 5},
        )
        for name, use in (("f", 0.3), ("g", 0.6))
    ]
    power = {"devices": {"nuc": nuc}, "off_after_s": 10, "boot_s": 2}
    spec = scenario(*made, devices={"types": {"nuc": 2, "rpi4": 2}}, power=power)
    for name in ("first-fit", "energy-efficiency", "random"):
        one = energy_distance(cloudarena.simulate(spec, name, seed=3, record="full"))
        assert one.above > 0
        assert one.is_optimal


def test_what_has_no_bound():
    with pytest.raises(SpecError, match="bound: vm/toy is not allowed: only faas has one"):
        energy_distance(cloudarena.simulate("vm/toy", "first-fit"))
    with pytest.raises(SpecError, match="no table of invocations; record='full'"):
        energy_distance(cloudarena.simulate("faas/toy", record="none"))
    with pytest.raises(SpecError, match="bound: is not allowed with failures"):
        energy_bound(scenario(function(retries=1)), 0)
