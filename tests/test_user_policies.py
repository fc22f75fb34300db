"""Policies of users: what they do wrong is said in one line, and changes nothing.

In each kind of scenario that has compiled policies, and at both speeds, in the same words.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import InvalidAction, PolicyError
from cloudarena.contract import Run, Scenario
from cloudarena.policies import ArrayPolicy, SteppedPolicyWarning


class Kind(NamedTuple):
    """Where and how a policy of a kind is written."""

    spec: str
    changes: dict[str, object]
    arguments: str
    array: str
    """An array of floats that it is shown."""
    action: str
    """An action made of a whole number."""


KINDS = {
    "vm": Kind("vm/toy", {}, "pms, vm, rng", "pms.free_cores", "{}"),
    "jobs": Kind("jobs/toy", {}, "tasks, machines, rng", "tasks.submit", "({}, 0, 1)"),
    "workflow": Kind(
        "workflow/demo",
        {"workload.workflows": 2},
        "nodes, function, rng",
        "nodes.utilisation",
        "({}, 128)",
    ),
    "faas": Kind(
        "faas/serverless-basic", {"duration_s": 30}, "nodes, replica, rng", "nodes.power_w", "{}"
    ),
}

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


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each kind of scenario whose policies are compiled."""
    return KINDS[request.param]


