"""Hostile policies where decisions are rare: faas's ``scale``, tiers and clusters.

What is no action is ``InvalidAction`` in one line, whatever the object does when it is looked at,
and the run stands as it stood. For ``scale`` the same is said compiled and stepped.
"""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloudarena
from cloudarena.base.arrays import whole_numbers
from cloudarena.base.errors import CloudarenaError, InvalidAction, PolicyError
from cloudarena.contract import Run, Scenario
from cloudarena.policies import SteppedPolicyWarning
from cloudarena.scenarios.clusters import Plan

SCALERS = {
    "a float": ("return 1.5", "action 1.5 is not allowed: a number of replicas"),
    "nothing": ("return None", "action None is not allowed: a number of replicas"),
    "text": ("return 'two'", "action 'two' is not allowed: a number of replicas"),
    "a truth value": ("return True", "action True is not allowed: a number of replicas"),
    "a huge number": ("return 2**70", "action 1180591620717411303424 is not allowed"),
    "an array": ("return np.zeros(2)", r"action array\(.* is not allowed: a number of replicas"),
    "many": ("return 10**6", r"resize: 1000000 replicas are not allowed: from 0 to 5"),
    "fewer than none": ("return -1", r"resize: -1 replicas are not allowed: from 0 to 5"),
    "no number": (
        "return int(scaling.now * np.nan)",
        r"mine\.py:4\): ValueError: cannot convert float NaN to integer",
    ),
    "an exception": ("raise ValueError('no')", r"mine\.py:4\): ValueError: no"),
    "a division": ("return 1 // (scaling.minimum * 0)", r"mine\.py:4\): ZeroDivisionError"),
    "a misspelt field": ("return scaling.minimun", r"mine\.py:4\): AttributeError.*'minimun'"),
    "a write": ("scaling.maximum = 9; return 1", r"mine\.py:4\): AttributeError: can't set"),
    "an index": (
        "return int(np.arange(3)[scaling.maximum])",
        r"mine\.py:4\): index 5 is out of bounds for axis 0 with size 3",
    ),
}
SCALED = {
    "functions[0].scaling": {"by": "request-rate", "minimum": 0, "maximum": 5, "interval_s": 1}
}


@pytest.mark.parametrize("fault", SCALERS)
def test_the_same_is_said_of_a_scaler_at_both_speeds(tmp_path: Path, fault: str) -> None:
    body, words = SCALERS[fault]
    path = tmp_path / "mine.py"
    path.write_text(f"import numpy as np\n\ndef mine(scaling, rng):\n    {body}\n")
    scenario, policy = cloudarena.load("faas/toy", SCALED), f"{path}:mine"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteppedPolicyWarning)
        with pytest.raises(CloudarenaError) as fast:
            cloudarena.simulate(scenario, policy)
        with pytest.raises(CloudarenaError) as slow:
            Run.play(scenario.start(0), scenario.kind.policies.resolve(policy))
    assert str(fast.value).removeprefix(f"policy {policy}: ") == str(slow.value)
    assert re.search(words, str(slow.value)), str(slow.value)
    assert "\n" not in str(slow.value)


class BadArray:
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array")


class BadEntry:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __int__(self) -> int:
        raise SystemExit(3)


class BadSequence:
    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: int) -> Any:
        raise KeyError("no entry")


def no_numbers(shape: tuple[int, ...]) -> dict[str, Any]:
    """What are no whole numbers of VMs of this shape."""
    ones = np.ones(shape, np.int64)
    entries = np.empty(shape, object)
    entries[...] = BadEntry()
    endless: list[Any] = []
    endless.append(endless)
    return {
        "a float": 0.5,
        "text": "first",
        "a huge number": 2**70,
        "not a number": float("nan"),
        "a truth value": True,
        "truth values": ones > 0,
        "fractions": ones + 0.5,
        "nans": ones * np.nan,
        "infinities": ones * np.inf,
        "complex numbers": ones + 0j,
        "digits": ones.astype(str),
        "huge numbers": ones.astype(object) * 2**70,
        "beyond 63 bits": np.full(shape, 2**63 + 5, np.uint64),
        "times": ones.astype("timedelta64[s]"),
        "dates": ones.astype("datetime64[s]"),
        "records": np.zeros(shape, [("a", int)]),
        "hidden": np.ma.masked_array(ones, mask=True),
        "too many": np.ones(int(ones.size) + 1),
        "none": np.array([]),
        "ragged": [[1], [2, 3]],
        "a dict": {"a": 1},
        "a generator": (one for one in range(3)),
        "a class": BadArray,
        "no array": BadArray(),
        "no entries": BadSequence(),
        "bad entries": entries,
        "itself": endless,
        "negative": -ones,
        "zeros": ones * 0,
    }


NAMES = list(no_numbers((1,)))


