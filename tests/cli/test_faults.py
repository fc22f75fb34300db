"""What goes wrong outside the program is one line, with exit code 2."""

from __future__ import annotations

import subprocess
import sys

import pytest

LONG = "x" * 4000


@pytest.mark.parametrize("command", [[], ["trace"], ["metrics"], ["trace", "convert"]])
def test_a_command_without_its_sub_command_shows_its_help_as_an_error(cloudarena, command):
    code, out, err = cloudarena(*command)
    assert code == 2
    assert out == ""
    assert "Usage:" in err
    assert cloudarena(*command, "--help")[:1] == (0,)


@pytest.mark.parametrize(
    "command",
    [
        ["run", LONG],
        ["run", f"{LONG}.yaml"],
        ["run", "vm/toy", "--policy", f"replay:{LONG}"],
        ["run", "vm/toy", "--policy", f"{LONG}.py:f"],
        ["run", "vm/toy", "--policy", LONG],
        ["run", "vm/toy", "--set", f"{LONG}=3"],
        ["run", "vm/toy", "--set", f"ticks={LONG}"],
        ["run", "vm/toy", "--set", f"workload={{source: files, vmtable: {LONG}, readings: r}}"],
        ["run", "vm/toy", "--out", LONG],
        ["compare", "vm/toy", "--policies", LONG],
        ["compare", "vm/toy", "--replications", "100000000000000"],
        ["optimize", LONG],
        ["metrics", "reduce", LONG],
        ["trace", "describe", LONG],
        ["map", LONG],
        ["policies", LONG],
    ],
    ids=lambda command: " ".join(word[:12] for word in command),
)
def test_absurd_words_and_numbers_are_one_short_line(cloudarena, command):
    code, out, err = cloudarena(*command)
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("error: ")
    assert len(err) < 800


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_memory_that_does_not_suffice_is_one_line_with_what_to_do():
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))\n"
        "sys.argv = ['cloudarena', 'run', 'vm/azure-like-10k', '--set', 'workload.vms=1000000']\n"
        "from cloudarena.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "memory" in done.stderr
