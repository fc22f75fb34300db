"""The tables of a tiers run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cloudarena.base.arrays import Floats
from cloudarena.base.arrow import arrow_column, arrow_table
from cloudarena.queueing.chain import evaluate
from cloudarena.scenarios.tiers.policies.estimates import chain_of
from cloudarena.scenarios.tiers.state import Outcome

if TYPE_CHECKING:
    from cloudarena.scenarios.tiers.run import TiersRun

OUTCOMES = np.array([outcome.name.lower().replace("_", " ") for outcome in Outcome])


def make_tables(run: TiersRun) -> dict[str, pa.Table]:
    """All tables. Times are seconds from the start of the run."""
    tables = {"periods": periods_table(run), "tiers": tiers_table(run)}
    tables["decisions"] = decisions_table(run)
    if run.record == "full":
        tables["requests"] = requests_table(run)
    return tables


def periods_table(run: TiersRun) -> pa.Table:
    """One row per period: the whole service. Requests count where they are served."""
    rows = run.periods
    level = run.scenario.sla.level
    tails = [float(np.quantile(p.responses, level)) if len(p.responses) else np.nan for p in rows]
    return arrow_table(
        {
            "period": np.arange(len(rows)),
            "time_s": np.array([period.begin for period in rows]),
            "rate": np.array([period.rate for period in rows]),
            "fat": np.array([period.counts[:, 0].sum() for period in rows], np.int64),
            "thin": np.array([period.counts[:, 1].sum() for period in rows], np.int64),
            "vms": np.array([period.counts.sum() for period in rows], np.int64),
            "served": np.array([len(period.responses) for period in rows], np.int64),
            "blocked": np.array([period.blocked.sum() for period in rows], np.int64),
            "response_mean_s": np.array([period.response_mean_s for period in rows]),
            "response_predicted_s": predicted_responses(run),
            "response_quantile_s": np.array(tails),
            "keeps_sla": np.array([period.keeps_sla for period in rows], bool),
            "cost_usd": np.array([period.cost_usd for period in rows]),
        }
    )


def predicted_responses(run: TiersRun) -> Floats:
    """The mean response time of each period by the queueing model, in the long run.

    Taken are the rate that was measured and the VMs that were rented. The model knows no backlog
    of the period before and no VMs that are still booting; NaN where nothing arrived, a tier has no
    VMs, or the queue would grow for ever.
    """
    rows = run.periods
    predicted = np.full(len(rows), np.nan)
    known = [
        k
        for k, period in enumerate(rows)
        if period.rate > 0.0 and (period.counts.sum(axis=1) > 0).all()
    ]
    if known:
        counts = np.stack([rows[k].counts for k in known])
        rates = np.array([rows[k].rate for k in known])
        found = evaluate(chain_of(run.scenario), rates, counts, losses=True).response_s
        predicted[known] = np.where(np.isfinite(found), found, np.nan)
    return predicted


def tiers_table(run: TiersRun) -> pa.Table:
    """One row per period and tier."""
    rows, tiers = run.periods, run.scenario.tiers

    def column(name: str) -> np.ndarray:
        return np.concatenate([getattr(period, name) for period in rows])

    seconds = np.repeat([period.end - period.begin for period in rows], len(tiers))
    counts = np.concatenate([period.counts for period in rows])
    return arrow_table(
        {
            "period": np.repeat(np.arange(len(rows)), len(tiers)),
            "time_s": np.repeat(np.array([period.begin for period in rows], float), len(tiers)),
            "tier": [tier.name for tier in tiers] * len(rows),
            "fat": np.ascontiguousarray(counts[:, 0]),
            "thin": np.ascontiguousarray(counts[:, 1]),
            "arrived": column("arrived"),
            "rate": column("arrived") / seconds,
            "blocked": column("blocked"),
            "served": column("served"),
            "utilisation": column("utilisation"),
            "held": column("held"),
            "sojourn_s": column("sojourn_s"),
        }
    )


def decisions_table(run: TiersRun) -> pa.Table:
    """One row per decision and tier: a file for ``--policy replay:FILE``."""
    rows, tiers = run.periods[1:], run.scenario.tiers
    counts = np.concatenate([np.zeros((0, 2), np.int64), *(period.counts for period in rows)])
    return arrow_table(
        {
            "time_s": np.repeat(np.array([period.begin for period in rows], float), len(tiers)),
            "tier": arrow_column([tier.name for tier in tiers] * len(rows)),
            "fat": np.ascontiguousarray(counts[:, 0]),
            "thin": np.ascontiguousarray(counts[:, 1]),
        }
    )


def requests_table(run: TiersRun) -> pa.Table:
    """One row per request that arrived, in order of arrival."""
    requests = run.world.requests[: run.world.clock[0]["arrived"]]
    state = requests["state"]
    finish = np.where(state == Outcome.IN_SYSTEM, np.nan, requests["finish"])
    return arrow_table(
        {
            "arrival": np.ascontiguousarray(requests["arrival"]),
            "finish": finish,
            "response": finish - requests["arrival"],
            "visits": np.ascontiguousarray(requests["visits"]),
            "outcome": arrow_column(OUTCOMES[state]),
        }
    )
