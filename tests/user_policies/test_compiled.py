"""Functions of users are compiled, once, or run stepped and say why."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import PolicyError
from cloudarena.policies import ArrayPolicy, SteppedPolicyWarning
from cloudarena.testing.policy import both_speeds_agree
from tests.user_policies.written import SMALL

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


def test_a_users_copy_of_a_built_in_policy_gives_the_same() -> None:
    scenario = cloudarena.load("vm/azure-like-10k", SMALL)
    mine, built_in = (cloudarena.simulate(scenario, p) for p in (best_fit, "best-fit"))
    assert mine.metrics == built_in.metrics


@cloudarena.parameters(cores=0.0, ties=("first", "last"))
def spare(pms, vm, p, rng):
    """The fullest machine that keeps some cores free, else the last valid one."""
    valid, free = taken_apart(pms)
    best, other, least = -2, -2, np.inf
    for m in range(len(valid)):
        left = free[m] - vm.cores
        if valid[m] and left >= p.cores and (left < least or (p.ties and left == least)):
            best, least = m, left
        elif valid[m]:
            other = m
    return best if best >= 0 else other


def taken_apart(machines):
    """Fields by their position, which a tuple that goes by reference has not."""
    return machines[0], machines[5]


def test_a_function_with_parameters_gives_the_same_compiled_and_stepped() -> None:
    scenario = cloudarena.load("vm/azure-like-10k", SMALL)
    found = []
    for settings in ("", ":cores=4", ":cores=4:ties=last"):
        policy = scenario.kind.policies.resolve(f"{__file__}:spare{settings}")
        assert isinstance(policy, ArrayPolicy)
        assert policy.machine_code is not None
        both_speeds_agree(policy, scenario, 0)
        found.append(cloudarena.simulate(scenario, policy).metrics["energy_kwh"])
    assert len(set(found)) == 3


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
