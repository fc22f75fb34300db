"""The kernel against the slow and obvious reference, in lock-step: every decision, every number.

The same placements go to both, and at each decision what the kernel shows must be what the
reference has. The reference reckons in fractions: where it finds two things simultaneous, a fit
exact or an hour full, so must the kernel.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.csv as pacsv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.contract import InvalidAction, Result
from cloudarena.scenarios.workflow import (
    POLICIES,
    WorkflowDecision,
    WorkflowRun,
    WorkflowScenario,
    finish_forecast,
    last_completion,
)

from . import reference
from .cases import Case, cases
from .reference_policies import check_choice

Placement = tuple[Any, ...]
"""A node, MB, and perhaps until when it is held back: exactly, for the reference."""
Choose = Callable[[WorkflowDecision, reference.Question], Placement]


class Close(NamedTuple):
    """Equal but for the rounding of floats.

    One lost operation shows where it takes a millisecond; where it takes a nanosecond, a float
    cannot tell a whole number of operations from a little less.
    """

    core_speed: int

    def __call__(self, expected: Any, time: Any = 1) -> Any:
        operations = 10 / self.core_speed if self.core_speed > 10**6 else 0.0
        rounding = 1e-12 * max(1.0, float(time))
        return pytest.approx(float(expected), rel=1e-12, abs=rounding + operations)


def would_stand_still(question: reference.Question, place: int, memory: int) -> bool:
    """Whether the function would not get on beside all that has been sent to the node."""
    node, function = question.nodes[place], question.function
    others = [*node.left, *node.coming, *node.queue]
    threads = function.parallelism + sum(other.parallelism for other in others)
    mine = reference.Function(0, 0, 1, function.memory_req, function.parallelism, memory=memory)
    return node.sharing.speed(mine, threads) == 0


def check_decision(decision: WorkflowDecision, question: reference.Question, close: Close) -> None:
    """What the kernel shows at a decision is what the reference has."""
    shown, mine, now = decision.function, question.function, question.now
    assert shown.function == mine.number
    assert decision.now == shown.now == close(now)
    assert shown.computation == mine.computation
    assert shown.memory_req == mine.memory_req
    assert shown.parallelism == mine.parallelism
    assert shown.elapsed == close(now - question.workflow.arrival, now)
    assert shown.remaining_path == close(question.remaining_path)
    assert shown.critical_path == close(question.critical_path)
    nodes, _ = decision.arguments(POLICIES.resolve("random"))
    for place, node in enumerate(question.nodes):
        assert nodes.cores[place] == node.sharing.cores
        assert nodes.memory[place] == node.memory
        assert nodes.free_memory[place] == node.free_memory()
        assert nodes.coming[place] == len(node.coming)
        assert nodes.coming_memory[place] == sum(it.memory for it in node.coming)
        assert nodes.waiting[place] == len(node.queue)
        assert nodes.waiting_memory[place] == sum(it.memory for it in node.queue)
        assert nodes.parallelism[place] == node.parallelism()
        everything = [*node.left, *node.coming, *node.queue]
        assert nodes.assigned[place] == sum(it.parallelism for it in everything)
        assert nodes.utilisation[place] == close(node.utilisation())
        assert nodes.hourly_rate[place] == float(node.server.hourly_rate)
        assert nodes.expiry[place] == close(node.server.expiry)
        assert nodes.boot[place] == close(node.server.boot_left(now), now)
        transfer = question.bandwidths.transfer(mine, node)
        assert nodes.transfer[place] == close(transfer)
        first = min(node.finishes().values(), default=math.inf)
        assert decision.first_completion[place] == close(first)
        last = max(node.forecast().values(), default=-math.inf)
        assert decision.last_completion[place] == last_completion(nodes, place) == close(last)
        mine.memory = max(1, node.memory // 2)
        if not would_stand_still(question, place, mine.memory):
            begin = now + node.server.boot_left(now) + transfer
            finish = finish_forecast(nodes, shown, place, mine.memory)
            assert finish == close(node.forecast((mine, begin))[mine])


def check_result(result: Result, outcome: reference.Outcome, close: Close) -> None:
    """The metrics and all tables of a run are those of the reference."""
    at_end = partial(close, time=outcome.end)
    assert set(result.metrics) == set(outcome.metrics)
    for name, value in outcome.metrics.items():
        assert result.metrics[name] == (value if isinstance(value, int) else at_end(value)), name

    by_arrival = sorted(
        range(len(outcome.workflows)), key=lambda w: (outcome.workflows[w].arrival, w)
    )
    same_rows(
        result.tables["workflows"].to_pylist(),
        [
            {
                "workflow": w,
                "template": str(w),
                "functions": len(outcome.workflows[w].functions),
                "arrival": outcome.workflows[w].arrival,
                "completion": outcome.workflows[w].completion(),
                "makespan": outcome.workflows[w].makespan(),
                "critical_path": outcome.critical_paths[w],
            }
            for w in by_arrival
        ],
        at_end,
    )
    same_rows(
        result.tables["functions"].to_pylist(),
        [
            {
                **placement_row(function),
                "submission": function.submission,
                "cold_start": function.cold_start,
                "data_transfer": function.data_transfer,
                "creation": function.creation,
                "start": function.start,
                "completion": function.completion,
            }
            for w in by_arrival
            for function in outcome.workflows[w].functions
        ],
        at_end,
    )
    same_rows(
        result.tables["decisions"].to_pylist(),
        [
            {"time_s": function.submission, **placement_row(function)}
            for function in outcome.decisions
        ],
        at_end,
    )
    same_rows(
        result.tables["leases"].to_pylist(),
        [
            {
                "server_type": lease.server.kind,
                "server": lease.server.number,
                "rented": lease.rented,
                "start": lease.start,
                "expiry": lease.expiry,
                "hours": lease.hours,
                "rent": lease.rent,
            }
            for lease in outcome.leases
        ],
        at_end,
    )
    same_rows(
        merged(result.tables["nodes"].to_pylist()),
        [
            {
                "server_type": node.server.kind,
                "server": node.server.number,
                "numa_node": node.number,
                "start": record[0],
                "end": end,
                "cpu_utilisation": record[1],
                "memory_utilisation": record[2],
                "load": record[3],
                "parallelism": record[4],
                "free_memory": record[5],
            }
            for node in outcome.nodes
            for record, end in reference.pieces(node, outcome.end)
        ],
        at_end,
    )
    same_rows(changes(result.tables["series"].to_pylist()), changes(outcome.series), at_end)


def placement_row(function: reference.Function) -> dict[str, Any]:
    """Where a function went."""
    return {
        "workflow": function.workflow,
        "function": function.number,
        "server_type": function.node.server.kind,
        "server": function.node.server.number,
        "numa_node": function.node.number,
        "memory": function.memory,
        "not_before": function.not_before,
    }


def same_rows(
    rows: list[dict[str, Any]], expected: list[dict[str, Any]], close: Callable[[Any], Any]
) -> None:
    """Whole numbers and names are equal, times and shares but for rounding."""
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        assert row.keys() == wanted.keys()
        for name, value in wanted.items():
            right = close(value) if isinstance(value, Fraction) else value
            assert row[name] == right, (name, row, wanted)


def merged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pieces of each node; those that follow on each other and are equal are one."""
    pieces: list[dict[str, Any]] = []
    for row in rows:
        assert row["start"] < row["end"]
        if row["end"] - row["start"] < 1e-9:  # two events at once, by rounding not quite
            row["end"] = row["start"]
        before = pieces[-1] if pieces else {}
        if before and row["start"] > 0:
            assert row["start"] == before["end"]
        if {**before, "start": 0, "end": 0} == {**row, "start": 0, "end": 0}:
            before["end"] = row["end"]
        else:
            pieces.append(row)
    return pieces


