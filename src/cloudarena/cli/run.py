"""The command ``cloudarena run``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudarena.cli import complete
from cloudarena.cli.options import (
    Json,
    Metrics,
    Out,
    Overrides,
    Seed,
    Spec,
    own_metrics,
    print_json,
    show_importance,
    show_warnings,
    stdout,
)

if TYPE_CHECKING:
    from cloudarena.contract import Scenario
    from cloudarena.learn.explain import Importance
    from cloudarena.testing.invariants import Held


def run(
    spec: Spec,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="A name, replay:FILE, learned:FOLDER, or FILE.py:FUNCTION.",
            autocompletion=complete.policy,
        ),
    ] = None,
    seed: Seed = 0,
    overrides: Overrides = None,
    metrics: Metrics = None,
    record: Annotated[
        str | None,
        typer.Option(
            help="none, summary or full; as the spec says by default.",
            autocompletion=complete.words("none", "summary", "full"),
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Prints which features decide, of a learned policy.")
    ] = False,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Writes a timeline for ui.perfetto.dev or chrome://tracing."
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Verifies what every run promises, decision by decision."),
    ] = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """One run of one policy: its metrics, and its tables with --out.

    Example: cloudarena run vm/azure-like-10k --policy best-fit --seed 1 --out results
    """
    from cloudarena.base.errors import SpecError
    from cloudarena.catalogue import load
    from cloudarena.experiments.simulate import simulate

    show_warnings()
    changes = list(overrides or ())
    if record is not None:
        if record not in ("none", "summary", "full"):
            raise SpecError(f"--record: {record!r} is not allowed: one of none, summary, full")
        changes.append(f"record={record}")
    scenario = load(spec, changes).measuring(*own_metrics(metrics))
    if trace is not None:
        from cloudarena.base.files import check_writable

        check_writable(trace.parent)
    found = _explained(scenario, policy, seed) if explain else None
    result = simulate(scenario, policy, seed)
    held = _checked(scenario, policy, seed) if check else []
    if out is not None:
        result.save(out)
    if trace is not None:
        from cloudarena.base.files import write_text
        from cloudarena.report.trace_events import trace_events

        write_text(trace, trace_events(result, scenario.kind))
    if as_json:
        checks = {"checks": [one._asdict() for one in held]} if check else {}
        print_json({**result.summary(), **checks})
        return
    from cloudarena.report.terminal.run import result_table

    stdout().print(result_table(result, scenario))
    if found is not None:
        from cloudarena.report.pages.training import importance_rows

        show_importance(importance_rows(found))
    if check:
        numbers = ", ".join(sorted(one.number for one in held))
        looks = max(one.looks for one in held)
        line = f"checked: {numbers} of docs/invariants.md hold; {looks:,} decisions looked at"
        stdout().print(line, highlight=False)
    if out is not None:
        files = f"{out}/report.html, metrics.json and {len(result.tables)} tables"
        stdout().print(f"wrote {files}", highlight=False)
    if trace is not None:
        stdout().print(f"wrote {trace}: open it in ui.perfetto.dev", highlight=False)


def _checked(scenario: Scenario, policy: str | None, seed: int) -> list[Held]:
    """The promises that were verified."""
    from cloudarena.testing.invariants import check_run

    return check_run(scenario, policy, seed)


def _explained(scenario: Scenario, policy: str | None, seed: int) -> list[Importance]:
    """What decides in a learned policy: asked first, so that another policy is told at once."""
    from cloudarena.learn.explain import explain_policy

    named = policy or scenario.policy or scenario.kind.default_policy
    return explain_policy(scenario, named, seed)
