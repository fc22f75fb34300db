"""Policies of users that go around the checks, and what is said of them at both speeds."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import CloudarenaError
from cloudarena.contract import Run
from cloudarena.engine import checked as checked_module
from cloudarena.engine.checked import CannotCompile, checked
from cloudarena.policies import SteppedPolicyWarning

WRITES = "it writes to an array that it is shown: those are read-only"
HEAD = """import numba
import numpy as np

def write(array):
    array[0] = 3.0

@numba.njit
def compiled_write(array):
    array[0] = 3.0

def mine(pms, vm, rng):
    shown = pms.free_cores
"""
SAID = {
    # what Numba says of any fault names the types of the arrays, which are read-only
    "a misspelt field": ("return pms.vald[0]", r"mine\.py:13\): AttributeError: .*'vald'"),
    "too many indices": ("return int(shown[0, 0])", r"mine\.py:13\): too many indices"),
    "an index that is none": ("return int(shown[0.5])", r"mine\.py:13\): only integers"),
    "a call of an array": ("return shown(0)", r"mine\.py:13\): TypeError: .*not callable"),
    "a field": ("pms.valid = shown; return 0", r"mine\.py:13\): AttributeError: can't set"),
    # a write is told where it stands
    "a write in a helper": ("write(shown); return 0", rf"mine\.py:5\): {WRITES}"),
    "a write in compiled code": ("compiled_write(shown); return 0", rf"mine\.py:9\): {WRITES}"),
    "draws written": ("rng.random(out=shown); return 0", rf"mine\.py:13\): {WRITES}"),
    # what compiled code would read or write without a look at its size
    "a take": (
        "return int(np.take_along_axis(shown, np.array([10**9]), 0)[0])",
        r"mine\.py:13\): index 1000000000 is out of bounds",
    ),
    "an output": (
        "return int(np.add(np.zeros(2), np.zeros(2), np.zeros(10**8))[-1])",
        r"mine\.py:13\): ValueError: operands could not be broadcast",
    ),
    "an output of one": (
        "return int(np.zeros(2).clip(0, 1, np.zeros(10**7))[-1])",
        r"mine\.py:13\): ValueError: .*broadcast",
    ),
    "a deletion": (
        "return int(np.delete(shown, np.array([10**9]))[0])",
        r"mine\.py:13\): index 1000000000 is out of bounds",
    ),
    "a shape that wraps": (
        "return int(shown[:0].reshape(2**32, 2**32).sum())",
        r"mine\.py:13\): ValueError: ",
    ),
    # numbers that are none of 64 bits
    "a power": ("return 2**70", "action 1180591620717411303424 is not allowed"),
    "a literal": ("return 9223372036854775808", "action 9223372036854775808 is not allowed"),
    "infinity": (
        "return int(shown[0] * np.inf)",
        r"mine\.py:13\): OverflowError: cannot convert float infinity to integer",
    ),
    "no number": (
        "return int(shown[0] * np.nan)",
        r"mine\.py:13\): ValueError: cannot convert float NaN to integer",
    ),
    "a huge float": ("return int(shown[0] * 1e100)", r"action 40000.* is not allowed"),
    "a boolean": ("return True if len(shown) > 0 else 5", "action True is not allowed"),
    "a truth by or": ("return len(shown) > 0 or 5", "action True is not allowed"),
}


def said(act) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteppedPolicyWarning)
        with pytest.raises(CloudarenaError) as caught:
            act()
    return str(caught.value)


@pytest.mark.parametrize("fault", SAID)
def test_the_same_is_said_at_both_speeds(tmp_path, fault) -> None:
    body, words = SAID[fault]
    path = tmp_path / "mine.py"
    path.write_text(f"{HEAD}    {body}\n")
    scenario, policy = cloudarena.load("vm/toy"), f"{path}:mine"
    fast = said(lambda: cloudarena.simulate(scenario, policy))
    slow = said(lambda: Run.play(scenario.start(0), scenario.kind.policies.resolve(policy)))
    assert fast.removeprefix(f"policy {policy}: ") == slow
    assert re.search(words, slow), slow
    assert "\n" not in slow


UNCHECKED = {
    "take_along_axis": "np.take_along_axis(shown, np.array([0]), 0)[0]",
    "delete": "np.delete(shown, 0)[0]",
    "outer": "np.outer(shown, shown, np.zeros((3, 3)))[0, 0]",
    "clip": "np.clip(shown, 0, 1, np.zeros(3))[0]",
    "method": "shown.clip(0, 1, np.zeros(3))[0]",
    "ufunc": "np.sqrt(shown, np.zeros(3))[0]",
    "reshape": "shown.reshape(len(shown), 1)[0, 0]",
    "int": "(int, int(shown[0]))[1]",
}
CHECKED = {
    "clip": "np.clip(shown, 0, 1)[0]",
    "method": "shown.clip(0, 1)[0]",
    "ufunc": "np.maximum(shown, 0.0)[0]",
    "reshape": "shown.reshape(-1, 1)[0, 0]",
    "int": "int(shown[0])",
    "power": "2**62",
}


def made(expression: str):
    names = {"np": np}
    exec(f"def mine(shown):\n    return {expression}\n", names)
    return names["mine"]


@pytest.mark.parametrize("name", UNCHECKED)
def test_what_would_not_be_checked_is_not_compiled(name) -> None:
    import numba

    shown = numba.types.Array(numba.float64, 1, "C", readonly=True)
    with pytest.raises(CannotCompile, match="compiled, it would not be checked"):
        checked(made(UNCHECKED[name]), (shown,))


@pytest.mark.parametrize("name", CHECKED)
def test_what_is_checked_is_compiled(name) -> None:
    import numba

    shown = numba.types.Array(numba.float64, 1, "C", readonly=True)
    function = made(CHECKED[name])
    assert checked(function, (shown,))(np.ones(3)) == function(np.ones(3))


def kept(shown):
    return int(shown) + 12345


def test_code_that_was_kept_under_other_rules_is_not_taken(monkeypatch, tmp_path) -> None:
    import numba

    monkeypatch.setattr("cloudarena.engine.code_cache.FOLDER", tmp_path)

    def found() -> int:
        code = checked(kept, (numba.float64,))
        return sum(code.stats.cache_hits.values())

    assert [found(), found()] == [0, 1]
    monkeypatch.setattr(checked_module, "rules", lambda: "others")
    assert [found(), found()] == [0, 1]


FORMS = """import functools

