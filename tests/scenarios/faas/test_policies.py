"""Placers, scalers and bundles: who is which, their parameters, ties; and the toy by hand."""

from typing import get_args

import pytest

import cloudarena
from cloudarena import simulate
from cloudarena.base.errors import PolicyError, SpecError
from cloudarena.scenarios.faas import KIND
from cloudarena.scenarios.faas.spec import PredicateName, PriorityName
from cloudarena.scenarios.faas.spec.functions import ScalerName
from cloudarena.scenarios.faas.spec.own import RouterName
from cloudarena.scenarios.faas.state import Predicate, Priority, Router, Scaler, word
from tests.scenarios.faas.cases import column, function, scenario

SCALED = {"by": "request-rate", "minimum": 1, "maximum": 9, "interval_s": 10.0}


@pytest.mark.parametrize(
    ("policy", "joules", "seconds"),
    [
        ("energy-efficiency", 130.0, 1.0),  # (10 W + 50 W) 10 s + 5 (10 W) 1 s over 5 requests
        ("least-power", 130.0, 1.0),
        ("first-fit", 130.0, 1.0),
        ("highest-performance", 145.0, 0.5),  # 600 J + 5 (50 W) 0.5 s over 5 requests
    ],
)
def test_the_toy_by_hand(policy, joules, seconds):
    metrics = simulate("faas/toy", policy).metrics
    assert metrics["energy_j_per_invocation"] == joules
    assert metrics["energy_wh"] == 5 * joules / 3600
    assert metrics["response_mean_s"] == metrics["response_p99_s"] == seconds
    assert (metrics["completed"], metrics["unserved_share"], metrics["nodes_used"]) == (5, 0, 1)


def test_no_placement_of_the_toy_takes_less_energy_than_the_best():
    class Always:
        """Places on one node."""

        def __init__(self, node):
            self._node = node

        def place(self, nodes, replica, rng):
            return self._node

    found = {
        node: simulate("faas/toy", Always(node)).metrics["energy_j_per_invocation"]
        for node in range(2)
    }
    assert found == {0: 130.0, 1: 145.0}


def test_words_of_the_spec_are_those_of_the_state():
    for words, members in (
        (PredicateName, Predicate),
        (PriorityName, Priority),
        (RouterName, Router),
        (ScalerName, Scaler),
    ):
        rules = [word(member) for member in members if word(member) != "own"]
        assert list(get_args(words)) == rules


POLICIES = """
import cloudarena

@cloudarena.parameters(count=3)
def scaler(scaling, p, rng):
    return int(p.count)

def bare_scaler(scaling, rng):
    return 3

@cloudarena.parameters(node=2)
def placer(nodes, replica, p, rng):
    return int(p.node)

def bare_placer(nodes, replica, rng):
    return 2

class Both:
    place = staticmethod(placer)
    scale = staticmethod(scaler)
"""


@pytest.mark.parametrize(
    ("policy", "nodes", "after"),
    [
        ("scaler", {"nuc-0", "nuc-1", "nuc-2"}, 3),
        ("scaler:count=5", {"nuc-0", "nuc-1", "nuc-2", "nuc-3"}, 5),
        ("bare_scaler", {"nuc-0", "nuc-1", "nuc-2"}, 3),
        ("placer", {"nuc-2"}, None),
        ("placer:node=1", {"nuc-1"}, None),
        ("bare_placer", {"nuc-2"}, None),
        ("Both", {"nuc-2"}, 3),
    ],
)
def test_placers_and_scalers_are_told_apart_and_have_parameters(tmp_path, policy, nodes, after):
    path = tmp_path / "mine.py"
    path.write_text(POLICIES)
    spec = scenario(
        function(1.0, rate=0.2, scaling={**SCALED, "threshold": 100.0}),
        devices={"types": {"nuc": 4}},
        duration_s=50,
    )
    found = spec.kind.policies.resolve(f"{path}:{policy}")
    assert found.machine_code is not None
    result = simulate(spec, f"{path}:{policy}")
    assert set(column(result, "replicas", "node")) == nodes
    assert column(result, "scaling", "after")[:1] == ([] if after is None else [after])
    run = spec.start(0)
    while run.decision is not None:
        run.apply(found(run.decision))
    stepped = run.result()
    assert stepped.metrics == result.metrics
    assert stepped.tables["decisions"].equals(result.tables["decisions"])


def test_a_bundle_has_no_parameters_of_its_own(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(POLICIES)
    with pytest.raises(PolicyError, match="'count=2' is not allowed: a bundle has no parameters"):
        simulate("faas/toy", f"{path}:Both:count=2")
    with pytest.raises(PolicyError, match=r"policy scaler\S*: 'n=2' is not allowed: count="):
        simulate("faas/toy", f"{path}:scaler:n=2")


def test_parts_of_a_bundle_may_be_names():
    class Named:
        """A placer by its name and the scaler of the spec by its."""

        place = "highest-performance"
        scale = "spec"

    assert simulate("faas/toy", Named()).metrics["energy_j_per_invocation"] == 145.0
    Named.scale = "no-such"
    with pytest.raises(PolicyError, match="'no-such' is not allowed: one of spec"):
        simulate("faas/toy", Named())


@pytest.mark.parametrize(
    "policy",
    [name for name in KIND.policies if "ties" in KIND.policies.parameters(name)],
)
def test_ties_go_to_the_first_or_to_any(policy):
    # All nodes are alike, and there is room for many replicas on each.
    rule = {"by": "none", "minimum": 8, "maximum": 8}
    image = {"cpu_millicores": 0, "memory_mb": 0}
    spec = scenario(function(scaling=rule, image=image), devices={"types": {"nuc": 6}})
    first, *others = (
        column(simulate(spec, f"{policy}:ties={ties}", seed), "replicas", "node")
        for ties, seed in (("first", 0), ("random", 0), ("random", 1), ("random", 0))
    )
    assert first == column(simulate(spec, policy), "replicas", "node")
    assert set(first) == {"nuc-0"}
    assert len(set(others[0])) > 1
    assert others[0] != others[1]
    assert others[0] == others[2]


@pytest.mark.parametrize("key", ["functions[0].requests", "trace"])
def test_the_key_that_was_kind_is_source(key):
    with pytest.raises(SpecError, match=r": unknown key 'kind'\. Did you mean 'source'\?"):
        cloudarena.load("faas/toy", {key: {"kind": "poisson", "rate": 1}})