def spread(cases: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Cases, each with two of the kinds in turn; with the others it is validation.

    Each pair compiles for a second.
    """
    return [
        pytest.param(
            name,
            *case,
            marks=() if (place - number) % len(KINDS) < 2 else pytest.mark.slow,
            id=f"{name}-{case[0]}",
        )
        for number, case in enumerate(cases)
        for place, name in enumerate(KINDS)
    ]


def scenario_of(kind: Kind) -> Scenario:
    return cloudarena.load(kind.spec, kind.changes)


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """Writes a policy into a file and gives its name for the command line."""

    def write(kind: Kind, body: str, value: str = "0") -> str:
        path = tmp_path / "mine.py"
        action = kind.action.format(value)
        body = body.format(array=kind.array, action=action)
        path.write_text(f"def mine({kind.arguments}):\n{body}\n")
        return f"{path}:mine"

    return write


def stepped(scenario: Scenario, policy: str) -> Run:
    """A run in which a function of arrays decides uncompiled."""
    run = scenario.start(0)
    Run.play(run, scenario.kind.policies.resolve(policy))
    return run


def at_both_speeds(scenario: Scenario, policy: str, error: type[Exception]) -> str:
    """What a policy's run says in the end, which is the same compiled and stepped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteppedPolicyWarning)
        with pytest.raises(error) as fast:
            cloudarena.simulate(scenario, policy)
    with pytest.raises(error) as slow:
        stepped(scenario, policy)
    fast_words = str(fast.value).removeprefix(f"policy {policy}: ")
    assert fast_words == str(slow.value)
    return fast_words


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


AROUND = {
    "flat": "    seen = {array}.flat\n    seen[0] = 0.0\n    return {action}",
    "contiguous": (
        "    seen = np.ascontiguousarray({array})\n    seen[0] = 0.0\n    return {action}"
    ),
    "nditer": (
        "    for one in np.nditer({array}, op_flags=['readwrite']):\n        one[...] = 0.0\n"
        "    return {action}"
    ),
    "writeable": "    {array}.flags.writeable = True\n    return {action}",
    "base": "    {array}.base[0] = 0.0\n    return {action}",
    "sort": "    {array}.sort()\n    return {action}",
    "as_strided": (
        "    seen = np.lib.stride_tricks.as_strided({array}, (1,), (8,))\n    seen[0] = 0.0\n"
        "    return {action}"
    ),
}


@pytest.mark.parametrize("way", AROUND)
def test_there_is_no_way_around(written, way) -> None:
    kind = KINDS["vm"]
    policy = written(kind, AROUND[way])
    path = Path(policy.removesuffix(":mine"))
    path.write_text("import numpy as np\n" + path.read_text())
    at_both_speeds(scenario_of(kind), policy, PolicyError)


def test_rows_of_a_table_are_read_only(tmp_path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "def attribute(tasks, machines, rng):\n    machines.rows[0].start = -1.0\n"
        "    return tasks.first, 0, 1\n"
        "def item(tasks, machines, rng):\n    row = machines.rows[0]\n    row['start'] = -1.0\n"
        "    return tasks.first, 0, 1\n"
    )
    for name in ("attribute", "item"):
        at_both_speeds(cloudarena.load("jobs/toy"), f"{path}:{name}", PolicyError)


CAPACITY = {
    "vm/toy": "def mine(decision):\n    decision.machines.valid[:] = True\n    return 0\n",
    "jobs/toy": (
        "def mine(decision):\n    decision.machines.free[:] = 10**12\n"
        "    return int(decision.ready[0]), 0, 1\n"
    ),
    "tiers/rubis-hour": (
        "def mine(decision):\n    decision.counts[:] = 9\n    return decision.counts\n"
    ),
    "clusters/ligo-20": (
        "def mine(decision):\n    decision.backlog[:] = 0\n    return decision.shares, 60.0\n"
    ),
    "workflow/demo": (
        "def mine(decision):\n    decision.nodes.free_memory[:] = 10**12\n    return 0, 128\n"
    ),
    "faas/serverless-basic": (
        "def mine(decision):\n"
        "    if decision.kind == 'scale':\n        return decision.suggested\n"
        "    decision.nodes.valid[:] = True\n    return 0\n"
    ),
}


@pytest.mark.parametrize("how", ["write", "flag"])
@pytest.mark.parametrize("spec", CAPACITY)
def test_a_policy_of_decisions_cannot_change_what_it_is_shown(tmp_path, spec, how) -> None:
    text = CAPACITY[spec]
    if how == "flag":
        text = re.sub(r"(decision\.[.\w]+)\[:\] = .*", r"\1.flags.writeable = True", text)
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(PolicyError, match="it writes to an array that it is shown"):
        cloudarena.simulate(spec, f"{path}:mine")


def test_the_kernel_looks_at_what_is_free_and_not_at_marks() -> None:
    """Even if somebody gets at the marks, a machine takes no more than it has."""
    run = cloudarena.load("vm/toy", {"decide_when_full": True}).start(0)
    while run.decision is not None:
        run.world.machines.valid[:] = True
        try:
            run.apply(0)
        except InvalidAction:
            run.apply(-1)
        assert (run.world.allocated_cores <= run.world.fleet.cores).all()
    assert run.metrics()["refused"] > 0


STEPPED = {
    "it changes the global count": (
        "count = 0\ndef mine(pms, vm, rng):\n    global count\n    count += 1\n    return {ok}\n"
    ),
    "it changes count of the function around it": (
        "def outer():\n    count = 0\n    def mine(pms, vm, rng):\n        nonlocal count\n"
        "        count += 1\n        return {ok}\n    return mine\nmine = outer()\n"
    ),
    "it uses seen, a dict from outside it": (
        "seen = {{}}\ndef mine(pms, vm, rng):\n    seen[vm.vm] = 1\n    return {ok}\n"
    ),
    "it imports math": (
        "def mine(pms, vm, rng):\n    import math\n    math.sqrt(2)\n    return {ok}\n"
    ),
    "it calls itself": (
        "def mine(pms, vm, rng):\n    if vm.vm < 0:\n        return mine(pms, vm, rng)\n"
        "    return {ok}\n"
    ),
    "it changes count of the function around": (
        "def mine(pms, vm, rng):\n    count = 0\n    def more():\n        nonlocal count\n"
        "        count += 1\n    more()\n    return {ok}\n"
    ),
    "what it does here cannot be compiled": (
        "import numpy as np\ncounts = np.zeros(1)\ndef mine(pms, vm, rng):\n    counts[0] += 1\n"
        "    return {ok}\n"
    ),
}


@pytest.mark.parametrize("words", STEPPED)
def test_what_cannot_be_compiled_runs_stepped_and_says_why(tmp_path, words) -> None:
    ok = "int(pms.valid.argmax()) if pms.valid.any() else -2"
    path = tmp_path / "mine.py"
    path.write_text(STEPPED[words].format(ok=ok))
    said = rf"policy mine runs stepped, .* slowly: .*mine\.py:\d+: {words}"
    with pytest.warns(SteppedPolicyWarning, match=said):
        result = cloudarena.simulate("vm/toy", f"{path}:mine")
    assert result.metrics == cloudarena.simulate("vm/toy", "first-fit").metrics


def best_fit(pms, vm, rng):
    """A copy of the built-in policy, with a helper of its own."""
    return lowest(pms.valid, pms.free_cores)


def lowest(valid, values):
    best, least = -2, np.inf
    for m in range(len(valid)):
        if valid[m] and values[m] < least:
            best, least = m, values[m]
    return best


WEIGHT = 1.0


def weighed(pms, vm, rng):
    """By a number that stands outside it."""
    best, least = -2, np.inf
    for m in range(len(pms.valid)):
        if pms.valid[m] and WEIGHT * pms.free_cores[m] < least:
            best, least = m, WEIGHT * pms.free_cores[m]
    return best


SMALL = {"ticks": 300, "workload.vms": 600, "workload.concurrent": 100, "machines[0].count": 12}


def test_a_users_copy_of_a_built_in_policy_gives_the_same() -> None:
    scenario = cloudarena.load("vm/azure-like-10k", SMALL)
    mine, built_in = (cloudarena.simulate(scenario, p) for p in (best_fit, "best-fit"))
    assert mine.metrics == built_in.metrics


def test_a_function_is_compiled_once(monkeypatch) -> None:
    scenario = cloudarena.load("vm/toy")
    cloudarena.simulate(scenario, best_fit)
    monkeypatch.setattr(
        "cloudarena.policies.machine_code.checked", None
    )  # nothing more is compiled
    begin = time.perf_counter()
    for _ in range(10):
        cloudarena.simulate(scenario, best_fit)
    assert time.perf_counter() - begin < 2.0


def test_a_number_outside_a_function_may_change_between_runs(monkeypatch) -> None:
    scenario = cloudarena.load("vm/azure-like-10k", SMALL)
    first = cloudarena.simulate(scenario, weighed).metrics
    monkeypatch.setitem(globals(), "WEIGHT", -1.0)
    second = cloudarena.simulate(scenario, weighed).metrics
    assert first == cloudarena.simulate(scenario, "best-fit").metrics
    assert second == cloudarena.simulate(scenario, "worst-fit").metrics


def test_functions_without_a_file_are_compiled_too() -> None:
    made: dict[str, Callable[..., int]] = {}
    exec("def mine(pms, vm, rng):\n    place = 10**7\n    return int(pms.vms[place])", made)
    with pytest.raises(PolicyError, match=r"policy mine \(<string>:3\): index 10000000 is out of"):
        cloudarena.simulate("vm/toy", made["mine"])
    policy = cloudarena.load("vm/toy").kind.policies.resolve(lambda pms, vm, rng: -1)
    assert isinstance(policy, ArrayPolicy)
    assert policy.machine_code is not None


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


BY_DECISION = {
    "raises": "def mine(decision):\n    raise KeyError('x')\n",
    "misspelt": "def mine(decision):\n    return decision.machine\n",
    "recursion": "def mine(decision):\n    return mine(decision)\n",
    "exits": "import sys\ndef mine(decision):\n    sys.exit(3)\n",
    "constructor": "class mine:\n    def __init__(self):\n        self.x = 1 / 0\n",
    "start": (
        "class mine:\n    def start(self):\n        pass\n    def __call__(self, decision):\n"
        "        return 0\n"
    ),
    "start fails": (
        "class mine:\n    def start(self, scenario, seed):\n        [][1]\n"
        "    def __call__(self, decision):\n        return 0\n"
    ),
    "loading": "import sys\nsys.exit(4)\n",
}
WORDS = {
    "raises": r"policy mine \(.*mine\.py:2\): KeyError: 'x'",
    "misspelt": r"policy mine \(.*mine\.py:2\): AttributeError: .* has no attribute 'machine'",
    "recursion": r"policy mine \(.*mine\.py:2\): RecursionError: maximum recursion depth exceeded",
    "exits": r"policy mine \(.*mine\.py:3\): SystemExit: 3",
    "constructor": r"policy mine \(.*mine\.py:3\): ZeroDivisionError: division by zero",
    "start": r"policy mine \(.*mine\.py:4\): TypeError: .*start\(\) takes 1 positional argument",
    "start fails": r"policy mine \(.*mine\.py:3\): list index out of range",
    "loading": r"policy: .*mine\.py:2 cannot be loaded: SystemExit: 4",
}


@pytest.mark.parametrize("spec", ["vm/toy", "tiers/rubis-hour", "clusters/ligo-20"])
@pytest.mark.parametrize("fault", BY_DECISION)
def test_a_fault_of_a_policy_of_decisions_is_one_line(tmp_path, spec, fault) -> None:
    path = tmp_path / "mine.py"
    path.write_text(BY_DECISION[fault])
    with pytest.raises(PolicyError, match=WORDS[fault]) as caught:
        cloudarena.simulate(spec, f"{path}:mine")
    assert "\n" not in str(caught.value)
    assert "Traceback" in caught.value.details


def test_an_interrupt_stays_one() -> None:
    def mine(decision):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cloudarena.simulate("vm/toy", mine)


def test_parts_of_a_bundle_are_blamed_each_for_itself(tmp_path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "class mine:\n    def scale(self, scaling, rng):\n        return [][2]\n"
        "def scaler(scaling, rng):\n    counts = (1, 2)\n"
        "    return counts[scaling.suggested + 10]\n"
    )
    spec = cloudarena.load("faas/edge-energy", {"duration_s": 90})
    for name, line in (("mine", 3), ("scaler", 6)):
        with pytest.raises(PolicyError, match=rf"policy scale\w* \(.*mine\.py:{line}\): .*range"):
            cloudarena.simulate(spec, f"{path}:{name}")


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("vm", {"order": len}, "policy mine: order is not allowed: vm has no queue"),
        ("workflow", {"order": len}, "order is not allowed: workflow has no queue"),
        ("faas", {"order": len}, "order is not allowed: faas has no queue"),
        ("vm", {"needs": "durations"}, "needs: 'durations' is not allowed: lifetimes"),
        ("jobs", {"needs": "lifetimes"}, "needs: 'lifetimes' is not allowed: durations, estimates"),
        ("workflow", {"needs": "durations"}, "needs: 'durations' is not allowed: nothing"),
        ("faas", {"needs": "durations"}, "needs: 'durations' is not allowed: nothing"),
        ("vm", {"parameters": {"x": 1}}, "x are not allowed: the function has no argument p"),
        ("jobs", {"parameters": {"x": 1}}, "x are not allowed: the function has no argument p"),
        ("workflow", {"parameters": {"x": 1}}, "x are not allowed: the function has no argument p"),
        ("faas", {"parameters": {"x": "y"}}, "parameters: x: 'y' is not allowed: a number"),
        ("faas", {"parameters": {"x": 1}}, "x are not allowed: the function has no argument p"),
    ],
)
def test_what_a_kind_has_no_use_for_is_refused(kind, given, words) -> None:
    book = cloudarena.load(KINDS[kind].spec).kind.policies
    with pytest.raises(PolicyError, match=words):
        book.register("mine", **given)(lambda a, b, rng: 0)
    assert "mine" not in list(book)


