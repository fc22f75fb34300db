"""RLScheduler's table (SC 2020) beside ours: ``python -m benchmarks.rlscheduler --data FOLDER``.

FOLDER has the four logs in Standard Workload Format, plain or gzipped, under the names in ``LOGS``
(DIR-LAB/deep-batch-scheduler and the Parallel Workloads Archive). The protocol: ten windows of
1,024 jobs in a row, the same ten for all logs, on an empty cluster of as many processors as the
machine of the log; mean bounded slowdown of a window, mean over the ten. Jobs run as long as the
log says, 10 s if it does not say; they have the larger of allocated and requested processors; their
estimate is the requested time or, without one, the run time. Scheduling follows each event.

- ``table``, the default: the 40 published figures of heuristics and ours. WFP3 and UNI are there
  as published: by mistake with a waiting time of -1 s less the submission, and with a requested
  time of -1 s for the one job of the windows whose run time and requested time are not known. The
  exit code is 1 if one figure is off by more than 0.01.
- ``rules``: the rules that the table does not have, and WFP3 and UNI with the right waiting time.
- ``windows``: all rules on random windows, with medians and paired intervals against F1, since ten
  windows are few and their means are heavy-tailed.
- ``speed``: runs of 512 jobs per CPU second, under a linear score of eight features.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np

import cloudarena
from cloudarena.base.statistics import interval
from cloudarena.reproduce.batch_logs import (
    JOBS,
    LOGS,
    PUBLISHED,
    PUBLISHED_POLICIES,
    RULES,
    spec_of,
    ten_windows,
)
from cloudarena.scenarios.jobs import WindowRuns

SLICE, SHORT_WINDOW, LOG_WAIT = 10_000, 512, -0.2
"""What is run for speed: windows of so many of the first jobs, with a weight of the wait."""
LEEWAY = 0.01


def print_row(*cells: str) -> None:
    """A row of a table in Markdown."""
    print("| " + " | ".join(cells) + " |", flush=True)


def print_header(*cells: str) -> None:
    """The first two rows of a table in Markdown."""
    print_row(*cells)
    print_row(*("---" for _ in cells))


def table(folder: Path) -> int:
    """Prints the published figures and ours; 1 if one of them is off, else 0."""
    worst, count = 0.0, 0
    print_header("log", "backfill", *(f"{name}: published, ours" for name in PUBLISHED_POLICIES))
    for log, backfill, values in ten_windows(folder, tuple(PUBLISHED_POLICIES.values())):
        published = np.array(PUBLISHED[log.name, backfill])
        ours = values.mean(axis=0)
        worst, count = max(worst, float(np.abs(ours - published).max())), count + len(ours)
        pairs = zip(published, ours, strict=True)
        print_row(log.name, backfill, *(f"{theirs:.2f}, {mine:.2f}" for theirs, mine in pairs))
    print(f"\n{count} figures; the largest difference is {worst:.4f} (at most {LEEWAY} is allowed)")
    return int(worst > LEEWAY)


def rules(folder: Path) -> int:
    """Prints the means over the ten windows of all rules, right ones."""
    print_header("log", "backfill", *RULES)
    for log, backfill, values in ten_windows(folder, RULES):
        print_row(log.name, backfill, *(f"{mean:.2f}" for mean in values.mean(axis=0)))
    return 0


def windows(folder: Path, count: int) -> int:
    """Prints the medians of all rules over random windows, and their ratios to the first rule."""
    print(f"{count} windows of {JOBS} jobs of each log, drawn by the seed 0: the median, and")
    print(f"the geometric mean of the ratio to {RULES[0]} with its paired 95 % interval.\n")
    print_header("log", "backfill", *RULES)
    for log in LOGS:
        scenario = cloudarena.load(spec_of(folder, log, None))
        for backfill in ("none", "strict"):
            columns = []
            for policy in RULES:
                runs = WindowRuns(scenario, f"{policy}:backfill={backfill}")
                firsts = np.random.default_rng(0).integers(0, runs.jobs - JOBS, count)
                columns.append(runs.measure(firsts, JOBS).bounded_slowdown_mean[0])
            values = np.column_stack(columns)
            cells = [f"{np.median(values[:, 0]):.1f}"]
            for k in range(1, len(RULES)):
                ratio = interval(np.log(values[:, k] / values[:, 0]))
                low, middle, high = (
                    math.exp(ratio.mean + side * ratio.half_width) for side in (-1, 0, 1)
                )
                cells.append(
                    f"{np.median(values[:, k]):.1f}, {middle:.2f} ({low:.2f} to {high:.2f})"
                )
            print_row(log.name, backfill, *cells)
    return 0


def speed(folder: Path) -> int:
    """Prints CPU time of runs of windows of 512 jobs, many in one compiled call."""
    print_header("log", "backfill", "microseconds a run", "runs a second", "28,800 runs, s")
    for log in LOGS:
        spec = spec_of(folder, log, None, jobs=SLICE)
        runs = WindowRuns(cloudarena.load(spec), f"linear:log_wait={LOG_WAIT}")
        firsts = np.random.default_rng(0).integers(0, SLICE - SHORT_WINDOW, 24)
        for number, backfill in enumerate(("none", "strict")):
            rows = np.tile(runs.policy.values, (48, 1))
            rows[:, runs.parameters.index("backfill")] = number
            runs.measure(firsts[:1], SHORT_WINDOW, rows[:1])
            begin = time.process_time()
            runs.measure(firsts, SHORT_WINDOW, rows)
            each = (time.process_time() - begin) / (len(firsts) * len(rows))
            print_row(
                log.name, backfill, f"{each * 1e6:.0f}", f"{1 / each:,.0f}", f"{28_800 * each:.1f}"
            )
    return 0


COMMANDS = ("table", "rules", "windows", "speed")


def main() -> int:
    """Runs one of the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=COMMANDS, default="table")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the four logs")
    parser.add_argument("--windows", type=int, default=200, help="random windows of each log")
    given = parser.parse_args()
    begin = time.process_time()
    if given.what == "windows":
        code = windows(given.data, given.windows)
    else:
        code = {"table": table, "rules": rules, "speed": speed}[given.what](given.data)
    print(f"{time.process_time() - begin:.1f} CPU seconds", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