def first(pms, vm, rng):
    for m in range(len(pms.valid)):
        if pms.valid[m]:
            return m
    return -2

def last(settings, pms, vm, rng):
    return first(pms, vm, rng)

class Chooser:
    def __call__(self, pms, vm, rng):
        return first(pms, vm, rng)

partial = functools.partial(last, {"any": 1})
chooser = Chooser()
"""


@pytest.mark.parametrize("name", ["partial", "chooser", "Chooser"])
def test_what_is_called_with_arrays_may_be_any_callable(tmp_path, name) -> None:
    path = tmp_path / "forms.py"
    path.write_text(FORMS)
    found = cloudarena.simulate("vm/toy", f"{path}:{name}")
    assert found.metrics == cloudarena.simulate("vm/toy", "first-fit").metrics


def test_an_object_with_defaults_takes_decisions() -> None:
    class Mine:
        def __call__(self, decision, weight=1.0, other=2.0):
            return int(decision.valid.argmax()) if decision.valid.any() else -2

    found = cloudarena.simulate("vm/toy", Mine())
    assert found.metrics == cloudarena.simulate("vm/toy", "first-fit").metrics


ODD = {
    "async def mine(pms, vm, rng):\n    return 0": "action <coroutine object mine at .* is not",
    "def mine(pms, vm, rng):\n    yield 0": "action <generator object mine at .* is not",
    "def mine(pms, vm, *, rng):\n    return 0": r"mine\(pms, vm, \*, rng\) is not allowed",
    "import numpy\ndef mine(decision):\n    return numpy.zeros((30, 30))": r"action array\(",
    "class A:\n    def __repr__(self):\n        1 / 0\ndef mine(decision):\n    return A()": (
        "action a value of the type A is not allowed"
    ),
    "def mine(decision):\n    raise BaseException('odd')": r"mine\.py:2\): BaseException: odd",
    "class A(Exception):\n    __str__ = None\ndef mine(decision):\n    raise A": r"py:4\): A$",
    "def mine(decision):\n    raise ValueError('\\x1b[31m')": r"ValueError: \?\[31m",
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("text", ODD)
def test_odd_policies_end_in_one_line(tmp_path, text) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    words = said(lambda: cloudarena.simulate("vm/toy", f"{path}:mine"))
    assert re.search(ODD[text], words), words
    assert "\n" not in words
    assert len(words) < 500
