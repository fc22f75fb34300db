"""Runs the plan of an experiment on an executor, and keeps what comes back in a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloudarena.base.arrow import pa
from cloudarena.base.parallel import LocalExecutor, slots_of
from cloudarena.contract import Policy
from cloudarena.experiments.sweep.dispatch import Dispatcher, Progress
from cloudarena.experiments.sweep.executors import opened
from cloudarena.experiments.sweep.limits import read_limits
from cloudarena.experiments.sweep.plan import Plan, make_plan
from cloudarena.experiments.sweep.store import Store, cannot_write
from cloudarena.experiments.sweep.until import Until, next_round, read_until


@dataclass(frozen=True)
class SweepOutcome:
    """What a sweep did."""

    plan: Plan
    store: Path
    found: int
    """Runs that were in the store already."""
    ran: int
    """Runs that were run now."""
    failed: int
    """Runs of the plan that have failed, now or before."""
    saved: int = 0
    """Runs of the plan that were not needed, since the rule of ``--until`` was met."""
    replications: tuple[int, ...] = ()
    """The replications that each cell had under a rule."""

    def summary(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "result": "sweep",
            **self.plan.summary(),
            "store": str(self.store),
            "found": self.found,
            "ran": self.ran,
            "failed": self.failed,
            "saved": self.saved,
        }


def sweep(
    experiment: str | Path | Mapping[str, Any] | Plan,
    store: str | Path,
    executor: str | Executor | None = None,
    workers: int = -1,
    cluster: str | None = None,
    policies: Sequence[str | Policy] = (),
    retry: bool = False,
    timeout_s: float | None = None,
    memory: str | None = None,
    until: str | None = None,
    watcher: Callable[[Progress], None] | None = None,
) -> SweepOutcome:
    """Runs all runs of an experiment that are not in the store yet.

    Args:
        experiment: a YAML file, the same as a dict, or its plan.
        store: a folder, which is made if it is not there.
        executor: any ``concurrent.futures.Executor``, which is left open, or ``MODULE:FACTORY``; by
            default worker processes of this machine.
        workers: processes; -1 is one for each core. The rows do not depend on it.
        cluster: the address of a cluster, such as ``dask://HOST:8786``.
        policies: further policies, as names or Python objects.
        retry: whether runs that have failed before are run again.
        timeout_s: the seconds after which a run has failed.
        memory: how much memory a run may take, such as ``4GB``.
        until: a rule such as ``ci(profit_usd) < 1%``, by which cells stop before all replications.
        watcher: is called again and again with the progress.
    """
    plan = experiment if isinstance(experiment, Plan) else make_plan(experiment, policies)
    limits = read_limits(timeout_s, memory)
    rule = None if until is None else read_until(until, plan)
    plan.check()
    with opened(workers, cluster, executor) as pool, Store(store) as kept, _ended(pool, executor):
        kept.ledger.remember(plan.experiment.model_dump_json(exclude_unset=True))
        kept.ledger.name_cells(plan.named_cells())
        dispatcher = Dispatcher(plan, kept, pool, limits, slots_of(pool, workers), watcher, retry)
        if rule is None:
            dispatcher.run(plan.all_runs(), plan.runs)
            counts: tuple[int, ...] = ()
        else:
            counts = _until(rule, dispatcher)
        if not kept.is_compact():
            try:
                kept.compact()
            except (OSError, pa.ArrowException) as error:
                raise cannot_write(kept.folder, error) from None
        saved = plan.runs - sum(counts) if counts else 0
        failed = len(dispatcher.failed)
        return SweepOutcome(
            plan, kept.folder, dispatcher.found, dispatcher.ran, failed, saved, counts
        )


@contextmanager
def _ended(pool: Executor, given: str | Executor | None) -> Iterator[None]:
    """Ends our processes after an error before the store is closed, which sweeps their drafts."""
    try:
        yield
    except BaseException:
        if isinstance(pool, LocalExecutor) and pool is not given:
            pool.shutdown(cancel_futures=True)
        raise


def _until(rule: Until, dispatcher: Dispatcher) -> tuple[int, ...]:
    """Runs round by round the cells that the rule does not call settled; how often each ran."""
    plan, most = dispatcher.plan, dispatcher.plan.experiment.replications
    counts = [0] * plan.cells
    active = set(range(plan.cells))
    begin, look = 0, 0
    while active and begin < most:
        end, look = next_round(begin, most), look + 1
        chosen = [
            run
            for run in plan.all_runs(min(counts[cell] for cell in active), end)
            if run.cell in active and run.replication >= counts[run.cell]
        ]
        dispatcher.run(chosen, len(chosen))
        for cell in active:
            counts[cell] = end
        active = rule.unsettled(dispatcher.cells(counts), look)
        begin = end
    return tuple(counts)
