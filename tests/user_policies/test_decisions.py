"""Policies of decisions: what they do wrong is said in one line."""

from __future__ import annotations

import pytest

import cloudarena
from cloudarena.base.errors import PolicyError

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
