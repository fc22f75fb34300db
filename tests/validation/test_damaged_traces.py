"""Damaged traces are refused in a line that names the file, or read: no traceback, no hang."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cloudarena.cli.trace import known_sources

from .damaged_traces import SAMPLES, attempt, sound
from .test_absurd_specs import tried

PROGRAM = Path(__file__).with_name("damaged_traces.py")


def wrong(sample: str, seed: int, count: int) -> list[dict[str, Any]]:
    """The damages that ended in anything but a refusal or a trace."""
    found = tried(sample, seed, count, PROGRAM)
    assert len(found) == count
    return [one for one in found if one["outcome"] not in ("read", "refused")]


def test_every_format_has_a_sample() -> None:
    found = known_sources(generators=False)
    names = {f"{one.kind.name}/{name}" for name, several in found.items() for one in several}
    assert set(SAMPLES) == names


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_few_damages(sample: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [])
    whole = sound(sample)
    found = [attempt(sample, whole, 1, number) for number in range(20)]
    assert [one for one in found if one["outcome"] not in ("read", "refused")] == []
    assert {one["outcome"] for one in found} == {"read", "refused"}


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES)
def test_many_damages(sample: str) -> None:
    assert wrong(sample, seed=2, count=1000) == []
