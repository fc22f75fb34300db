import os
import sys

import pytest

import cloudarena
from cloudarena.base.errors import InvalidAction, PolicyError
from cloudarena.policies import ArrayPolicy, SteppedPolicyWarning
from cloudarena.policies.parse import load_function
from cloudarena.scenarios.vm import POLICIES

CHANGES = {"ticks": 300, "workload.vms": 600, "workload.concurrent": 100, "machines[0].count": 12}

OWN = '''
from cloudarena.scenarios.vm import POLICIES

@POLICIES.register("last-of-my-own")
def mine(pms, vm, rng):
    """The last valid machine."""
    for m in range(len(pms.valid) - 1, -1, -1):
        if pms.valid[m]:
            return m
    return -1

def arrays(pms, vm, rng):
    for m in range(len(pms.valid) - 1, -1, -1):
        if pms.valid[m]:
            return m
    return -1

def by_decision(decision):
    return int(decision.valid.nonzero()[0][-1])

class Stateful:
    def __call__(self, decision):
        return int(decision.valid.nonzero()[0][-1])

def unusual(pms, vm, rng):
    return pms.valid.nonzero()[0].tolist()[-1]

NOT_A_FUNCTION = 3
'''


@pytest.fixture(scope="module")
def scenario():
    return cloudarena.load("vm/azure-like-10k", CHANGES)


@pytest.fixture
def own(tmp_path, monkeypatch):
    for registered in ("_policies", "_declared"):  # what the file registers goes with the test
        monkeypatch.setattr(POLICIES, registered, dict(getattr(POLICIES, registered)))
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


@pytest.mark.parametrize("name", ["mine", "arrays", "by_decision", "Stateful"])
def test_a_policy_from_a_file_of_your_own_takes_any_of_four_forms(scenario, own, name):
    result = cloudarena.simulate(scenario, f"{own}:{name}")
    assert result.policy == f"{own}:{name}"
    plain = cloudarena.simulate(scenario, lambda decision: int(decision.valid.nonzero()[0][-1]))
    assert result.metrics == plain.metrics


def test_functions_of_arrays_are_compiled(scenario, own):
    policy = scenario.kind.policies.resolve(f"{own}:arrays")
    assert isinstance(policy, ArrayPolicy)
    assert policy.machine_code is not None


def test_a_policy_that_numba_cannot_compile_runs_stepped_and_says_so(scenario, own):
    words = r"unusual runs stepped, .*own\.py:26: what it does here cannot be compiled"
    with pytest.warns(SteppedPolicyWarning, match=words):
        result = cloudarena.simulate(scenario, f"{own}:unusual")
    assert result.metrics == cloudarena.simulate(scenario, f"{own}:by_decision").metrics


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("best-fitt", "policy: 'best-fitt' is not allowed: .* Did you mean 'best-fit'?"),
        ("nowhere.py:f", "policy: nowhere.py does not exist"),
        ("{own}:arays", "has no 'arays'. Did you mean 'arrays'?"),
        ("{own}:NOT_A_FUNCTION", "'NOT_A_FUNCTION' is not allowed: it cannot be called"),
        ("replay:nowhere.csv", "nowhere.csv: does not exist"),
        ("replay:", "policy: .replay:. is not allowed: one of random"),
    ],
)
def test_a_policy_that_cannot_be_found_is_named(scenario, own, policy, message):
    with pytest.raises(cloudarena.CloudarenaError, match=message):
        cloudarena.simulate(scenario, policy.format(own=own))


def test_a_file_that_does_not_run_is_named(scenario, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("1 / 0")
    with pytest.raises(PolicyError, match=r"broken\.py:1 cannot be loaded: ZeroDivisionError"):
        cloudarena.simulate(scenario, f"{path}:f")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vm,machine\n99,0\n", "line 2: vm: 99 is not in the workload"),
        ("vm,machine\n1,-4\n", "line 2: machine: -4 is not allowed"),
        ("vm,machine,action\n1,0,shrug\n", "line 2: action: 'shrug' is not allowed: one of"),
        ("vm,machine,action,delays\n1,,postpone,0\n", "line 2: delays: 0 is not allowed"),
        ("vm,machin\n1,0\n", "column 'machine' is missing"),
        ("tick,machine\n1,0\n", "column 'vm' or 'id' is missing: which VM"),
        ("vm,machine\nx,0\n", "line 2: vm: 'x' is not allowed: a whole number"),
        ("id,machine\nx,0\n", "line 2: id: 'x' is not in the workload"),
        ("vm,machine\n1,0\n", "has no further decision for VM 2"),
        ("vm,machine\n1,x\n", "line 2: machine: 'x' is not allowed: a whole number"),
    ],
)
def test_a_replay_that_does_not_fit_names_file_and_line(tmp_path, text, message):
    path = tmp_path / "decisions.csv"
    path.write_text(text)
    with pytest.raises(cloudarena.CloudarenaError, match=message):
        cloudarena.simulate("vm/toy", f"replay:{path}")


def test_a_replay_may_place_postpone_and_refuse(tmp_path):
    path = tmp_path / "decisions.csv"
    path.write_text("vm,machine,action,delays\n1,0,place,\n2,,refuse,\n3,,postpone,1\n3,0,place,\n")
    scenario = cloudarena.load("vm/toy", {"buffer.budget_ticks": 2})
    metrics = cloudarena.simulate(scenario, f"replay:{path}").metrics
    assert (metrics["allocated"], metrics["refused"], metrics["delay_ticks"]) == (2, 1, 1)


def test_an_invalid_action_of_a_compiled_policy_is_explained(scenario):
    def wrong(pms, vm, rng):
        return 10_000

    with pytest.raises(InvalidAction, match="machine 10000 is not allowed: 0 to 11"):
        cloudarena.simulate(scenario, wrong)


def test_a_file_is_what_it_says_now_and_nothing_is_left_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "own.py"
    for answer in (1, 2):  # an edit within one second, of the same size
        path.write_text(f"def mine(decision):\n    return {answer}\n")
        os.utime(path, (1_000_000_000, 1_000_000_000))
        assert load_function(path, "mine")(None) == answer
    assert [file.name for file in tmp_path.iterdir()] == ["own.py"]
