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


@pytest.mark.parametrize(
    "command", [["scenarios"], ["spec", "vm"], ["schema", "faas"], ["spec", "jobs"], ["--help"]]
)
def test_commands_that_only_tell_import_nothing_heavy(command):
    """Not even NumPy: it takes as long as all of Pydantic."""
    code = (
        f"sys.argv = ['cloudarena', *{command}]\n"
        "from cloudarena.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
    )
    assert imported_by(code + "assert 'numpy' not in sys.modules") == "[]"


@pytest.mark.parametrize("name", ["vm/azure-like-10k", "faas/edge-energy", "tiers/rubis-hour"])
def test_a_spec_whose_work_is_drawn_or_read_is_validated_without_numpy(name):
    """Jobs and workflows that stand in the spec are laid out to check them, with NumPy."""
    code = f"import cloudarena\ncloudarena.load({name!r})\n"
    assert imported_by(code + "assert 'numpy' not in sys.modules") == "[]"


def test_a_list_of_the_catalogue_needs_no_numpy():
    code = "from cloudarena import catalogue\ncatalogue.descriptions()\n"
    assert imported_by(code + "assert 'numpy' not in sys.modules") == "[]"
