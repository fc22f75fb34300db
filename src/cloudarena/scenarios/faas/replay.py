"""Decisions from a file."""

from __future__ import annotations

from collections import defaultdict, deque
from pathlib import Path
from typing import Any

import pyarrow as pa

from cloudarena.errors import PolicyError
from cloudarena.scenarios.faas.build_network import build_ground
from cloudarena.scenarios.faas.names import NONE
from cloudarena.scenarios.faas.policies import policy
from cloudarena.workloads.columns import check_filled, place, read_columns


@policy.replay
class Replay:
    """Decisions from a file: columns time_s, decision, function, node, replicas.

    ``place`` has a node, ``scale`` a number of replicas. A function whose scaler is due and that
    has no row for it keeps its replicas. The ``decisions`` table of any run is such a file.
    """

    def __init__(self, path: Path) -> None:
        self.name = f"replay:{path}"
        self._path = path
        types = {"time_s": pa.float64(), "decision": pa.string(), "function": pa.string()}
        self._rows = read_columns(path, types, {"node": pa.string(), "replicas": pa.int64()})
        check_filled(path, self._rows, types)
        self._actions: dict[tuple[str, str], deque[tuple[float, int]]] = {}

    def start(self, scenario: Any, seed: int) -> None:
        """Finds the functions and nodes of the file in the scenario."""
        ground = build_ground(scenario, seed)
        nodes = {name: k for k, name in enumerate(ground.names[: len(ground.devices)])}
        functions = {function.name for function in scenario.functions}
        self._actions = defaultdict(deque)
        for number, row in enumerate(self._rows.to_pylist()):
            kind, function, time = row["decision"], row["function"], row["time_s"]
            key, known = ("node", nodes) if kind == "place" else ("replicas", None)
            where, value = place(self._path, number), row.get(key)
            if kind not in ("place", "scale"):
                raise PolicyError(f"{where}: decision: {kind!r} is not allowed: place or scale")
            if function not in functions:
                raise PolicyError(f"{where}: function: {function!r} is not in the scenario")
            if value is None or (known is not None and value not in known):
                raise PolicyError(f"{where}: {key}: {value!r} is not in the scenario")
            line = self._actions[kind, function]
            if line and not time >= line[-1][0]:
                raise PolicyError(
                    f"{where}: time_s: {time:g} is not allowed: at least {line[-1][0]:g}, as before"
                )
            line.append((time, value if known is None else known[value]))

    def __call__(self, decision: Any) -> int:
        """What the file says for this function now; else it waits, or keeps its replicas."""
        line = self._actions.get((decision.kind, decision.function))
        if line and line[0][0] < decision.now:
            raise PolicyError(
                f"{self._path}: {decision.kind} at {line[0][0]!r} s is not allowed: "
                f"{decision.function} was not asked for it then"
            )
        if line and line[0][0] == decision.now:
            return line.popleft()[1]
        return NONE if decision.kind == "place" else int(decision.scaling.replicas)
