"""DeepJS: ten jobs of Alibaba on five machines, with the controls that the paper left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.statistics import interval
from cloudarena.catalogue import load
from cloudarena.contract.learned import LearnedPolicy
from cloudarena.reproduce.entry import (
    Entry,
    Findings,
    Row,
    Settings,
    control,
    find,
    rival,
)
from cloudarena.scenarios.jobs import WindowRuns

FILE = "alibaba-2017-jobs.csv"
CHUNK, MACHINES, CORES, MEMORY = 10, 5, 64, 1
TESTED = 320
LONGEST_FIRST, LEARNED = "ljf", "learned:alibaba"
RIVALS = {"first-fit": 239 / TESTED, "tetris": 239 / TESTED}
"""The share of chunks on which DeepJS was published to be shorter."""
EVERY = 8
"""One of so many chunks is run in quick settings."""
DOWNLOAD = (
    f"{FILE}: the list of jobs of github.com/RobertLuoYH/CloudSimPy or RobertLexis/CloudSimPy "
    "(playground, jobs_files/jobs.csv), Alibaba's cluster trace of 2017. Name its folder by --data."
)


def spec_of(path: Path, machines: int = MACHINES) -> dict[str, Any]:
    """The cluster with the whole list as its workload."""
    return {
        "scenario": "jobs",
        "machines": [{"count": machines, "cpu": CORES, "memory": MEMORY}],
        "known": ["durations"],
        "workload": {"source": "cloudsimpy-csv", "path": str(path)},
    }


class Chunks:
    """Chunks of ten jobs of a workload, the last of which may be shorter."""

    def __init__(self, spec: dict[str, Any], seed: int = 0) -> None:
        self.scenario: Any = load(spec)
        self.spec, self.seed = spec, seed
        self.workload = self.scenario.load_workload(seed)
        self.capacity = np.array([CORES, MEMORY], float) * spec["machines"][0]["count"]
        self.count = -(-len(self.workload.submit) // CHUNK)

    def runs(self, policy: str | LearnedPolicy) -> WindowRuns:
        """Runs of windows under a policy."""
        return WindowRuns(self.scenario, policy, self.seed)

    def makespans(self, runs: WindowRuns, chunks: Sequence[int], rows: Any = None) -> Floats:
        """The makespan of each chunk, (rows of parameters, chunks)."""
        whole = [k for k in chunks if (k + 1) * CHUNK <= runs.jobs]
        found = runs.measure(np.array(whole) * CHUNK, CHUNK, rows).makespan_s
        if len(whole) < len(chunks):  # the last one
            first = chunks[-1] * CHUNK
            rest = runs.measure([first], runs.jobs - first, rows).makespan_s
            found = np.concatenate((found, rest), axis=1)
        return found

    def bound(self, chunk: int) -> float:
        """No makespan is shorter: some task's end, or the work from some arrival on."""
        work, bound = np.zeros(2), 0.0
        first = chunk * CHUNK
        load = self.workload
        for job in range(min(first + CHUNK, len(load.submit)) - 1, first - 1, -1):
            own = slice(load.first_task[job], load.first_task[job + 1])
            seconds = (load.instances[own] * load.duration[own])[:, None] * load.demand[own, :2]
            work += seconds.sum(axis=0) / self.capacity
            after = load.submit[job] - load.submit[first]
            bound = max(bound, after + load.duration[own].max(), after + work.max())
        return float(bound)

    def instances(self, chunk: int) -> int:
        """How many instances a chunk has."""
        load = self.workload
        last = min((chunk + 1) * CHUNK, len(load.submit))
        return int(load.instances[load.first_task[chunk * CHUNK] : load.first_task[last]].sum())

    def bounds(self, chunks: Sequence[int]) -> Floats:
        """The bounds of chunks."""
        return np.array([self.bound(chunk) for chunk in chunks])


def _shorter(mine: Floats, theirs: Floats, policy: str, theirs_of: str) -> Row:
    """The share of chunks on which a policy is shorter, beside that of DeepJS."""
    share = interval((mine < theirs).astype(float))
    cell = f"share of chunks shorter than {theirs_of}: {policy}"
    return rival(cell, RIVALS[theirs_of], share, lower=False)


def rows_of(chunks: Chunks, tested: Sequence[int]) -> list[Row]:
    """The rows on these chunks."""
    policies = ("random", LONGEST_FIRST, LEARNED)
    found = {name: chunks.makespans(chunks.runs(name), tested)[0] for name in (*RIVALS, *policies)}
    rows = [
        _shorter(found[policy], found[other], policy, other)
        for other in RIVALS
        for policy in policies
    ]
    rows += [control(f"mean makespan, s: {name}", interval(found[name])) for name in found]
    rows.append(control("mean lower bound, s", interval(chunks.bounds(tested))))
    for name in found:
        if name != LEARNED:
            less = interval(found[name] - found[LEARNED])
            rows.append(control(f"{LEARNED} is shorter than {name} by, s", less))
    return rows


def _run(settings: Settings) -> Findings:
    """Runs the last 320 chunks, or every eighth of them."""
    path = find(settings, FILE)
    if path is None:
        return Findings((), missing=DOWNLOAD)
    chunks = Chunks(spec_of(path))
    tested = range(chunks.count - TESTED, chunks.count, 1 if settings.full else EVERY)
    why = [
        "The paper compares its network with first-fit and Tetris alone. Random placement has most "
        "of its wins, and the longest task first has more: the controls were missing.",
        "DeepJS itself was not trained again, and ours are the rules of this kernel, not "
        "CloudSimPy's ticks of a second; a share of wins says nothing of margins.",
        f"{LEARNED} was trained on the first 200 chunks; docs/learned.md says what was looked at.",
    ]
    return Findings(rows_of(chunks, tested), why)


ENTRY = Entry(
    "deepjs",
    "Ten jobs of Alibaba on five machines",
    "Li and Hu, DeepJS, 2019, and its code CloudSimPy: on the last 320 chunks the makespan is "
    "shorter than first-fit's on 239, equal on 36; than Tetris's on 239, equal on 37.",
    "Chunks of ten jobs in a row of Alibaba's list of 2017 on five machines of 64 cores, durations "
    "known; the last 320 chunks, every eighth of them unless in full. Published is the share of "
    "chunks on which DeepJS is shorter, ours the share of each policy with its 95 % interval: "
    "better means a larger share, and that the published one is outside of the interval. "
    "Differences in seconds are paired.",
    _run,
)
