"""What a function of arrays does wrong is said in one line, in the same words at both speeds."""

from __future__ import annotations

import re

import pytest

import cloudarena
from cloudarena.base.errors import InvalidAction, PolicyError
from tests.user_policies.written import SMALL, at_both_speeds, scenario_of, spread

FAULTS = {
    "an index beyond the end": (
        "    place = 5_000_000\n    found = {array}[place]\n    return {action}",
        r"index 5000000 is out of bounds for axis 0 with size \d+",
        3,
    ),
    "an index before the start": (
        "    place = -5_000_000\n    found = {array}[place]\n    return {action}",
        r"index -5000000 is out of bounds for axis 0 with size \d+",
        3,
    ),
    "a write": (
        "    seen = {array}\n    seen[0] = 0.0\n    return {action}",
        "it writes to an array that it is shown: those are read-only",
        3,
    ),
    "a write by an operator": (
        "    seen = {array}\n    seen += 1.0\n    return {action}",
        "it writes to an array that it is shown: those are read-only",
        3,
    ),
    "an exception": (
        "    if len({array}) > 0:\n        raise ValueError('no, not so')\n    return {action}",
        "ValueError: no, not so",
        3,
    ),
    "a division by zero": (
        "    nothing = len({array}) - len({array})\n    return 1 // nothing",
        "ZeroDivisionError: integer division or modulo by zero",
        3,
    ),
}


@pytest.mark.parametrize(("kind", "fault"), spread((one,) for one in FAULTS), indirect=["kind"])
def test_a_fault_is_one_line_with_file_and_line(kind, written, fault) -> None:
    body, words, line = FAULTS[fault]
    said = at_both_speeds(scenario_of(kind), written(kind, body), PolicyError)
    assert re.fullmatch(rf"policy mine \(.*mine\.py:{line}\): {words}", said), said


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    spread(
        [
            ("0.5", r"action .*0\.5.* is not allowed"),
            ("3.0", r"action .*3\.0.* is not allowed"),
            ("None", r"action .*None.* is not allowed"),
            ("'first'", r"action .*'first'.* is not allowed"),
            ("True", r"action .*True.* is not allowed"),
            ("(True if len({array}) else 5)", r"action .*True.* is not allowed"),
            ("99_999", r"99999.* not allowed"),
            ("-99_999", r"-99999.* not allowed"),
            ("2**62", r"4611686018427387904.* not allowed"),
        ]
    ),
    indirect=["kind"],
)
def test_what_is_no_action_is_refused_in_the_same_words(kind, written, value, words) -> None:
    if kind.spec == "vm/toy" and value == "-99_999":
        pytest.skip("puts a VM off, very often")
    if value.startswith("("):
        body = "    if len({array}) > 0:\n        return {action}\n    return {action}"
        policy = written(kind, body.replace("{action}", kind.action.format("True"), 1), "5")
    else:
        policy = written(kind, "    return {action}", value)
    said = at_both_speeds(scenario_of(kind), policy, InvalidAction)
    assert re.search(words, said), said


def test_indices_below_zero_count_from_the_end(kind, written) -> None:
    body = "    if {array}[-1] != {array}[len({array}) - 1]:\n        return {action}\n"
    body += "    raise ValueError('the same')"
    said = at_both_speeds(scenario_of(kind), written(kind, body), PolicyError)
    assert said.endswith("ValueError: the same")


HELPERS = """
import numba
import numpy as np
from cloudarena.scenarios.jobs import first_machine
from cloudarena.scenarios.jobs.kernel import queue
from cloudarena.scenarios.jobs.kernel.queue import copies_that_fit


@numba.njit
def demand_of(tasks, task):
    return tasks.demand[task, 0]


def offered(tasks, machines, rng):
    return 0, first_machine(tasks, machines, 10**9), 1


def inner(tasks, machines, rng):
    return 0, copies_that_fit(tasks, machines, 10**9, 0), 1


def module(tasks, machines, rng):
    return 0, queue.copies_that_fit(tasks, machines, 10**9, 0), 1


def own(tasks, machines, rng):
    return 0, demand_of(tasks, 10**9), 1


@numba.njit
def decorated(tasks, machines, rng):
    place = 10**9
    return 0, tasks.job[place], 1
"""


@pytest.mark.parametrize(
    ("name", "line"),
    [("offered", 15), ("inner", 19), ("module", 23), ("own", 27), ("decorated", 33)],
)
def test_what_a_policy_calls_is_checked_too(tmp_path, name, line) -> None:
    """Helpers are compiled without checks for the kernel, and with checks for policies."""
    path = tmp_path / "mine.py"
    path.write_text(HELPERS)
    said = at_both_speeds(cloudarena.load("jobs/toy"), f"{path}:{name}", PolicyError)
    assert re.search(rf"mine\.py:{line}\): index .*is out of bounds", said), said


def test_a_fault_that_depends_on_a_draw_is_told_as_well(tmp_path) -> None:
    """The plain function draws another number when it is asked again."""
    path = tmp_path / "mine.py"
    path.write_text(
        "def mine(pms, vm, rng):\n    drawn = rng.random()\n    if drawn < 0.05:\n"
        "        raise ValueError('unlucky')\n    for m in range(len(pms.valid)):\n"
        "        if pms.valid[m]:\n            return m\n    return -2\n"
    )
    scenario = cloudarena.load("vm/azure-like-10k", SMALL)
    with pytest.raises(PolicyError, match=r"policy mine \(.*mine\.py:4\): ValueError: unlucky"):
        cloudarena.simulate(scenario, f"{path}:mine")


def test_a_forecast_for_a_node_that_is_not_there_is_an_error() -> None:
    decision = cloudarena.load("workflow/demo").start(0).decision
    with pytest.raises(IndexError, match="node 1000000 is not allowed: 0 to"):
        decision.finish_forecast(1_000_000, 128)
