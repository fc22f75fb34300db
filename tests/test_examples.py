"""The examples run, and print what is stored beside them (``make examples`` stores it again)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
LONGEST = 60
"""Lines of an example: more is a program."""


def names() -> list[str]:
    """The examples that are programs."""
    return sorted(file.stem for file in EXAMPLES.glob("*.py"))


def output(name: str) -> str:
    """What an example prints."""
    paths = os.pathsep.join([str(EXAMPLES), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", names())
def test_an_example_prints_what_is_stored(name: str) -> None:
    assert output(name) == (EXAMPLES / f"{name}.out").read_text()


@pytest.mark.parametrize("name", names())
def test_an_example_is_short_and_says_what_it_shows(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    assert len(text.splitlines()) < LONGEST
    assert text.startswith('"""')


def test_there_is_an_example_for_each_thing_of_ones_own() -> None:
    assert {"own_policy", "own_metric", "own_trace", "own_scenario"} <= set(names())


if __name__ == "__main__":
    for _name in names():
        (EXAMPLES / f"{_name}.out").write_text(output(_name))
