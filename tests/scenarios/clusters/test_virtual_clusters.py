"""Several virtual clusters: each has VMs that only its own classes share."""

import itertools
import math

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import InvalidAction, SpecError
from cloudarena.base.statistics import front_of
from cloudarena.scenarios.clusters import (
    KIND,
    POLICIES,
    UNTIL_DONE,
    ClusterModel,
    ClustersScenario,
    Compositions,
    JointCompositions,
    Plan,
    designed_sample,
    mean_model_seeds,
)
from cloudarena.scenarios.clusters.policies.model.study import Shares
from cloudarena.testing.candidates import CANDIDATE_CHECKS
from cloudarena.workloads.clusters.batches import Group

from .cases import clusters, play
from .test_candidates import look

RULES = ("equal", "proportional", "greedy", "mean-optimum")
XY = {"clusters": {"x": 3, "y": 2}, "cluster_of": ["x", "y", "x", "y"]}
"""Classes a and c are in x, b and d in y: VMs 0 to 2 are of x, 3 and 4 of y."""
GROUPS = (Group("x", 5, (0, 2)), Group("y", 4, (1, 3, 4)))


def two(batches=((0, [6, 4, 6, 2]),), seconds=(2, 1, 1, 3), memory=(10, 5, 20, 1), **keys):
    return clusters(batches, seconds, memory, **XY, **keys)


def test_a_case_by_hand():
    """12 and 6 VM-seconds on x's three VMs take 6 s; 4 and 6 on y's two as well, b is idle for 2.

    Four VMs of five for x alone would be done after 4.5 s: they are not x's to have.
    """
    scenario = two()
    assert scenario.vms == 5
    result = cloudarena.simulate(scenario, "mean-optimum")
    metrics = result.metrics
    assert metrics["makespan_s"] == 6
    assert metrics["memory_mb"] == 2 * 10 + 20 + 5 + 1
    assert metrics["utilisation"] == (18 + 10) / (5 * 6)
    assert result.tables["clusters"].to_pylist() == [
        {
            "cluster": "x", "vms": 3, "classes": 2, "tasks": 12, "makespan_s": 6,
            "throughput_per_s": 2, "memory_mb": 40, "backlog_mean_tasks": 6, "utilisation": 1,
            "cost_usd": pytest.approx(3 * 6 / 3600 * 0.096),
        },
        {
            "cluster": "y", "vms": 2, "classes": 2, "tasks": 6, "makespan_s": 6,
            "throughput_per_s": 1, "memory_mb": 6,
            "backlog_mean_tasks": pytest.approx((4 * 4 / 2 + 2 * 6 / 2) / 6),
            "utilisation": pytest.approx(10 / 12),
            "cost_usd": pytest.approx(2 * 6 / 3600 * 0.096),
        },
    ]  # fmt: skip


def test_a_cluster_that_is_done_or_has_nothing_to_do():
    run = play(two([(0, [6, 0, 6, 0]), (1, [60, 0, 0, 0])]), [Plan([2, 1, 1, 1], 2.0)])
    assert next(one.makespan_s for one in run.clusters) == 2  # so far
    assert math.isnan(run.clusters[1].makespan_s)
    run.apply(Plan([2, 1, 1, 1], UNTIL_DONE))
    done, empty = run.clusters
    assert done.makespan_s == run.now == 66
    assert empty.tasks == 0
    assert math.isnan(empty.makespan_s)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([3, 1, 1, 1], "virtual cluster x: 4 VMs are not allowed: exactly 3 in all"),
        ([1, 1, 2, 2], "virtual cluster y: 3 VMs are not allowed: exactly 2 in all"),
        ([1, 2, 1, 1], "virtual cluster x: 2 VMs are not allowed: exactly 3 in all"),
        ([3, 1, 0, 1], "c: 0 VMs are not allowed: at least 1"),
    ],
)
def test_sums_are_kept_cluster_by_cluster(shares, words):
    run = two().start()
    with pytest.raises(InvalidAction, match=words):
        run.apply(Plan(shares, UNTIL_DONE))
    assert run.now == 0


def test_vms_may_be_idle_within_a_cluster_only():
    run = two(allow_idle=True).start()
    run.apply(Plan([1, 1, 1, 1], 1.0))
    with pytest.raises(InvalidAction, match="virtual cluster y: 3 VMs are not allowed: at most 2"):
        run.apply(Plan([1, 2, 1, 1], 1.0))


