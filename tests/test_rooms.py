"""Every kind of scenario has the same rooms, and no others."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

from cloudarena.contract import ROOMS
from cloudarena.scenarios import kinds


@pytest.mark.parametrize("kind", kinds())
def test_a_kind_has_exactly_the_rooms(kind: str) -> None:
    package = import_module(kinds()[kind].package)
    assert {module.name for module in pkgutil.iter_modules(package.__path__)} == set(ROOMS)


@pytest.mark.parametrize("kind", kinds())
def test_a_spec_is_a_pure_description(kind: str) -> None:
    """To validate what a user wrote needs no compiler and no tables."""
    program = (
        "import sys, cloudarena\n"
        f"cloudarena.load({kinds()[kind].example!r})\n"
        "print(sorted({'numba', 'pyarrow', 'scipy', 'gymnasium'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
