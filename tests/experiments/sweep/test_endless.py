"""A policy whose compiled code never ends costs one run and one worker process."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloudarena.base.parallel import LocalExecutor
from cloudarena.experiments.sweep.results import open_results
from cloudarena.experiments.sweep.run import sweep

ENDLESS = """
def endless(pms, vm, rng):
    while rng.random() >= 0.0:
        pass
    return 0
"""


@pytest.mark.slow
def test_compiled_code_that_never_ends_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(ENDLESS)
    source = {"spec": "vm/toy", "policies": [f"{tmp_path / 'mine.py'}:endless", "best-fit"]}
    with LocalExecutor(1) as pool:
        outcome = sweep({**source, "replications": 2}, tmp_path / "s", executor=pool, timeout_s=30)
    found = open_results(tmp_path / "s")
    assert (outcome.ran, outcome.failed) == (4, 2)
    assert found.arrow()["policy"].to_pylist() == ["best-fit"] * 2
    errors = set(found.failures()["error"].to_pylist())
    assert errors == {"it took longer than 30 s (--timeout)"}