def alone(scenario, name, shift=0):
    """A virtual cluster by itself, with the same classes, times and outages."""
    group = next(one for one in scenario.groups if one.name == name)
    data = scenario.model_dump(mode="json")
    del data["clusters"]
    data["classes"] = [{**data["classes"][c], "cluster": ""} for c in group.classes]
    for batch in data["workload"]["batches"]:
        batch["tasks"] = [batch["tasks"][c] for c in group.classes]
    if data["failures"]:
        data["failures"]["outages"] = [
            {**one, "vm": one["vm"] - shift}
            for one in data["failures"]["outages"]
            if 0 <= one["vm"] - shift < group.vms
        ]
    return ClustersScenario.parse({**data, "vms": group.vms}), list(group.classes)


BATCHES = [(0, [60, 40, 16, 22]), (7, [3, 90, 44, 1]), (9, [30, 4, 4, 31]), (40, [9, 9, 9, 9])]
OUTAGES = {
    "outages": [
        {"vm": 0, "time_s": 3, "seconds": 5},
        {"vm": 2, "time_s": 10, "seconds": 9},
        {"vm": 3, "time_s": 1, "seconds": 30},
        {"vm": 4, "time_s": 20, "seconds": 7},
    ]
}


@pytest.mark.parametrize("policy", RULES)
@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"information": "oracle", "decide_seconds": 0.5},
        {"allow_idle": True, "failures": OUTAGES},
        {"failures": OUTAGES, "decide_seconds": 0.5},
    ],
    ids=["plain", "oracle", "idle and failing", "failing"],
)
def test_each_cluster_runs_as_if_it_were_alone(policy, keys):
    """Same stages and batches: what is beside a virtual cluster changes nothing in it, to the bit.

    Wide task times are a class's own draws, so another cluster beside it must not shift them.
    """
    together = two(BATCHES, stage_s=5, **keys)
    data = together.model_dump(mode="json")
    for one in data["classes"]:
        one["seconds"]["cv"] = 0.6
    together = ClustersScenario.parse(data)
    whole = together.start(3)
    while (decision := whole.decision) is not None:
        whole.apply(POLICIES.resolve(policy)(decision))
    for name, shift in (("x", 0), ("y", 3)):
        scenario, own = alone(together, name, shift)
        part = scenario.start(3)
        while (decision := part.decision) is not None:
            part.apply(POLICIES.resolve(policy)(decision))
        assert part.world.finish.tolist() == whole.world.finish[:, own].tolist()
        busy = next(one for one in whole.clusters if one.cluster == name)
        mine = part.metrics()
        assert busy.memory_mb * whole.now >= mine["memory_mb"] * part.now * (1 - 1e-12)
        assert busy.utilisation * whole.now == pytest.approx(mine["utilisation"] * part.now)
        assert busy.backlog_mean_tasks * whole.now == pytest.approx(
            mine["backlog_mean_tasks"] * part.now
        )
        assert busy.makespan_s == mine["makespan_s"]


def test_down_counts_the_vms_of_each_class():
    run = two(BATCHES, allow_idle=True, failures=OUTAGES).start()
    run.apply(Plan([1, 1, 1, 1], 3.5))  # VM 2 of x is idle; b has VM 3, d has VM 4
    assert run.decision.down.tolist() == [1, 1, 0, 0]


def test_the_work_of_another_cluster_hides_none_of_a_small_one():
    """No class is without work: a millionth of the largest, of its own virtual cluster."""
    scenario = clusters(
        [(0, [10**9, 100, 1, 0])], [1] * 4, [1] * 4,
        clusters={"x": 3, "y": 4}, cluster_of=["x", "y", "x", "y"],
    )  # fmt: skip
    run = scenario.start()
    for policy in ("proportional", "greedy", "mean-optimum"):
        assert POLICIES.resolve(policy)(run.decision).shares.tolist() == [2, 3, 1, 1]
    assert run.decision.load(60)[[1, 3]] == pytest.approx([100, 1e-4])
    rows, _, plans = look(run)
    found = [
        list(plan.shares) for row, plan in zip(rows, plans, strict=True) if row["proportional"]
    ]
    assert found[0] == [2, 3, 1, 1]


