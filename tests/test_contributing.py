"""The steps of CONTRIBUTING.md do what they say, on a copy of the package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^ *```python\n( *)# (src/\S+\.py)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SERIES = "from cloudarena.workloads.tiers.series import"
RANDOM = "from cloudarena.optimizers.methods.random_search import"
REGISTERED = {
    "src/cloudarena/scenarios/tiers/sources.py": [
        (SERIES, f"from cloudarena.workloads.tiers.minutes import Minutes\n{SERIES}"),
        ("Pieces | Series", "Pieces | Minutes | Series"),
    ],
    "src/cloudarena/optimizers/methods/__init__.py": [
        (RANDOM, f"from cloudarena.optimizers.methods.coin import coin\n{RANDOM}"),
        ("    *(auto,", "    *(coin, auto,"),
    ],
    "src/cloudarena/cli/app.py": [('    "new":', '    "kinds": "kinds:kinds",\n    "new":')],
}
"""The lines that register what was added, as the steps say in words."""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with all that the steps add."""
    home = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", home / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for indent, path, code in BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text()):
        file = home / path
        before = file.read_text() + "\n\n" if file.exists() else ""
        file.write_text(before + textwrap.dedent(indent + code.removeprefix(indent)))
    for path, lines in REGISTERED.items():
        text = (home / path).read_text()
        for old, new in lines:
            assert text.count(old) == 1, f"{path}: {old!r}"
            text = text.replace(old, new)
        (home / path).write_text(text)
    return home


def run(home: Path, *words: str) -> str:
    """What ``cloudarena`` prints in the copy."""
    done = subprocess.run(
        [sys.executable, "-m", "cloudarena", *words],
        env={**os.environ, "PYTHONPATH": str(home / "src")},
        cwd=home,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_policy(changed: Path) -> None:
    assert json.loads(run(changed, "policies", "vm", "--json"))["emptiest"] == (
        "The valid machine with the fewest VMs."
    )
    ran = json.loads(run(changed, "run", "vm/toy", "--policy", "emptiest:ties=random", "--json"))
    assert ran["metrics"]["unserved_share"] == pytest.approx(1 / 3)


def test_a_metric(changed: Path) -> None:
    metrics = json.loads(run(changed, "run", "vm/toy", "--json"))["metrics"]
    assert metrics["energy_j"] == pytest.approx(3.6e6 * metrics["energy_kwh"])


def test_a_reader(changed: Path) -> None:
    (changed / "day.csv").write_text("minute,requests\n0,60\n1,120\n")
    shown = json.loads(run(changed, "trace", "describe", "day.csv", "--json"))
    assert shown["day.csv"]["requests_expected"] == 180
    run(changed, "trace", "convert", "minutes", "day.csv", "--seconds", "120", "--out", "made")
    assert (changed / "made" / "rates.parquet").exists()


def test_a_method(changed: Path) -> None:
    assert "--draws" in run(changed, "optimize", "--method", "coin", "--help")
    words = ["tiers/rubis-hour", "--method", "coin", "--evaluations", "6", "--workers", "1"]
    found = json.loads(run(changed, "optimize", *words, "--json"))
    assert found["method"] == "coin"
    assert found["evaluations"] == 6


def test_a_command(changed: Path) -> None:
    assert "kinds" in run(changed, "--help")
    assert set(json.loads(run(changed, "kinds", "--json"))) >= {"vm", "jobs"}
