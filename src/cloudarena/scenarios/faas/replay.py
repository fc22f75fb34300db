"""Decisions from a file."""

from __future__ import annotations

from collections import defaultdict, deque
from pathlib import Path

import pyarrow as pa

from cloudarena.scenarios.faas.build.network import build_infrastructure
from cloudarena.scenarios.faas.decision import FaasDecision, PlaceDecision
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.state import NONE
from cloudarena.scenarios.replay import DecisionFile
from cloudarena.workloads.columns import check_filled


class Replay(DecisionFile):
    """Decisions from a file: columns time_s, decision, function, node, replicas.

    ``place`` has a node, ``scale`` a number of replicas. A function whose scaler is due and that
    has no row for it keeps its replicas. The ``decisions`` table of any run is such a file.
    """

    def __init__(self, path: Path) -> None:
        types = {"time_s": pa.float64(), "decision": pa.string(), "function": pa.string()}
        super().__init__(path, types, {"node": pa.string(), "replicas": pa.int64()})
        check_filled(path, self._table, types)
        self._actions: dict[tuple[str, str], deque[tuple[float, int]]] = {}

    def start(self, scenario: FaasScenario, seed: int) -> None:
        """Finds the functions and nodes of the file in the scenario."""
        infrastructure = build_infrastructure(scenario, seed)
        nodes = {
            name: k for k, name in enumerate(infrastructure.names[: len(infrastructure.devices)])
        }
        functions = {function.name for function in scenario.functions}
        self._actions = defaultdict(deque)
        for row, values in self._rows():
            kind, function, time = values["decision"], values["function"], values["time_s"]
            key, known = ("node", nodes) if kind == "place" else ("replicas", None)
            value = values.get(key)
            if kind not in ("place", "scale"):
                raise self._error(f"decision: {kind!r} is not allowed: place or scale", row)
            if function not in functions:
                raise self._error(f"function: {function!r} is not in the scenario", row)
            if value is None or (known is not None and value not in known):
                raise self._error(f"{key}: {value!r} is not in the scenario", row)
            line = self._actions[kind, function]
            if line and not time >= line[-1][0]:
                raise self._error(
                    f"time_s: {time:g} is not allowed: at least {line[-1][0]:g}, as before", row
                )
            line.append((time, value if known is None else known[value]))

    def __call__(self, decision: FaasDecision) -> int:
        """What the file says for this function now; else it waits, or keeps its replicas."""
        line = self._actions.get((decision.kind, decision.function))
        if line and line[0][0] < decision.now:
            raise self._error(
                f"{decision.kind} at {line[0][0]!r} s is not allowed: "
                f"{decision.function} was not asked for it then"
            )
        if line and line[0][0] == decision.now:
            return line.popleft()[1]
        if isinstance(decision, PlaceDecision):
            return NONE
        return decision.scaling.replicas