def test_one_virtual_cluster_of_all_is_as_none():
    plain = cloudarena.load("clusters/hfhc", {"workload.batches": 12})
    data = plain.model_dump(mode="json")
    del data["vms"]
    data["clusters"] = [{"name": "all", "vms": 20}]
    data["classes"] = [{**one, "cluster": "all"} for one in data["classes"]]
    one = ClustersScenario.parse(data)
    for policy in ("mean-optimum", "ilos:replications=20"):
        first = cloudarena.simulate(plain, policy, seed=1)
        second = cloudarena.simulate(one, policy, seed=1)
        assert first.metrics == second.metrics
    (row,) = second.tables["clusters"].to_pylist()
    for name, value in row.items():
        if name in second.metrics:
            assert value == pytest.approx(second.metrics[name])


def test_batches_are_drawn_for_the_vms_of_each_cluster():
    changes = {"workload.horizon_s": 36_000, "workload.variance": "low"}
    scenario = cloudarena.load("clusters/two-clusters", changes)
    work = scenario.load_workload(5).tasks * [one.seconds.mean for one in scenario.classes]
    for one in scenario.groups:
        part = work[:, list(one.classes)].sum()
        assert part == pytest.approx(0.9 * one.vms * 36_000, rel=0.01)
    more = cloudarena.load("clusters/two-clusters", {**changes, "clusters[1].vms": 30})
    own = list(scenario.groups[0].classes)
    assert (more.load_workload(5).tasks[:, own] == scenario.load_workload(5).tasks[:, own]).all()
    assert (more.load_workload(5).tasks[:, -1] > scenario.load_workload(5).tasks[:, -1]).all()


def every_share(space):
    """All shares of a small joint space, slowly."""
    rows = []
    for row in itertools.product(range(1, 6), repeat=space.classes):
        sums = [(sum(row[c] for c in one.classes), one.vms) for one in space.groups]
        if all(total <= vms if space.allow_idle else total == vms for total, vms in sums):
            rows.append(row)
    return rows


@pytest.mark.parametrize("allow_idle", [False, True])
def test_the_space_is_the_product_of_those_of_the_clusters(allow_idle):
    space = JointCompositions(GROUPS, allow_idle)
    expected = every_share(space)
    assert space.size == len(space) == len(expected)
    assert sorted(map(tuple, space.all().tolist())) == sorted(expected)
    assert space.rank(space.all()).tolist() == list(range(len(space)))
    assert space[len(space) - 1] == tuple(space.all()[-1].tolist())
    drawn = {tuple(row) for row in space.draw(400, 1).tolist()}
    assert drawn <= set(expected)
    assert len(drawn) > len(expected) / 2
    assert (space.draw(9, 1) == space.draw(9, 1)).all()
    first = space[3]
    moved = {
        row
        for row in expected
        for one in space.groups
        if sum(abs(row[c] - first[c]) for c in one.classes) in ((1, 2) if allow_idle else (2,))
        and all(row[c] == first[c] for c in range(5) if c not in one.classes)
        and abs(sum(row[c] - first[c] for c in one.classes)) <= 1
    }
    assert {tuple(row) for row in space.neighbours([first]).tolist()} == moved
    levels, decode = space.encoding
    genes = np.random.default_rng(0).integers(0, np.array(levels), (50, len(levels)))
    assert {space[k] for k in decode(genes)} <= set(expected)
    wrong = list(first)
    wrong[0] += 9
    with pytest.raises(SpecError, match="virtual cluster x: shares"):
        space.check([wrong])


@pytest.mark.parametrize("allow_idle", [False, True])
def test_seeds_are_the_exact_front_of_all_clusters_together(allow_idle):
    rng = np.random.default_rng(4)
    for _ in range(10):
        load, memory = rng.uniform(1, 30, 5), rng.uniform(1, 9, 5)
        space = JointCompositions(GROUPS, allow_idle)
        model = ClusterModel(space, load, np.ones(5), memory, 0.0)
        seeds = mean_model_seeds(space, load, memory)
        losses = model.mean_model(model.all_designs())
        front = np.unique(losses[front_of(losses)], axis=0)
        found = model.mean_model(space.rank(seeds))
        assert found == pytest.approx(front)
        sample = designed_sample(space, load, memory, hops=1, uniform=5, seed=2)
        assert {tuple(row) for row in seeds.tolist()} <= {tuple(row) for row in sample.tolist()}


