"""``cloudarena run --check``: promises are verified during a run, and a broken one is named."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from cloudarena import load, simulate
from cloudarena.scenarios import kinds
from cloudarena.testing import invariants
from cloudarena.testing.invariants import BrokenInvariant, check_run


@pytest.mark.parametrize("kind", kinds())
def test_the_toy_of_each_kind_keeps_its_promises(kind):
    held = {one.number for one in check_run(load(kinds()[kind].toy), None, 0)}
    assert {"R1", "R3", "R4", "R5", "R7", "R8", "M1", "M3"} <= held
    own = held - {"R1", "R3", "R4", "R5", "R7", "R8", "M1", "M3"}
    assert own or kind not in {*invariants._ROOM, *invariants._SUMS}


def test_the_command_tells_what_was_checked(cloudarena):
    code, out, _ = cloudarena("run", "vm/toy", "--check")
    assert code == 0
    assert "checked: K1, K2, M1, M3, R1, R3, R4, R5, R7, R8 of docs/invariants.md hold" in out
    code, out, _ = cloudarena("run", "vm/toy", "--check", "--json")
    assert {one["number"] for one in json.loads(out)["checks"]} >= {"K1", "R5"}


def test_a_machine_that_holds_too_much_is_told(monkeypatch):
    real = invariants._vm_room

    class Overfull:
        def __init__(self, decision):
            self.machines = decision.machines._replace(limit_cores=np.full(1, -1.0))

    number, promise, _ = invariants._ROOM["vm"]
    rooms = {"vm": (number, promise, lambda decision: real(Overfull(decision)))}
    monkeypatch.setattr(invariants, "_ROOM", rooms)
    with pytest.raises(BrokenInvariant, match=r"vm/toy, .*: invariant K2: at 0.* machine 0 holds"):
        check_run(load("vm/toy"), None, 0)


@pytest.mark.parametrize("name", ["completed", "failed"])
def test_outcomes_that_do_not_add_up_are_told(name):
    result = simulate("vm/toy")
    assert [one.number for one in invariants._vm_sums(result)] == ["K1"]
    more = {**result.metrics, name: result.metrics[name] + 1}
    wrong = [more, {**more, "waiting_at_end": result.metrics["waiting_at_end"] - 1}]
    for metrics in wrong:
        with pytest.raises(AssertionError, match="K1: "):
            list(invariants._vm_sums(SimpleNamespace(metrics=metrics, tables=result.tables)))
    # What was counted as another outcome, with the same sum.
    other = {"completed": "failed", "failed": "completed"}[name]
    swapped = {**more, other: result.metrics[other] - 1}
    with pytest.raises(AssertionError, match="K1: VMs that are completed"):
        list(invariants._vm_sums(SimpleNamespace(metrics=swapped, tables=result.tables)))


def test_a_machine_that_is_down_breaks_no_promise():
    spec = {
        "scenario": "jobs",
        "machines": [{"cpu": 2, "count": 2}],
        "failures": {"outages": [{"machine": 0, "down_s": 5, "up_s": 18}]},
        "workload": {"source": "inline", "jobs": [{"tasks": [{"duration": 4, "instances": 8}]}]},
    }
    assert "K5" in {one.number for one in check_run(load(spec), None, 0)}


def test_a_policy_that_decides_by_more_than_it_is_shown_breaks_a_promise():
    calls = []

    def moody(decision):
        calls.append(1)
        return -1 if len(calls) > 4 else int(np.flatnonzero(decision.valid)[0])

    with pytest.raises(BrokenInvariant, match=r"invariant R[13]"):
        check_run(load("vm/toy"), moody, 0)
