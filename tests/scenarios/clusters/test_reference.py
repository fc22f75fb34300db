"""The kernel equals a slow, obvious run in exact arithmetic; and what must always hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.scenarios.clusters import UNTIL_DONE, Plan
from cloudarena.scenarios.clusters.policies import by_weight
from cloudarena.workloads.clusters.batches import Group

from . import reference
from .cases import clusters, generated

numbers = st.integers(0, 12)
times = st.sampled_from([0.25, 0.5, 1.0, 1.5, 3.0])


@st.composite
def stories(draw):
    """Batches, task times and plans of up to three classes."""
    classes = draw(st.integers(1, 3))
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 20), st.lists(numbers, min_size=classes, max_size=classes)),
            min_size=1,
            max_size=5,
        )
    )
    batches = sorted((time, tasks) for time, tasks in rows if sum(tasks)) or [(1, [2] * classes)]
    vms = draw(st.integers(classes, 6))
    keys = {"vms": vms}
    cluster_of = draw(st.lists(st.integers(0, 1), min_size=classes, max_size=classes))
    several = len(set(cluster_of)) == 2 and draw(st.booleans())
    if several:
        mine = draw(st.integers(sum(cluster_of), vms - classes + sum(cluster_of)))
        keys = {
            "clusters": {"x": vms - mine, "y": mine},
            "cluster_of": ["xy"[k] for k in cluster_of],
        }
    plan = st.tuples(
        st.lists(st.integers(0, 5), min_size=classes, max_size=classes),
        times.map(lambda length: 2 * length),
        st.integers(0, 30),
    )
    scenario = clusters(
        batches,
        draw(st.lists(times, min_size=classes, max_size=classes)),
        draw(st.lists(times, min_size=classes, max_size=classes)),
        decide_seconds=draw(st.sampled_from([0, 0.25])),
        **keys,
    )

    def shares(weights):
        found = np.empty(classes, np.int64)
        for one in scenario.groups:
            own = list(one.classes)
            found[own] = by_weight(np.array(weights)[own] + 0.01, one.vms)
        return found

    plans = [
        Plan(shares(weights), length, evaluations)
        for weights, length, evaluations in draw(st.lists(plan, max_size=6))
    ]
    return scenario, [*plans, Plan(shares([1] * classes), UNTIL_DONE, 1)]


def assert_equal_to_reference(run, plans):
    world = run.world
    slow = reference.Run(
        world.times, world.tasks, world.seconds, world.memory_mb, run.scenario.decide_seconds
    )
    taken = slow.play([(np.asarray(p.shares).tolist(), p.length_s, p.evaluations) for p in plans])
    makespan = float(slow.now)
    thinking = float(sum(stage[2] for stage in slow.stages))
    metrics = run.metrics()
    assert metrics["decisions"] == taken
    assert metrics["makespan_s"] == pytest.approx(makespan, rel=1e-12)
    everything = Group("all", run.scenario.vms, tuple(range(slow.classes)))
    for one in (everything, *run.scenario.groups):
        found = next((each._asdict() for each in run.clusters if each.cluster == one.name), metrics)
        memory, tasks, busy = (
            float(sum(values[c] for c in one.classes)) / makespan
            for values in (slow.memory_of, slow.tasks_of, slow.busy_of)
        )
        assert found["memory_mb"] == pytest.approx(memory, rel=1e-9)
        assert found["backlog_mean_tasks"] == pytest.approx(tasks, rel=1e-9, abs=1e-12)
        assert found["utilisation"] == pytest.approx(busy / one.vms, rel=1e-9)
        ends = [
            row[c]
            for row, tasks in zip(slow.finish, slow.tasks, strict=True)
            for c in one.classes
            if tasks[c]
        ]
        if ends:
            assert found["makespan_s"] == pytest.approx(float(max(ends)), rel=1e-12)
    assert metrics["deciding_share"] == pytest.approx(thinking / makespan, abs=1e-12)
    finish = np.array([[float(time) for time in row] for row in slow.finish])
    served = world.tasks > 0
    assert world.finish[served] == pytest.approx(finish[served], rel=1e-12)
    assert [stage.end for stage in run.stages] == pytest.approx(
        [float(stage[1]) for stage in slow.stages], rel=1e-12
    )


@given(stories())
def test_hand_made_batches(story):
    scenario, plans = story
    run = scenario.start(record="full")
    for plan in plans:
        if run.decision is None:
            break
        run.apply(plan)
    assert run.decision is None
    assert_equal_to_reference(run, plans)
    stages, batches = (run.result().tables[name] for name in ("stages", "batches"))
    assert sum(stages["done_tasks"].to_pylist()) == pytest.approx(run.metrics()["tasks"])
    assert sum(stages["arrived_tasks"].to_pylist()) == run.metrics()["tasks"]
    assert max(batches["finish_s"].to_pylist()) == run.now


@pytest.mark.parametrize("decide_seconds", [0, 0.1])
@pytest.mark.parametrize("policy", ["equal", "proportional", "greedy", "mean-optimum"])
def test_random_batches_under_the_policies(policy, decide_seconds):
    scenario = generated(decide_seconds=decide_seconds)
    run = scenario.start(seed=3)
    chosen = scenario.kind.policies.resolve(policy)
    plans = []
    while (decision := run.decision) is not None:
        plans.append(chosen(decision))
        run.apply(plans[-1])
    assert_equal_to_reference(run, plans)


@given(
    st.lists(st.integers(1, 40), min_size=3, max_size=3),
    st.lists(times, min_size=3, max_size=3),
    st.lists(st.integers(1, 6), min_size=3, max_size=3),
)
def test_whole_tasks_take_at_most_a_task_longer(tasks, seconds, shares):
    """The fluid model is the limit of many tasks: whole tasks end at most one task time later."""
    scenario = clusters([(0, tasks)], seconds, (1, 1, 1), vms=sum(shares))
    run = scenario.start()
    run.apply(Plan(shares, UNTIL_DONE))
    whole = reference.makespan_task_by_task(tasks, seconds, shares)
    assert run.now <= whole + 1e-9
    assert whole <= run.now + max(seconds) + 1e-9


@given(stories())
def test_the_mean_optimum_has_the_shortest_makespan(story):
    """With fixed task times and one batch no other share is done earlier."""
    import itertools

    scenario, _ = story
    scenario = clusters(
        [(0, scenario.workload.batches[0].tasks)],
        [one.seconds.mean for one in scenario.classes],
        [1] * len(scenario.classes),
        vms=scenario.vms,
    )

    def makespan(shares):
        run = scenario.start()
        run.apply(Plan(shares, UNTIL_DONE))
        return run.now

    best = min(
        makespan(shares)
        for shares in itertools.product(range(1, scenario.vms + 1), repeat=len(scenario.classes))
        if sum(shares) == scenario.vms
    )
    plan = scenario.kind.policies.resolve("mean-optimum")(scenario.start().decision)
    assert makespan(plan.shares) == pytest.approx(best)
