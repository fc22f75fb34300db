"""Decisions from a file."""

from __future__ import annotations

from pathlib import Path

from admission.decision import AdmissionDecision
from cloudarena.base.arrow import pa
from cloudarena.scenarios.replay import DecisionFile


class Replay(DecisionFile):
    """Decisions from a file with columns customer and action; the table of a run is such a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, {"customer": pa.int64(), "action": pa.int64()})
        self._actions = {row["customer"]: row["action"] for _, row in self._rows()}

    def __call__(self, decision: AdmissionDecision) -> int:
        """The file's action for this customer."""
        customer = decision.arrival.customer
        if customer not in self._actions:
            raise self._error(f"has no decision for customer {customer}")
        return int(self._actions[customer])