def test_a_policy_that_needs_lifetimes_is_refused_where_they_are_not_known() -> None:
    scenario = cloudarena.load("vm/toy")
    mine = ArrayPolicy("mine", best_fit, scenario.kind.policies.signature, needs="lifetimes")
    for play in (lambda run: run.play(mine), lambda run: Run.play(run, mine)):
        with pytest.raises(PolicyError, match=r"policy mine: needs known: \[lifetimes\]"):
            play(scenario.start(0))
    known = cloudarena.load("vm/toy", {"known": ["lifetimes"]})
    assert cloudarena.simulate(known, mine).metrics["allocated"] > 0


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (lambda tasks: tasks.job[:-1], "one number for each of"),
        (lambda tasks: ["a"] * len(tasks.job), "one number for each of"),
        (lambda tasks: tasks.jobs, "AttributeError"),
    ],
)
def test_an_order_that_is_none_is_refused(order, words) -> None:
    scenario = cloudarena.load("jobs/toy")
    first = scenario.kind.policies.resolve("first-fit")
    mine = ArrayPolicy("mine", first.function, scenario.kind.policies.signature, order=order)
    with pytest.raises(PolicyError, match=f"policy mine.*{words}"):
        cloudarena.simulate(scenario, mine)


def test_kinds_whose_tuples_cannot_be_told_apart_are_refused() -> None:
    """Numba compares the types of functions by the names of their arguments' tuples alone."""
    import numba

    from cloudarena.contract.kernel_run import _function_type

    def signature_of(home: str) -> object:
        class Hosts(NamedTuple):
            free: np.ndarray

        Hosts.__module__ = home
        return numba.int64(numba.typeof(Hosts(np.zeros(1))))

    first, second = signature_of("one.kind"), signature_of("another.kind")
    known = _function_type(first)
    assert known.signature == _function_type(first).signature == first
    with pytest.raises(cloudarena.CloudarenaError, match=r"another\.kind.*Hosts.*one\.kind has a"):
        _function_type(second)


def test_workers_take_a_users_function_from_the_disk(tmp_path) -> None:
    """Each of them would compile it again, as often as it runs, were it not kept."""
    folder = tmp_path / "cache"
    script = (
        "import os, pathlib, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import mine, cloudarena\n"
        "cloudarena.simulate('vm/toy', mine.best)\n"
        "from cloudarena.policies.machine_code import users_code\n"
        "code = cloudarena.load('vm/toy').kind.policies.resolve(mine.best).machine_code\n"
        "print(sum(code.stats.cache_hits.values()), sum(code.stats.cache_misses.values()))\n"
    )
    (tmp_path / "mine.py").write_text(
        f"STAMP = {str(folder)!r}\ndef best(pms, vm, rng):\n    return len(STAMP) - len(STAMP)\n"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert found == [["0", "1"], ["1", "0"]]


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


def test_a_forecast_for_a_node_that_is_not_there_is_an_error() -> None:
    decision = cloudarena.load("workflow/demo").start(0).decision
    with pytest.raises(IndexError, match="node 1000000 is not allowed: 0 to"):
        decision.finish_forecast(1_000_000, 128)