def changes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that differ from the one before them in more than the time."""
    befores = [{}, *rows]
    return [
        row
        for before, row in zip(befores, rows, strict=False)
        if {**before, "time_s": 0} != {**row, "time_s": 0}
    ]


def run_both(case: Case, choose: Choose) -> tuple[WorkflowScenario, Result]:
    """Plays a case in kernel and reference side by side and compares everything."""
    spec = case.load()
    return spec, in_step(spec, spec.start(), case, choose)


def in_step(spec: WorkflowScenario, run: WorkflowRun, case: Case, choose: Choose) -> Result:
    """Plays a case in kernel and reference, decision by decision."""
    steps, close = reference.steps(spec, case.workflows), Close(spec.cluster.single_core_speed)
    try:
        question = next(steps)
        while True:
            decision = run.decision
            assert decision is not None, "the reference has a decision and the kernel has none"
            check_decision(decision, question, close)
            placement = choose(decision, question)
            if would_stand_still(question, *placement[:2]):
                with pytest.raises(InvalidAction, match="less than one operation a second"):
                    run.apply(placement[:2])
                placement = freest(question)
            run.apply((*placement[:2], *map(float, placement[2:])))
            question = steps.send(placement)
    except StopIteration as end:
        outcome = end.value
    assert run.decision is None
    result = run.result()
    check_result(result, outcome, close)
    return result


def freest(question: reference.Question) -> Placement:
    """All memory of the node with the fewest threads for a core."""

    def load(place: int) -> Fraction:
        node = question.nodes[place]
        everything = [*node.left, *node.coming, *node.queue]
        return Fraction(sum(it.parallelism for it in everything), node.sharing.cores)

    place = min(range(len(question.nodes)), key=load)
    return place, question.nodes[place].memory


def anywhere(seed: int, crowding: float) -> Choose:
    """Any node, mostly one of the first two; as much as is needed, all, what is free, or less.

    Some are held back: to a time in the past, to now, or for some seconds.
    """
    rng = random.Random(seed)

    def choose(decision: WorkflowDecision, question: reference.Question) -> Placement:
        place = rng.randrange(len(question.nodes))
        if rng.random() < crowding:
            place = min(place, rng.randrange(2))
        node = question.nodes[place]
        needed = question.function.memory_req
        memory = rng.choice(
            [needed, needed, node.memory, node.free_memory(), needed // 2, rng.randint(1, 16)]
        )
        placement = place, min(max(memory, 1), node.memory)
        if rng.random() < 0.7:
            return placement
        later = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0, rng.uniform(0.0, 20.0)])
        return *placement, question.now + Fraction(later)

    return choose


@given(case=cases(), seed=st.integers(0, 99), crowding=st.sampled_from([0.0, 0.9]))
def test_kernel_and_reference_agree(case: Case, seed: int, crowding: float) -> None:
    run_both(case, anywhere(seed, crowding))


@settings(max_examples=30)
@given(case=cases(), name=st.sampled_from([name for name in POLICIES if name != "heft"]))
def test_kernel_and_reference_agree_under_the_built_in_policies(case: Case, name: str) -> None:
    """All but HEFT, whose plan has times in floats: the reference would take them for others."""
    built_in = POLICIES.resolve(name)
    spec = case.load()
    if hasattr(built_in, "start"):
        built_in.start(spec, 0)

    def choose(decision: WorkflowDecision, question: reference.Question) -> Placement:
        placement = built_in(decision)
        check_choice(name, spec, question, placement)
        return placement

    spec, stepped = run_both(case, choose)
    compiled = cloudarena.simulate(spec, name)
    assert compiled.metrics == stepped.metrics
    assert compiled.tables == stepped.tables


@settings(max_examples=30)
@given(case=cases(), seed=st.integers(0, 99))
def test_a_replay_gives_the_tables_of_the_reference(case: Case, seed: int) -> None:
    """The same, with all placements known beforehand, from a file."""
    held: dict[tuple[int, int], Placement] = {}
    at_random = anywhere(seed, 0.5)

    def choose(decision: WorkflowDecision, question: reference.Question) -> Placement:
        function, placement = question.function, at_random(decision, question)
        if not would_stand_still(question, *placement[:2]):
            held[function.workflow, function.number] = placement[2:]
        return placement

    spec, played = run_both(case, choose)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "placements.csv"
        pacsv.write_csv(played.tables["functions"], path)
        replayed = cloudarena.simulate(spec, f"replay:{path}")
    nodes = {
        (node.server.kind, node.server.number, node.number): place
        for place, node in enumerate(reference.make_nodes(spec))
    }
    placements = {
        (row["workflow"], row["function"]): (
            nodes[row["server_type"], row["server"], row["numa_node"]],
            row["memory"],
            *held.get((row["workflow"], row["function"]), ()),
        )
        for row in played.tables["functions"].to_pylist()
    }
    assert replayed.tables == played.tables
    outcome = reference.simulate(spec, case.workflows, placements)
    check_result(replayed, outcome, Close(spec.cluster.single_core_speed))


@pytest.mark.slow
@settings(max_examples=1500)
@given(case=cases(), seed=st.integers(0, 10**6), crowding=st.sampled_from([0.0, 0.5, 0.9]))
def test_kernel_and_reference_agree_on_thousands_of_cases(
    case: Case, seed: int, crowding: float
) -> None:
    run_both(case, anywhere(seed, crowding))
