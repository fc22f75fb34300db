"""Specs with absurd values are refused in a line, or run to numbers: no traceback, no hang."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from cloudarena import catalogue
from cloudarena.scenarios import kind_named, kinds

PROGRAM = Path(__file__).with_name("absurd_specs.py")
PATIENCE_S = 120.0
"""For how long a spec may run before it counts as one that never ends."""


def tried(name: str, seed: int, count: int, program: Path = PROGRAM) -> list[dict[str, Any]]:
    """What came of a number of tries of a program; one that hangs or dies is passed over."""
    found: list[dict[str, Any]] = []
    first = 0
    while first < count:
        process = subprocess.Popen(
            [sys.executable, str(program), name, str(seed), str(count), str(first)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_read, args=(process, lines), daemon=True).start()
        last: dict[str, Any] | None = None
        try:
            while (line := lines.get(timeout=PATIENCE_S)) is not None:
                last = json.loads(line)
                if last["outcome"] != "began":
                    found.append(last)
            ending = "died"
        except queue.Empty:
            process.kill()
            ending = "hung"
        errors = process.communicate()[1]
        if last is None:
            raise AssertionError(f"{name} could not be tried: {errors[-2000:]}")
        if last["outcome"] == "began":
            found.append({**last, "outcome": ending})
        elif process.returncode == 0:
            break
        first = last["number"] + 1
    return found


def _read(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def wrong(name: str, seed: int, count: int) -> list[dict[str, Any]]:
    """The changes that ended in anything but a refusal or a run."""
    return [one for one in tried(name, seed, count) if one["outcome"] not in ("ran", "refused")]


@pytest.mark.parametrize("kind", kinds())
def test_a_few_absurd_specs(kind: str) -> None:
    assert wrong(kind_named(kind).example, seed=1, count=60) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.names())
def test_many_absurd_specs(name: str) -> None:
    assert wrong(name, seed=2, count=1500) == []
