"""The beginning of a kind of scenario of one's own: the queue of the examples, renamed."""

from __future__ import annotations

import re
from pathlib import Path

from cloudarena.base.errors import CloudarenaError
from cloudarena.base.files import written_folder

ORIGINAL = "admission"
HOMES = (
    Path(__file__).parents[1] / "templates" / ORIGINAL,
    Path(__file__).parents[3] / "examples" / ORIGINAL,
)
"""Where the example is: in an installed package, and in a checkout of the project."""
PROJECT = """[build-system]
requires = ["hatchling>=1.24"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "0.1.0"
dependencies = ["cloudarena"]

[project.entry-points."cloudarena.kinds"]
{kind} = "{name}:KIND"
"""
FACTS = {
    "PKG-INFO": "Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n",
    "entry_points.txt": "[cloudarena.kinds]\n{kind} = {name}:KIND\n",
}
"""What an installed package says of itself: beside the package, Python finds its kind at once."""
TEST = '''"""The kind passes the public checks."""

import pytest

from cloudarena.testing import yield_checks


@pytest.mark.parametrize("check", yield_checks("{kind}"), ids=str)
def test_{name}(check):
    check.run()
'''


def write_scenario(name: str, folder: Path) -> Path:
    """Writes a project with a package of that name; returns its folder."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or name == "cloudarena":
        raise CloudarenaError(
            f"NAME: {name!r} is not allowed: lower-case words joined by underscores"
        )
    target = folder / name
    if target.exists():
        raise CloudarenaError(f"{target}: exists already")
    home = next((one for one in HOMES if one.is_dir()), None)
    if home is None:
        raise CloudarenaError("the example to begin from is not installed")
    kind = name.replace("_", "-")
    with written_folder(target) as draft:
        for file in sorted(home.rglob("*")):
            if file.suffix not in (".py", ".yaml") or file.parent.name == "__pycache__":
                continue
            there = draft / name / file.relative_to(home)
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_text(_renamed(file.read_text(encoding="utf-8"), name, kind))
        (draft / "pyproject.toml").write_text(PROJECT.format(name=name, kind=kind))
        (draft / f"test_{name}.py").write_text(TEST.format(name=name, kind=kind))
        (draft / f"{name}.egg-info").mkdir()
        for file_name, text in FACTS.items():
            (draft / f"{name}.egg-info" / file_name).write_text(text.format(name=name, kind=kind))
    return target


def _renamed(text: str, name: str, kind: str) -> str:
    """A file of the example under another name."""
    title = "".join(part.capitalize() for part in name.split("_"))
    text = text.replace(ORIGINAL.capitalize(), title)
    text = re.sub(rf'"{ORIGINAL}(/[a-z]+)?"', lambda m: f'"{kind}{m[1] or ""}"', text)
    text = re.sub(rf"scenario: {ORIGINAL}\b", f"scenario: {kind}", text)
    return re.sub(rf"\b(from|import) {ORIGINAL}\b", rf"\1 {name}", text)
