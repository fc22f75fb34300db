"""``cloudarena run --check``: promises are verified during a run, and a broken one is named."""

import json

import numpy as np
import pytest

from cloudarena import load
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


def test_a_policy_that_decides_by_more_than_it_is_shown_breaks_a_promise():
    calls = []

    def moody(decision):
        calls.append(1)
        return -1 if len(calls) > 4 else int(np.flatnonzero(decision.valid)[0])

    with pytest.raises(BrokenInvariant, match=r"invariant R[13]"):
        check_run(load("vm/toy"), moody, 0)