def test_the_model_of_several_clusters_takes_the_longest_and_the_sum():
    load, seconds, memory = np.array([30.0, 20, 9, 7, 5]), np.ones(5), np.arange(1.0, 6)
    model = ClusterModel(JointCompositions(GROUPS), load, seconds, memory, 0.4, seed=6)
    values = model.evaluate(range(model.size), range(20))
    moments = model.estimate(range(model.size), range(20))
    assert moments.mean == pytest.approx(values.mean(axis=1))
    work, held = model._draws(np.arange(20))
    theta = np.array(model.design(7))
    assert values[7, :, 0] == pytest.approx((work / theta).max(axis=1))
    assert values[7, :, 1] == pytest.approx(held @ theta)


def test_shares_of_a_study():
    keys = {"tasks": [5, 4, 3], "seconds": [1, 2, 3], "memory": [3, 2, 1]}
    whose = {
        "clusters": [{"name": "x", "vms": 4}, {"name": "y", "vms": 2}],
        "cluster_of": ["x", "y", "x"],
    }
    study = Shares(**keys, **whose)
    problem = study.problem(0)
    assert study.vms == 6
    assert problem.size == 3
    assert {problem.design(k) for k in range(3)} == {(1, 2, 3), (2, 2, 2), (3, 2, 1)}
    spec = study.spec_of((3, 2, 1))
    assert "vms" not in spec
    metrics = cloudarena.simulate(spec).metrics
    assert metrics["tasks"] == 12
    for change, words in (
        ({"cluster_of": ["x", "y"]}, "cluster_of: 2 names are not allowed: 3 with clusters"),
        ({"cluster_of": ["x", "z", "x"]}, "cluster_of: 'z' is not allowed: one of 'x', 'y'"),
        ({"cluster_of": ["x", "x", "x"]}, r"clusters\[1\]: 2 VMs for 0 classes are not allowed"),
        ({"vms": 7}, "vms: 7 is not allowed: 6, the sum of clusters"),
        ({"clusters": [], "vms": 6}, "cluster_of: 3 names are not allowed"),
    ):
        with pytest.raises(ValueError, match=words):
            Shares(**keys, **{**whose, **change})
    sample = Shares(
        tasks=[5] * 6, seconds=[1] * 6, memory=[1] * 6,
        clusters=[{"name": "x", "vms": 700}, {"name": "y", "vms": 700}],
        cluster_of=["x", "y"] * 3,
    ).problem(0)  # fmt: skip
    assert sample.sampled_of == Compositions(700, 3).size ** 2
    assert sample.size < 5000


def test_evaluations_of_clusters_add_up():
    """As many as the thesis's equation 4.9 says, and thinking for all takes as long as that."""
    scenario = two(
        [(0, [60, 40, 16, 22]), (30, [9, 9, 9, 9])], decide_seconds=0.01, information="oracle"
    )
    sizes = [Compositions(3, 2).size, Compositions(2, 2).size]
    run = scenario.start()
    policy = POLICIES.resolve("iterative-monte-carlo:replications=50")
    policy.start(scenario, 0)
    run.apply(policy(run.decision))
    assert run.plans[0].plan.evaluations == 50 * sum(sizes)
    assert run.plans[0].plan.length_s == pytest.approx(50 * sum(sizes) * 0.01)


@pytest.mark.parametrize(
    "policy",
    ["iterative-monte-carlo", "iterative-blind-pick:good=1:confidence=0.99", "ilos", "elos"],
)
def test_with_fixed_times_those_that_simulate_choose_the_mean_optimum(policy):
    batches = [(0, [60, 40, 16, 22])]
    scenario = clusters(
        batches, (2, 1, 1, 3), (10, 5, 20, 1),
        clusters={"x": 6, "y": 5}, cluster_of=["x", "y", "x", "y"],
    )  # fmt: skip
    chosen = POLICIES.resolve(policy)
    chosen.start(scenario, 0)
    mine = chosen(scenario.start().decision)
    best = POLICIES.resolve("mean-optimum")(scenario.start().decision)
    work = np.array([120.0, 40, 16, 66])
    for one in scenario.groups:
        own = list(one.classes)
        spans = [(work[own] / np.asarray(plan.shares)[own]).max() for plan in (mine, best)]
        assert (
            spans[0]
            == spans[1]
            == min((work[own] / np.array(share)).max() for share in Compositions(one.vms, 2))
        )


