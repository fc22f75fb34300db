"""What a policy of a user's does wrong is one line on the command line, with exit code 2."""

from __future__ import annotations

import pytest

FAULTY = """
def zero(pms, vm, rng):
    nothing = len(pms.valid) - len(pms.valid)
    return 1 // nothing


def beyond(pms, vm, rng):
    place = 5_000_000
    return int(pms.free_cores[place])


def half(pms, vm, rng):
    return 0.5


def leaves(decision):
    raise SystemExit(7)
"""
LINES = {
    "zero": "policy zero ({file}:4): ZeroDivisionError: integer division or modulo by zero",
    "beyond": "policy beyond ({file}:9): index 5000000 is out of bounds for axis 0 with size 1",
    "half": (
        "policy {file}:half: action 0.5 is not allowed: the index of a machine, postpone(n) or "
        "REFUSE"
    ),
    "leaves": "policy leaves ({file}:17): SystemExit: 7",
}


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "faulty.py").write_text(FAULTY)
    return "faulty.py"


@pytest.mark.filterwarnings("ignore::cloudarena.policies.SteppedPolicyWarning")
@pytest.mark.parametrize("name", LINES)
def test_a_run_ends_in_one_line(cloudarena, file, name):
    code, out, err = cloudarena("run", "vm/toy", "--policy", f"{file}:{name}")
    assert (code, out, err) == (2, "", f"error: {LINES[name].format(file=file)}\n")


def test_a_comparison_ends_in_the_same_line_from_its_workers(cloudarena, file):
    """The error, and its traceback, come from another process."""
    policies = f"first-fit,{file}:leaves"
    command = ["compare", "vm/toy", "--policies", policies, "--replications", "3"]
    code, out, err = cloudarena(*command, "--workers", "2")
    assert (code, out) == (2, "")
    assert err.endswith(f"error: {LINES['leaves'].format(file=file)}\n")
    assert "Traceback" not in err
    code, _, err = cloudarena(*command, "--workers", "2", "--traceback")
    assert code == 2
    assert "in leaves\n    raise SystemExit(7)" in err
    assert err.endswith(f"error: {LINES['leaves'].format(file=file)}\n")


def test_the_traceback_is_shown_to_those_who_ask(cloudarena, file):
    code, _, err = cloudarena("run", "vm/toy", "--policy", f"{file}:zero", "--traceback")
    assert code == 2
    assert err.startswith("Traceback")
    assert 'faulty.py", line 4, in zero' in err
    assert err.splitlines()[-1] == f"error: {LINES['zero'].format(file=file)}"
    code, _, err = cloudarena("run", "vm/toy", "--policy", f"{file}:zero")
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["run", "compare", "optimize", "map", "policies"])
def test_every_command_has_the_option(cloudarena, command):
    _, out, _ = cloudarena(command, "--help")
    assert "--traceback" in out


def test_a_file_that_cannot_be_loaded_is_told_with_its_line(cloudarena, file, tmp_path):
    (tmp_path / "broken.py").write_text("import math\n\nimport no_such_module\n")
    (tmp_path / "folder.py").mkdir()
    code, _, err = cloudarena("run", "vm/toy", "--policy", "broken.py:mine")
    assert (code, err) == (
        2,
        "error: policy: broken.py:3 cannot be loaded: ModuleNotFoundError: No module named "
        "'no_such_module'\n",
    )
    code, _, err = cloudarena("run", "vm/toy", "--policy", "folder.py:mine")
    assert (code, err) == (2, "error: policy: folder.py is not a file\n")
