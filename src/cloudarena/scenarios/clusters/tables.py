"""The tables of a clusters run. Times are seconds from the start of the run."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cloudarena.base.arrow import arrow_column, arrow_table
from cloudarena.scenarios.clusters.policies.model.stages import least_similarity, similarities

if TYPE_CHECKING:
    from cloudarena.scenarios.clusters.run import ClustersRun


def make_tables(run: ClustersRun) -> dict[str, pa.Table]:
    """All tables; ``work`` only with full recording."""
    tables = {
        "stages": stages_table(run),
        "batches": batches_table(run),
        "decisions": decisions_table(run),
    }
    if run.scenario.clusters:
        tables["clusters"] = clusters_table(run)
    if run.scenario.failures is not None:
        tables["outages"] = outages_table(run)
    if run.record == "full":
        tables["work"] = work_table(run)
    return tables


def stages_table(run: ClustersRun) -> pa.Table:
    """One row per stage: when, how busy, and how alike the batches that arrived in it are."""
    stages, batches = run.stages, run.batches
    begin = np.array([stage.begin for stage in stages])
    end = np.array([stage.end for stage in stages])
    edges = np.searchsorted(batches.times, np.append(begin, np.inf))
    parts = [batches.tasks[a:b] for a, b in itertools.pairwise(edges)]
    shares = np.array([stage.plan.shares for stage in stages], np.int64)
    shares = shares.reshape(len(stages), len(run.scenario.classes))  # also before the first stage
    columns = {
        "stage": np.arange(len(stages)),
        "begin_s": begin,
        "end_s": end,
        "length_s": end - begin,
        "planned_s": np.array([stage.plan.length_s for stage in stages]),
        "thinking_s": np.array([stage.thinking_s for stage in stages]),
        "batches": np.diff(edges),
        "arrived_tasks": np.array([part.sum() for part in parts], np.int64),
        "backlog_tasks": np.array([stage.backlog for stage in stages]),
        "done_tasks": np.array([stage.done for stage in stages]),
        "least_similarity": np.array([least_similarity(part) for part in parts]),
    }
    for c, one in enumerate(run.scenario.classes):
        columns[f"vms_{one.name}"] = shares[:, c]
    return arrow_table(columns)


def batches_table(run: ClustersRun) -> pa.Table:
    """One row per batch: how like the one before it is, the stage it came in, when it was done."""
    batches, tasks = run.batches, run.batches.tasks.astype(np.float64)
    begins = np.array([stage.begin for stage in run.stages])
    before = similarities(tasks[1:], tasks[:-1])
    stage = np.searchsorted(begins, batches.times, side="right") - 1
    return arrow_table(
        {
            "batch": np.arange(len(batches.times)),
            "time_s": batches.times,
            "stage": arrow_column(stage, mask=stage < 0),
            "tasks": batches.tasks.sum(axis=1),
            "similarity": np.concatenate(([1.0], before)),
            "finish_s": np.fmax.reduce(run.world.finish, axis=1),
        }
    )


def decisions_table(run: ClustersRun) -> pa.Table:
    """One row per decision and class: a file for ``--policy replay:FILE``."""
    names = [one.name for one in run.scenario.classes]
    plans = [taken.plan for taken in run.plans]
    return arrow_table(
        {
            "decision": np.repeat(np.arange(len(plans)), len(names)),
            "time_s": np.repeat([taken.time for taken in run.plans], len(names)),
            "class": arrow_column(names * len(plans)),
            "vms": np.array([plan.shares for plan in plans], np.int64).ravel(),
            "length_s": np.repeat([plan.length_s for plan in plans], len(names)),
            "evaluations": np.repeat([plan.evaluations for plan in plans], len(names)),
        }
    )


def clusters_table(run: ClustersRun) -> pa.Table:
    """One row per virtual cluster: what its own VMs did for its own classes."""
    return pa.Table.from_pylist([one._asdict() for one in run.clusters])


def outages_table(run: ClustersRun) -> pa.Table:
    """One row per time that a VM was down: its number, from when, and until when."""
    found = [one for one in run.outages if one.begin < run.now]
    return arrow_table(
        {
            "vm": np.array([one.vm for one in found], np.int64),
            "begin_s": np.array([one.begin for one in found], np.float64),
            "end_s": np.array([one.end for one in found], np.float64),
        }
    )


def work_table(run: ClustersRun) -> pa.Table:
    """One row per batch and class: its tasks, what was drawn for them, when they were served."""
    world, names = run.world, [one.name for one in run.scenario.classes]
    count = len(run.batches.times)
    return arrow_table(
        {
            "batch": np.repeat(np.arange(count), len(names)),
            "time_s": np.repeat(run.batches.times, len(names)),
            "class": arrow_column(names * count),
            "tasks": run.batches.tasks.ravel(),
            "seconds": world.seconds.ravel(),
            "memory_mb": world.memory_mb.ravel(),
            "start_s": world.start.ravel(),
            "finish_s": world.finish.ravel(),
        }
    )
