"""Comparisons made by hand from arrays: no simulation runs."""

from types import SimpleNamespace

import numpy as np

from cloudarena.contract import Metric, TradeOff
from cloudarena.experiments.comparison import Comparison

SHARE = Metric(
    "unserved_share", "part of the requests that was not served", "lower", highlight=True
)
COST = Metric("cost_usd", "what it costs", "lower", highlight=True)
PROFIT = Metric("profit_usd", "what it earns", "higher", highlight=True)
TIME = Metric("response_s", "how long it takes", "lower", highlight=True)
COUNT = Metric("requests", "how many arrived", highlight=True)
MEASURES = (SHARE, COST, PROFIT, TIME, COUNT)


def scenario(headline="cost_usd", measures=MEASURES):
    """As much of a scenario as a comparison looks at."""
    kind = SimpleNamespace(
        name="fake",
        metrics=measures,
        metric={metric.name: metric for metric in measures},
        headline=headline,
        highlights=tuple(metric.name for metric in measures),
        unit_of_work="requests",
        prices="prices.hour_usd",
        own_metrics=(),
        trade_offs=(TradeOff("cost and time", "cost_usd", "response_s"),),
    )
    return SimpleNamespace(
        name="fake", kind=kind, length_s=None, resampled="", is_one_trace=False, machine_groups=()
    )


def made(names, headline="cost_usd", bounds=None, asked=None, **rows):
    """A comparison of policies; metrics that are not given are 0 everywhere."""
    policies = tuple(names.split())
    arrays = {name: np.array(values, float) for name, values in rows.items()}
    shape = len(policies), next(iter(arrays.values())).shape[1]
    values = {metric.name: arrays.get(metric.name, np.zeros(shape)) for metric in MEASURES}
    flags = {name: np.array(values, bool) for name, values in (bounds or {}).items()}
    return Comparison(scenario(headline), policies, 0, values, {}, bounds=flags, **(asked or {}))
