"""What the golden record needs of cloudarena: names that a refactoring moves are mended here."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import signal
import sys
from typing import Any

import cloudarena
from cloudarena import CloudarenaError as CloudarenaError


def one_of(*names: str) -> Any:
    """The first of some names, ``module:attribute`` or a module, that there is."""
    for name in names:
        module, _, attribute = name.partition(":")
        with contextlib.suppress(ImportError, AttributeError):
            found = importlib.import_module(f"cloudarena.{module}")
            return getattr(found, attribute) if attribute else found
    raise ImportError(f"none of {', '.join(names)} is there")


def command_json(*words: str) -> Any:
    """The JSON object that a command prints."""
    shown, complaint, given = io.StringIO(), io.StringIO(), sys.argv
    code: Any = 0
    sys.argv = ["cloudarena", *words, "--json"]
    try:
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(complaint):
            one_of("cli:main")()
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv = given
        for number in (signal.SIGTERM, signal.SIGHUP):  # the command line listens to them
            signal.signal(number, signal.SIG_DFL)
    if code:
        raise CloudarenaError(complaint.getvalue().strip() or f"exit code {code}")
    return json.loads(shown.getvalue())


def entries() -> list[str]:
    """The names of the catalogue."""
    return sorted(command_json("scenarios"))


def policies(kind: str) -> list[str]:
    """The built-in policies of a kind."""
    return list(command_json("policies", kind))


def stepped(scenario: Any, policy: str, seed: int) -> Any:
    """The result of a run that asks the policy decision by decision."""
    book = getattr(scenario, "book", None) or scenario.kind.policies
    chosen = book.resolve(policy)
    if hasattr(chosen, "start"):
        chosen.start(scenario, seed)
    run = scenario.start(seed)
    while (decision := run.decision) is not None:
        run.apply(chosen(decision))
    return run.result()


def is_bound(value: Any) -> bool:
    """Whether a metric is only a lower bound."""
    return type(value).__name__ == "AtLeast"


def optimizers() -> Any:
    """The package of the optimisers: ``METHODS``, ``FunctionProblem``."""
    return one_of("optimizers", "optimize")


def cluster_model() -> Any:
    """The closed-form model of clusters."""
    return one_of(
        "scenarios.clusters.model:ClusterModel",
        "scenarios.clusters:ClusterModel",
        "optimizers:ClusterModel",
        "optimize:ClusterModel",
    )


def queueing() -> Any:
    """The package of queueing theory."""
    return one_of("queueing")


def load(name: str, changes: dict[str, Any] | None = None) -> Any:
    """A scenario of the catalogue."""
    return cloudarena.load(name, changes or {})


def simulate(scenario: Any, policy: str, seed: int, record: str | None = None) -> Any:
    """The result of a run at full speed."""
    if record is None:
        return cloudarena.simulate(scenario, policy, seed)
    return cloudarena.simulate(scenario, policy, seed, record=record)