@pytest.mark.parametrize("changes", [{}, {"allow_idle": True, "decide_seconds": 0.01}])
def test_candidates_of_learners_keep_the_sums(changes):
    scenario = cloudarena.load("clusters/two-clusters", {"workload.batches": 30, **changes})
    for check in CANDIDATE_CHECKS:
        check(scenario, 0)
    run = scenario.start(1)
    while (decision := run.decision) is not None:
        rows, _, plans = look(run)
        moved = [
            np.asarray(plan.shares) - np.asarray(plans[0].shares)
            for row, plan in zip(rows, plans, strict=True)
            if row["neighbour"]
        ]
        for move in moved:
            assert [move[list(one.classes)].sum() for one in scenario.groups] == [0, 0]
        offered = [(tuple(plan.shares), plan.length_s) for plan in plans]
        for name in RULES:
            plan = POLICIES.resolve(name)(decision)
            assert (tuple(plan.shares), plan.length_s) in offered, name
        run.apply(plans[-1])


def test_every_action_of_the_environment_is_allowed():
    scenario = cloudarena.load("clusters/two-clusters", {"workload.batches": 5})
    observer = KIND.observer(scenario, "makespan_s")
    run, rng = scenario.start(), np.random.default_rng(0)
    for choice in ([0] * 8, [20, 0, 0, 0, 0, 0, 0, 0]):
        plan = observer.action(run, choice)
        assert [plan.shares[list(one.classes)].sum() for one in scenario.groups] == [12, 8]
    assert plan.shares.tolist() == [10, 1, 1, 2, 2, 2, 2]
    while run.decision is not None:
        run.apply(observer.action(run, rng.integers(observer.action_space.nvec)))
        assert observer.observation_space.contains(observer.features(run))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vms": 9}, "vms: 9 is not allowed: 5, the sum of clusters; it may be left out"),
        ({"clusters": [{"name": "x", "vms": 3}]}, r"classes\[1\].cluster: 'y' is not allowed: one"),
        (
            {"clusters": [{"name": "x", "vms": 3}, {"name": "x", "vms": 2}]},
            r"clusters: names \['x', 'x'\] are not allowed: each once",
        ),
        (
            {"clusters": [{"name": one, "vms": 2} for one in ("x", "y", "z")]},
            r"clusters\[2\].name: 'z' is not allowed: no class is in it",
        ),
        (
            {"clusters": [{"name": "x", "vms": 1}, {"name": "y", "vms": 2}]},
            r"clusters\[0\].vms: 1 is not allowed: at least 2, one for each class",
        ),
        ({"clusters": [{"name": "x"}]}, r"clusters\[0\].vms: is required"),
        ({"clusters": [{"name": "x", "vms": 0}]}, r"clusters\[0\].vms: 0 is not allowed: at least"),
        ({"clusters": []}, "vms: is required"),
    ],
)  # fmt: skip
def test_what_is_not_allowed(change, words):
    data = two().model_dump(mode="json")
    with pytest.raises(SpecError, match=words):
        ClustersScenario.parse({**data, **change})
    data["classes"][2]["cluster"] = ""
    with pytest.raises(SpecError, match=r"classes\[2\].cluster: is required: one of 'x', 'y'"):
        ClustersScenario.parse(data)
    with pytest.raises(SpecError, match=r"cluster: 'x' is not allowed: the spec has no clusters"):
        ClustersScenario.parse({**data, "clusters": [], "vms": 5})


def test_a_spec_that_is_written_loads_again_and_a_cluster_may_be_changed():
    scenario = two()
    again = cloudarena.load(scenario.model_dump(mode="json"), {"clusters[1].vms": 4})
    assert again.vms == 7
    assert ClustersScenario.parse(scenario.model_dump(mode="json")) == scenario
    assert [one.key for one in again.machine_groups] == ["clusters[0].vms", "clusters[1].vms"]


def test_the_schema_asks_for_vms_or_clusters():
    schema = ClustersScenario.model_json_schema()
    assert "vms" not in schema["required"]
    assert schema["anyOf"] == [{"required": ["vms"]}, {"required": ["clusters"]}]
