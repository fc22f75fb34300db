"""Kinds, and files with a policy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.user_policies.written import KINDS, Kind


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each kind of scenario whose policies are compiled."""
    return KINDS[request.param]


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """Writes a policy into a file and gives its name for the command line."""

    def write(kind: Kind, body: str, value: str = "0") -> str:
        path = tmp_path / "mine.py"
        action = kind.action.format(value)
        body = body.format(array=kind.array, action=action)
        path.write_text(f"def mine({kind.arguments}):\n{body}\n")
        return f"{path}:mine"

    return write
