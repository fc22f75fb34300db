"""``cloudarena run``"""

from __future__ import annotations

from typing import Annotated

import typer

from cloudarena.cli.options import (
    Json,
    Metrics,
    Out,
    Overrides,
    Seed,
    Spec,
    own_metrics,
    people,
    print_json,
    show_warnings,
)


def run(
    spec: Spec,
    policy: Annotated[
        str | None,
        typer.Option(metavar="P", help="A name, replay:FILE, or FILE.py:FUNCTION of your own."),
    ] = None,
    seed: Seed = 0,
    overrides: Overrides = None,
    metrics: Metrics = None,
    record: Annotated[
        str | None, typer.Option(help="none, summary or full; as the spec says by default.")
    ] = None,
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
    result = simulate(scenario, policy, seed)
    if out is not None:
        result.save(out)
    if as_json:
        print_json(result.summary())
        return
    from cloudarena.report.terminal import result_table

    people().print(result_table(result, scenario))
    if out is not None:
        files = f"{out}/report.html, metrics.json and {len(result.tables)} tables"
        people().print(f"wrote {files}", highlight=False)
