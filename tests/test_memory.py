"""How much memory there is, asked before a run takes it."""

from __future__ import annotations

import pytest

from cloudarena.base import memory
from cloudarena.base.errors import SpecError
from cloudarena.base.memory import available_bytes, check_memory


def test_there_is_some_memory_and_what_fits_is_allowed() -> None:
    assert available_bytes() > 1e8
    check_memory(1e6, "workload.vms: 10")


def test_what_does_not_fit_says_how_much_it_needs_and_how_much_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "_of_machine", lambda: 24e9)
    monkeypatch.setattr(memory, "_of_group", lambda: 8e9)
    with pytest.raises(
        SpecError,
        match=r"^workload.vms: 9: is not allowed: it needs about 16.0 GB of memory: 8.0 GB are",
    ):
        check_memory(16e9, "workload.vms: 9")
