"""Environments are registered when Gymnasium is loaded."""

import subprocess
import sys


def test_environments_are_registered_although_gymnasium_was_only_looked_for():
    program = (
        "import cloudarena, importlib.util\n"
        "assert importlib.util.find_spec('gymnasium') is not None\n"
        "import gymnasium\n"
        "print('cloudarena/vm-v0' in gymnasium.registry)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"
