"""A kind of one's own: made by a command, found by its entry point, without a change elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.experiments.template import write_scenario

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as ``pip install`` leaves one: a package, and what it says of its entry points."""
    folder = tmp_path_factory.mktemp("site")
    made = write_scenario("my_queue", folder / "projects")
    (folder / "my_queue").symlink_to(made / "my_queue")
    facts = folder / "my_queue-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: my_queue\nVersion: 0.1.0\n")
    (facts / "entry_points.txt").write_text("[cloudarena.kinds]\nmy-queue = my_queue:KIND\n")
    return folder


def run(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs Python where the package is installed."""
    paths = os.pathsep.join([str(installed), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )


def test_its_entries_are_in_the_catalogue_and_run(installed: Path) -> None:
    listed = run(installed, "-m", "cloudarena", "scenarios", "--json")
    assert {"my-queue/toy", "my-queue/naor", "vm/toy"} <= set(json.loads(listed.stdout))
    ran = run(
        installed, "-m", "cloudarena", "run", "my-queue/toy", "--policy", "at-most:n=1", "--json"
    )
    assert json.loads(ran.stdout)["metrics"] == {
        "unserved_share": 0.0,
        "customers": 3.0,
        "accepted": 1.0,
        "in_system_mean": 1.0,
        "profit_usd": 6.0,
    }


def test_it_passes_all_checks(installed: Path) -> None:
    project = installed / "projects" / "my_queue"
    done = run(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(project))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_is_one_too() -> None:
    program = (
        "from admission import KIND; from cloudarena.policies import begin\n"
        "import yaml\n"
        "spec = yaml.safe_load((KIND.entries / 'naor.yaml').read_text())\n"
        "scenario = KIND.scenario.parse(spec)\n"
        "profits = {}\n"
        "for n in range(1, 12):\n"
        "    run = scenario.start(seed=1)\n"
        "    run.play(KIND.policies.resolve(f'at-most:n={n}'))\n"
        "    profits[n] = run.metrics()['profit_usd']\n"
        "print(max(profits, key=profits.get))\n"
    )
    done = run(EXAMPLES, "-c", program)
    assert done.stdout.strip() == "6", done.stderr  # Naor's threshold at load 0.9, value 20


@pytest.mark.parametrize("name", ["My", "1st", "a-b", "cloudarena", "a__b", ""])
def test_names_that_python_could_not_import_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(CloudarenaError, match="lower-case words joined by underscores"):
        write_scenario(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(CloudarenaError, match="exists already"):
        write_scenario("mine", tmp_path)
