"""To describe a cloud needs neither compiler nor tables: specs are validated in a moment."""

import subprocess
import sys

import pytest

from cloudarena.scenarios import kinds

HEAVY = "{'numba', 'pyarrow', 'scipy', 'pandas', 'gymnasium', 'torch'}"


def imported_by(code: str) -> str:
    """The heavy modules that a piece of code imports."""
    script = f"import sys\n{code}\nprint(sorted({HEAVY} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("kind", kinds())
def test_the_example_and_the_toy_of_a_kind_are_validated_without_numba_and_arrow(kind):
    names = [kinds()[kind].example, kinds()[kind].toy]
    code = f"import cloudarena\nfor name in {names}: cloudarena.load(name)"
    assert imported_by(code) == "[]"


@pytest.mark.parametrize("command", [["scenarios"], ["spec", "vm"], ["schema", "faas"], ["--help"]])
def test_commands_that_only_tell_import_nothing_heavy(command):
    code = (
        f"sys.argv = ['cloudarena', *{command}]\n"
        "from cloudarena.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass"
    )
    assert imported_by(code) == "[]"


def test_a_list_of_the_catalogue_needs_no_numpy():
    code = "from cloudarena import catalogue\ncatalogue.descriptions()\n"
    assert imported_by(code + "assert 'numpy' not in sys.modules") == "[]"
