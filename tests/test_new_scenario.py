"""A kind of one's own: made by a command, found by its entry point, without a change elsewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.experiments.template import write_scenario

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

KINDS = "cloudarena.scenarios"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``cloudarena new scenario my_queue`` writes into an empty folder."""
    return write_scenario("my_queue", tmp_path_factory.mktemp("projects"))


@pytest.fixture(scope="module")
def installed(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as ``pip install`` leaves one: a package, and what it says of its entry points."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "my_queue").symlink_to(written / "my_queue")
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


def test_its_work_is_described(installed: Path) -> None:
    shown = run(installed, "-m", "cloudarena", "trace", "describe", "my-queue/toy", "--json")
    assert json.loads(shown.stdout)["my-queue/toy"]["customers"] == 3, shown.stderr


def test_it_passes_all_checks_at_once(written: Path) -> None:
    """Nothing is installed: the folder alone is enough."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(written)],
        cwd=written.parent,
        capture_output=True,
        text=True,
    )
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


def test_a_policy_that_needs_a_rate_says_so() -> None:
    program = (
        "from admission import KIND; from cloudarena import CloudarenaError\n"
        "import yaml\n"
        "spec = yaml.safe_load((KIND.entries / 'toy.yaml').read_text())\n"
        "run = KIND.scenario.parse(spec).start(seed=1)\n"
        "try: KIND.policies.resolve('naor').start(run.scenario, 1)\n"
        "except CloudarenaError as error: print(error)\n"
    )
    done = run(EXAMPLES, "-c", program)
    assert done.stdout == "naor: workload.source: inline is not allowed: poisson\n", done.stderr


@pytest.fixture(scope="module")
def taken_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the example as a folder in it, and nothing else changed."""
    home = tmp_path_factory.mktemp("taken_in")
    skipped = shutil.ignore_patterns("__pycache__", "results", "site", ".*")
    for name in ("src", "tests", "tools", "docs", "benchmarks", "examples"):
        shutil.copytree(ROOT / name, home / name, ignore=skipped)
    for name in ("pyproject.toml", "mkdocs.yml", "README.md", "README.zh-CN.md"):
        shutil.copy(ROOT / name, home)
    package = home / "src" / "cloudarena"
    folder = package / "scenarios" / "admission"
    shutil.copytree(EXAMPLES / "admission", folder, ignore=skipped)
    (folder / "catalogue").rename(package / "catalogue" / "admission")
    for file in folder.glob("*.py"):
        text = re.sub(r"^from admission", f"from {KINDS}.admission", file.read_text(), flags=re.M)
        file.write_text(text)
    return home


def run_tests(home: Path, *words: str) -> None:
    """Runs tests of the copy, those of the new kind alone."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
        env={**os.environ, "PYTHONPATH": str(home / "src")},
        cwd=home,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr


def test_as_a_folder_of_the_package_it_changes_no_other_file(taken_in: Path) -> None:
    """The tests of all kinds find it: those that compile little here, all in the slow one."""
    files = ("test_rooms.py", "cli/test_trace_sources.py", "scenarios/test_specs_are_light.py")
    run_tests(taken_in, "-k", "admission", *(f"tests/{file}" for file in files))


@pytest.mark.slow
def test_as_a_folder_of_the_package_it_passes_all_tests_of_a_kind(taken_in: Path) -> None:
    run_tests(taken_in, "-k", "admission", "tests")


@pytest.mark.parametrize("name", ["My", "1st", "a-b", "cloudarena", "a__b", ""])
def test_names_that_python_could_not_import_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(CloudarenaError, match="lower-case words joined by underscores"):
        write_scenario(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(CloudarenaError, match="exists already"):
        write_scenario("mine", tmp_path)
