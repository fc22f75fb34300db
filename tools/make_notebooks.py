"""Writes the notebooks of the six kinds: ``python tools/make_notebooks.py``.

A notebook is made here, so that its cells are reviewed as text and have no stored output; a test
runs them, and CI does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / "examples" / "notebooks"


class Tour(NamedTuple):
    """What the notebook of a kind shows."""

    question: str
    example: str
    changes: str
    """What makes the example small."""
    policies: tuple[str, ...]
    metric: str
    table: str
    own: str
    """A policy of one's own, called ``mine``, and a sentence about it before it."""


TOURS = {
    "vm": Tour(
        "Which machine takes a VM?",
        "vm/azure-like-10k",
        '{"ticks": 288, "workload.vms": 600, "workload.concurrent": 100, "machines[0].count": 12}',
        ("best-fit", "first-fit", "random"),
        "energy_kwh",
        "machines",
        '''def mine(pms, vm, rng):
    """The valid machine with the most VMs."""
    best = -2  # wait
    for m in range(len(pms.valid)):
        if pms.valid[m] and (best < 0 or pms.vms[m] > pms.vms[best]):
            best = m
    return best''',
    ),
    "jobs": Tour(
        "Which machine runs which task of batch jobs?",
        "jobs/alibaba-like-10",
        '{"workload.jobs": 10}',
        ("first-fit", "sjf", "tetris"),
        "completion_mean_s",
        "jobs",
        '''def mine(decision):
    """The first pair of a task and a machine that fit."""
    rows, machines = decision.fits.nonzero()
    return int(decision.ready[rows[0]]), int(machines[0])''',
    ),
    "workflow": Tour(
        "Where do the functions of serverless workflows run?",
        "workflow/toy",
        "{}",
        ("earliest-finish", "cheapest", "random"),
        "rent_usd",
        "functions",
        "",
    ),
    "faas": Tour(
        "Where do replicas of functions run, at the edge and in the cloud?",
        "faas/edge-energy",
        '{"duration_s": 120}',
        ("highest-performance", "kubernetes", "energy-efficiency"),
        "energy_j_per_invocation",
        "functions",
        "",
    ),
    "tiers": Tour(
        "How many VMs does each tier of a service get, minute by minute?",
        "tiers/rubis-hour",
        '{"duration_s": 900}',
        ("model-based", "utilisation", "static"),
        "total_cost_usd",
        "periods",
        "",
    ),
    "clusters": Tour(
        "Which share of the VMs does each class of tasks get?",
        "clusters/hfhc",
        '{"workload.batches": 20}',
        ("mean-optimum", "proportional", "equal"),
        "makespan_s",
        "stages",
        "",
    ),
}


def cells(kind: str, tour: Tour) -> list[tuple[str, str]]:
    """The cells of a notebook: whether code or words, and the text."""
    head = (
        f"# {kind}\n\n{tour.question} The spec is in docs/{kind}.md, policies in docs/reference.md."
    )
    first, *_ = tour.policies
    found = [
        ("markdown", head),
        ("code", "import cloudarena"),
        ("markdown", "## A scenario, made small\n\nA name of the catalogue, a file or a dict."),
        ("code", f"scenario = cloudarena.load({tour.example!r}, {tour.changes})\nscenario"),
        ("markdown", "## One run\n\nMetrics, and tables of Arrow."),
        ("code", f"result = cloudarena.simulate(scenario, {first!r}, seed=0)\nresult"),
        ("code", f"result.metrics[{tour.metric!r}]"),
        ("code", f"result.tables[{tour.table!r}].slice(0, 5).to_pylist()"),
        ("markdown", "## A comparison\n\nThe same work for all, intervals, and a sentence."),
        ("code", f"comparison = cloudarena.compare(\n    scenario, {list(tour.policies)!r}, "
                 "replications=3, workers=1\n)\ncomparison"),
        ("code", "print(*comparison.sentences(), sep='\\n')"),
    ]  # fmt: skip
    if tour.own:
        found += [
            ("markdown", "## A policy of your own"),
            ("code", tour.own),
            ("code", f"cloudarena.simulate(scenario, mine, seed=0).metrics[{tour.metric!r}]"),
        ]
    return found


def notebook(kind: str) -> str:
    """The notebook of a kind in format 4.5, without outputs."""
    made = []
    for k, (what, text) in enumerate(cells(kind, TOURS[kind])):
        lines = text.splitlines(keepends=True)
        cell = {"cell_type": what, "id": f"{kind}-{k}", "metadata": {}, "source": lines}
        made.append({**cell, "execution_count": None, "outputs": []} if what == "code" else cell)
    python = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    whole = {"cells": made, "metadata": python, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in TOURS:
        (FOLDER / f"{name}.ipynb").write_text(notebook(name))