def refused(scenario: Scenario, action: Any) -> str:
    """What is said of an action, which changes nothing; nothing is printed either."""
    run = scenario.start(0)
    before = (run.now, repr(run.metrics()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidAction) as caught:
            run.apply(action)
    assert (run.now, repr(run.metrics())) == before
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    return str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_no_numbers_of_vms_in_tiers(name: str) -> None:
    scenario = cloudarena.load("tiers/toy")
    words = refused(scenario, no_numbers((len(scenario.tiers), 2))[name])
    assert "not allowed: " in words


@pytest.mark.parametrize("name", NAMES)
def test_no_shares_of_vms_in_clusters(name: str) -> None:
    scenario = cloudarena.load("clusters/toy")
    shares = no_numbers((len(scenario.classes),))[name]
    assert "not allowed: " in refused(scenario, shares)
    assert "not allowed: " in refused(scenario, Plan(shares, 10.0))


@pytest.mark.parametrize(
    ("length", "evaluations"),
    [("10", 0), (True, 0), (float("nan"), 0), (10**400, 0), (-1.0, 0), (None, 0), (1j, 0),
     (10.0, "5"), (10.0, 0.5), (10.0, True), (10.0, -1), (10.0, 2**70), (BadEntry(), 0)],
)  # fmt: skip
def test_no_lengths_and_evaluations_in_clusters(length: Any, evaluations: Any) -> None:
    scenario = cloudarena.load("clusters/toy")
    shares = np.ones(len(scenario.classes), np.int64)
    shares[0] += scenario.vms - shares.sum()
    assert "not allowed: " in refused(scenario, Plan(shares, length, evaluations))
    scenario.start(0).apply(Plan(shares, 10.0))


def test_whole_numbers_are_copied_and_may_be_floats() -> None:
    for given in ([[1, 2]], np.array([[1.0, 2.0]], np.float16), np.array([[1, 2]], object)):
        found = whole_numbers(given, (1, 2))
        assert found is not None
        assert found.tolist() == [[1, 2]]
        assert found.dtype == np.int64
        assert found.base is None


def toy_action(scenario: Scenario, decision: Any) -> Any:
    """The same that may be done everywhere in a toy."""
    if scenario.kind.name == "tiers":
        return np.ones_like(decision.limits)
    shares = np.ones(len(scenario.classes), np.int64)
    shares[0] += scenario.vms - shares.sum()
    return Plan(shares, 10.0)


@pytest.mark.parametrize("name", ["tiers/toy", "clusters/toy"])
def test_who_changes_an_action_afterwards_or_a_decision_changes_nothing(name: str) -> None:
    scenario = cloudarena.load(name)
    honest = cloudarena.simulate(scenario, lambda decision: toy_action(scenario, decision))

    def later(decision: Any) -> Any:
        action = toy_action(scenario, decision)
        kept.append(action if isinstance(action, np.ndarray) else action.shares)
        for old in kept[:-1]:
            old[...] = 7
        with pytest.raises((AttributeError, TypeError)):
            decision.now = -1.0
        return action

    kept: list[Any] = []
    found = cloudarena.simulate(scenario, later)
    assert repr(found.metrics) == repr(honest.metrics)


@pytest.mark.parametrize("name", ["tiers/toy", "clusters/toy"])
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("1 / 0", r"mine\.py:2\): ZeroDivisionError: division by zero"),
        ("decision.{array}[0] = 5", r"mine\.py:2\): it writes to an array that it is shown"),
        ("decision.{array}[10**6]", r"mine\.py:2\): index 1000000 is out of bounds"),
        ("decision.nothing", r"mine\.py:2\): AttributeError: .*'nothing'"),
        ("raise SystemExit(7)", r"mine\.py:2\): SystemExit: 7"),
        ("mine(decision)", r"mine\.py:2\): RecursionError: "),
    ],
)
def test_faults_are_one_line_with_file_and_line(
    tmp_path: Path, name: str, body: str, words: str
) -> None:
    path = tmp_path / "mine.py"
    array = "limits" if name.startswith("tiers") else "backlog"
    path.write_text(f"def mine(decision):\n    {body.format(array=array)}\n")
    with pytest.raises(PolicyError) as caught:
        cloudarena.simulate(name, f"{path}:mine")
    assert re.search(words, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


LOOPS = {
    "faas/toy": "def mine(scaling, rng):\n    while scaling.now >= 0:\n        pass\n    return 0",
    "tiers/toy": "def mine(decision):\n    while True:\n        pass\n",
    "clusters/toy": "def mine(decision):\n    while True:\n        pass\n",
}  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
@pytest.mark.parametrize("name", LOOPS)
def test_a_policy_that_loops_for_ever_is_ended_by_a_signal(tmp_path: Path, name: str) -> None:
    path = tmp_path / "loop.py"
    path.write_text(LOOPS[name])
    script = (
        "import signal, sys, threading, time\n"
        # Whoever is started in the background ignores it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from cloudarena import cli\n"
        f"where = {str(path)!r}, 'mine'\n"
        "def deciding():\n"
        "    if any(one.name == 'cloudarena kernel' for one in threading.enumerate()):\n"
        "        return True\n"
        "    frame = sys._current_frames()[threading.main_thread().ident]\n"
        "    def at(code):\n"
        "        return code.co_filename, code.co_name\n"
        "    while frame is not None and at(frame.f_code) != where:\n"
        "        frame = frame.f_back\n"
        "    return frame is not None\n"
        "def tell():\n"
        "    while not deciding():\n"
        "        time.sleep(0.01)\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "threading.Thread(target=tell, daemon=True).start()\n"
        "cli.main()\n"
    )
    change = [
        "--set",
        "functions[0].scaling={by: request-rate, minimum: 0, maximum: 5, interval_s: 1}",
    ]
    command = ["run", name, "--policy", f"{path}:mine", *(change if "faas" in name else [])]
    ended = subprocess.run(
        [sys.executable, "-c", script, *command], capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 130, ended.stderr
    assert "Traceback" not in ended.stderr
