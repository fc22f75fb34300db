"""Small clusters and workloads for Hypothesis: few values each, so that there are many ties."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .reference import build

DURATIONS = st.sampled_from([1, 1, 2, 3, 5, 10, 0.5, 2.25, 0.7])
SUBMISSIONS = st.sampled_from([0, 0, 1, 1, 2, 3.5, 7, 12])
TIMES = st.sampled_from([0, 1, 2, 3, 4.5, 6, 10, 15])
INTERVALS = st.sampled_from([0, 0, 0, 1, 2, 0.5, 3, 0.1, 7.3])
SPEEDS = st.sampled_from([1, 1, 1, 2, 0.5, 3])
CPUS = st.sampled_from([1, 2, 3, 4, 0.3, 2.5])
SHARES = st.sampled_from([1, 0.5, 0.5, 0.25, 1 / 3, 0.1, 0.7])

Spec = dict[str, Any]


@st.composite
def machine_types(draw: Any) -> list[Spec]:
    """One to three types, six machines at most."""
    return [
        {
            "name": f"type-{number}",
            "count": count,
            "cpu": draw(CPUS),
            "memory": draw(st.sampled_from([1, 1, 2, 0.6])),
            "gpu": draw(st.sampled_from([0, 0, 2, 2, 1.5])),
            "gpu_model": draw(st.sampled_from(["", "T4", "T4", "A10"])),
            "speed": draw(SPEEDS),
        }
        for number, count in enumerate(draw(st.lists(st.integers(1, 2), min_size=1, max_size=3)))
    ]


@st.composite
def demands(draw: Any, machines: list[Spec]) -> Spec:
    """What fits one of the machines, often exactly."""
    home = draw(st.sampled_from(machines))
    demand = {"cpu": round(draw(SHARES) * home["cpu"], 6)}
    if draw(st.booleans()):
        demand["memory"] = round(draw(SHARES) * home["memory"], 6)
    if home["gpu"] and draw(st.booleans()):
        demand["gpu"] = draw(st.sampled_from([1, home["gpu"], 0.6, 0.5, 0.3, 1.3]))
        if home["gpu_model"] and draw(st.booleans()):
            others = draw(st.sampled_from([[], [], ["T4"], ["H100"]]))
            demand["gpu_models"] = [home["gpu_model"], *others]
    if draw(st.integers(0, 9)) == 0:
        demand["cpu"] = 0  # a task that holds nothing, or memory alone
    return demand


def room_for(machines: list[Spec], demand: Spec) -> int:
    """How many instances the empty cluster has room for, up to six."""
    cluster = build({"machines": machines, "workload": {"jobs": [{"tasks": [
        {**demand, "instances": 6, "duration": 1}
    ]}]}})  # fmt: skip
    return min(6, sum(cluster.copies(0, m) for m in range(len(cluster.machines))))


@st.composite
def jobs(draw: Any, machines: list[Spec], most_jobs: int) -> list[Spec]:
    """Jobs of one to four tasks; half of them have an order among their tasks."""
    rows = []
    for _ in range(draw(st.integers(1, most_jobs))):
        names = draw(st.permutations(["a", "b", "c", "d"]))[: draw(st.integers(1, 4))]
        ordered = draw(st.booleans())
        tasks = []
        for k, name in enumerate(names):
            demand = draw(demands(machines))
            duration = draw(DURATIONS)
            task = {"name": name, **demand, "duration": duration}
            task["instances"] = draw(st.sampled_from([1, 1, 2, 3, 5]))
            if draw(st.integers(0, 4)) == 0:
                task["gang"] = True
                task["instances"] = min(task["instances"], room_for(machines, demand))
            if draw(st.booleans()):
                task["estimate"] = draw(DURATIONS)
            if ordered and k > 0:
                task["parents"] = draw(
                    st.lists(st.sampled_from(names[:k]), max_size=2, unique=True)
                )
            tasks.append(task)
        # A task may stand before its parents.
        tasks = draw(st.permutations(tasks)) if ordered else tasks
        row = {"submit": draw(SUBMISSIONS), "user": draw(st.integers(0, 2)), "tasks": tasks}
        rows.append(row)
    return rows


@st.composite
def outages(draw: Any, machines: int) -> list[Spec]:
    """Each machine is down a few times, perhaps from the last time on for good."""
    rows = []
    for machine in range(machines):
        times = sorted(draw(st.lists(TIMES, max_size=4, unique=True)))
        for down, up in zip(times[::2], [*times[1::2], None][: len(times[::2])], strict=True):
            rows.append({"machine": machine, "down_s": down, "up_s": up})
    return draw(st.permutations(rows))


@st.composite
def specs(draw: Any, most_jobs: int = 6, may_warm_up: bool = False) -> Spec:
    """Any small cluster and any small workload."""
    machines = draw(machine_types())
    spec = {
        "scenario": "jobs",
        "machines": machines,
        "scheduling_interval": draw(INTERVALS),
        "known": draw(st.sampled_from([["durations"], ["durations"], ["estimates"]])),
        "workload": {"source": "inline", "jobs": draw(jobs(machines, most_jobs))},
        "record": "full",
    }
    if draw(st.booleans()):
        rows = draw(outages(sum(kind["count"] for kind in machines)))
        if rows:
            spec["failures"] = {"outages": rows}
    if may_warm_up and draw(st.booleans()):
        submitted = [row["submit"] for row in spec["workload"]["jobs"]]
        latest = max(submitted) - min(submitted)
        spec["warmup_s"] = min(draw(st.sampled_from([0.5, 1, 2.25, 3.5, 6, latest])), latest)
    return spec
