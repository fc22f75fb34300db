"""Figures and a table of the elastic-cloud thesis, each as the numbers that it stands for.

The thesis draws most of them without numbers: what its text says of a figure is the claim, and our
numbers stand beside it.
"""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.statistics import front_of, interval
from cloudarena.catalogue import load
from cloudarena.experiments.simulate import simulate
from cloudarena.optimizers.methods.blind_pick import blind_pick_size
from cloudarena.reduction import metric_alignment, reduce_metrics, synthetic_metrics
from cloudarena.reduction.priorities import priorities
from cloudarena.reduction.reduce import Reduction
from cloudarena.reproduce.entry import Row, claimed, control, exact, measured, number
from cloudarena.reproduce.thesis_measures import (
    CLASSES,
    MEMORY,
    METRICS_OF_HITS,
    MODEL,
    PAIRS,
    RULE,
    SHARES,
    THROUGHPUT,
    alike,
    deciding,
    error_and_correlation,
    held,
    predicted_and_measured,
    reduced,
    selected_by_los,
    values_of,
    wanted_of,
)
from cloudarena.scenarios.clusters import ClusterModel, Compositions

SLA_S, SLA_SHARE = 10.0, 0.95
VARIATION = 0.3
PROPER = 200
DECIDERS = {"ilos": "iLOS", "iterative-monte-carlo": "iMC", "iterative-blind-pick": "iBP"}
ROUGH = 30
"""The rough evaluations of each design, after which LOS drops designs."""
HITS = tuple(hits for hits in METRICS_OF_HITS if hits < 90)
"""The rows of table 7.4 that are made; 90 needs 159 metrics in the thesis."""


def tier_rows(seeds: int) -> list[Row]:
    """Figures 3.6 and 3.7: VMs of each tier over time, and predicted against measured response."""
    scenario = load("tiers/rubis-hour")
    app, follows, errors, correlations, kept = [], [], [], [], []
    for seed in range(seeds):
        tables = simulate(scenario, MODEL, seed, "summary").tables
        minutes, tiers = tables["periods"].to_pydict(), tables["tiers"].to_pydict()
        names = np.array(tiers["tier"])
        vms = np.array(tiers["fat"]) + np.array(tiers["thin"])
        by_tier = {name: float(vms[names == name].mean()) for name in np.unique(names)}
        app.append(by_tier.pop("app") / max(by_tier.values()))
        rate = np.array(minutes["rate"])
        follows.append(np.corrcoef(rate[:-1], np.array(minutes["vms"])[1:])[0, 1])
        error, correlation = error_and_correlation(*predicted_and_measured(minutes))
        errors.append(error)
        correlations.append(correlation)
        measured_s = np.array(minutes["response_mean_s"])
        kept.append(np.mean(measured_s[np.isfinite(measured_s)] <= SLA_S))
    found = [interval(np.array(one)) for one in (app, follows, errors, correlations, kept)]
    return [
        claimed("figure 3.6: VMs of the application tier over those of the next", "above 1",
                found[0], found[0].low > 1.0),
        claimed("figure 3.6: correlation of the load with the VMs a minute later", "above 0",
                found[1], found[1].low > 0.0),
        control("figure 3.7: median error of the predicted response, of the measured", found[2]),
        claimed("figure 3.7: correlation of predicted and measured response", "above 0",
                found[3], found[3].low > 0.0),
        claimed("figure 3.7: share of minutes with a mean response of at most 10 s",
                "0.98 or more", found[4], found[4].low >= 0.98),
    ]  # fmt: skip


def sla_rows(seeds: int) -> list[Row]:
    """The SLA as the text has it: 95 % of the requests within 10 s, minute by minute."""
    sla = {"sla": {"metric": "quantile", "seconds": SLA_S, "level": SLA_SHARE}}
    scenario = load("tiers/rubis-slow", sla)
    kept, cost = zip(
        *(values_of(scenario, one, seeds, "sla_minutes_ok", "cost_usd") for one in (MODEL, RULE)),
        strict=True,
    )
    more = interval(kept[0] - kept[1])
    cell = "rubis-slow, 95 % of requests in 10 s"
    return [
        control(f"{cell}: minutes kept by the model", interval(kept[0])),
        control(f"{cell}: minutes kept by the rule", interval(kept[1])),
        claimed(f"{cell}: minutes kept, model less rule", "above 0", more, more.low > 0.0),
        control(f"{cell}: cost of the model over the rule's, less 1",
                interval(cost[0] / cost[1] - 1.0)),
    ]  # fmt: skip


def search_rows(sizes: tuple[int, ...], seeds: int) -> list[Row]:
    """Figures 4.5 and 4.6: designs to be evaluated for a part of the front, by three methods."""
    rows = []
    for vms in sizes:
        space = Compositions(vms, CLASSES)
        model = ClusterModel(space, variation=VARIATION)
        good = len(front_of(model.mean_model(model.all_designs())))
        for share, wanted in zip(SHARES, wanted_of(good), strict=True):
            picked = blind_pick_size(space.size, good, wanted, 0.95)
            selected = []
            for seed in range(seeds):
                loud = ClusterModel(
                    space, variation=VARIATION, seed=seed, common_random_numbers=False
                )
                found = selected_by_los(loud, wanted, replications=ROUGH, rough=ROUGH, seed=seed)
                selected.append(float(found))
            ours = interval(np.array(selected))
            cell = f"figures 4.5 and 4.6, {vms} VMs, {share:.0%} of the front"
            rows += [
                claimed(f"{cell}: designs that LOS selects", "fewer than a blind pick", ours,
                        ours.high < picked),
                control(f"{cell}: designs of a blind pick that is sure to 95 %",
                        number(float(picked))),
                claimed(f"{cell}: designs of Monte Carlo over a blind pick's", "above 1",
                        number(space.size / picked), space.size > picked),
            ]  # fmt: skip
    return rows


def similarity_rows() -> list[Row]:
    """Figure 6.4: how alike 10,000 pairs of mixes are, and the thresholds that follow."""
    rows = []
    for name in ("lflc", "hfhc"):
        tasks = np.array(load(f"clusters/{name}").load_workload(0).tasks, float)
        rng = np.random.default_rng(0)
        pairs = np.column_stack([rng.integers(0, len(tasks), PAIRS) for _ in range(2)])
        found = alike(tasks, pairs)
        rows += [
            control(f"figure 6.4, {name}: {level} of the similarity of pairs",
                    number(float(np.quantile(found, share))))
            for level, share in (("lower third", 0.33), ("median", 0.5), ("upper third", 0.67))
        ]  # fmt: skip
    low, high = rows[1].ours, rows[4].ours
    claim = claimed("figure 6.4: median similarity, lflc less hfhc", "above 0",
                    number(low - high), low > high)  # fmt: skip
    return [*rows, claim]


def metric_rows(seeds: int, metrics: int, most: int) -> list[Row]:
    """Figures 7.10 to 7.12, 7.14 and 7.15, and table 7.4, on tables of a factor model."""
    medium = [synthetic_metrics(100, 200, seed=seed) for seed in range(seeds)]
    paths = [reduced(table, 10) for table in medium]
    left = np.array([[step.residual_sd for step in path.steps] for path in paths])
    first, later = left[:, 0] - left[:, 1], left[:, -2] - left[:, -1]
    slower = interval(first - later)
    rows = [
        control("figure 7.10: error left with 1 metric, in standard deviations",
                interval(left[:, 0])),
        control("figure 7.10: error left with 10 metrics", interval(left[:, -1])),
        claimed("figure 7.10: gain of the second metric less that of the tenth", "above 0",
                slower, slower.low > 0.0),
    ]  # fmt: skip
    for figure, keep, published in (("7.11", 1, 8), ("7.12", 7, 13)):
        hits = [held(reduced(table, keep), table, 15) for table in medium]
        cell = f"figure {figure}: held of the best 15 by {keep} of 200 metrics"
        rows.append(measured(cell, published, interval(np.array(hits))))
    large = [synthetic_metrics(2000, metrics, seed=seed) for seed in range(seeds)]
    sharp, unseen, needed = [], [], []
    for table in large:
        path = reduced(table[:200], most)
        ten = path.steps[9].correlation
        sharp.append(metric_alignment(ten, 200, 10, 5, 5))
        unseen.append(held(reduced(table[:200], 10), table[200:], 100))
        needed.append([_needed(path, wanted, most) for wanted in HITS])
    ours = interval(np.array(sharp))
    rows.append(
        claimed(
            "figure 7.14: probability that 10 metrics hold the best 5 in 10 of 200",
            "above 0.95",
            ours,
            ours.low > 0.95,
        )
    )
    cell = "figure 7.15: held of the best 100 of 1,800 unseen by 10 metrics"
    rows.append(measured(cell, 84, interval(np.array(unseen))))
    for k, wanted in enumerate(HITS):
        count = interval(np.array([float(row[k]) for row in needed]))
        cell = f"table 7.4: metrics for {wanted} of the best 100"
        rows.append(measured(cell, METRICS_OF_HITS[wanted], count))
    return rows


def _needed(path: Reduction, hits: int, most: int) -> int:
    """The fewest metrics that hold so many of the best 100 of 2,000 with 95 %; one more if none."""
    for count, step in enumerate(path.steps, 1):
        if metric_alignment(step.correlation, 2000, 100, 100, hits) >= 0.95:
            return count
    return most + 1


def weight_rows() -> list[Row]:
    """Weights by the analytic hierarchy process: those of judgements that agree, and of others."""
    weights = np.array([0.5, 0.3, 0.2])
    found = priorities(weights[:, None] / weights)
    rows = [
        exact(f"judgements in pairs that agree: weight {k}", float(theirs), float(ours), 1e-9)
        for k, (theirs, ours) in enumerate(zip(weights, found.weights, strict=True), 1)
    ]
    circle = priorities([[1, 5, 1 / 5], [1 / 5, 1, 5], [5, 1 / 5, 1]]).consistency_ratio
    return [
        *rows,
        claimed("judgements in a circle: consistency ratio", "above 0.1", number(circle),
                circle > 0.1),
    ]  # fmt: skip


def f_test_rows(seeds: int) -> list[Row]:
    """The stepwise method with F tests beside the one that exchanges metrics, at equal numbers."""
    tables = [synthetic_metrics(100, 200, seed=seed) for seed in range(seeds)]
    more = []
    for table in tables:
        left = [
            reduce_metrics(table, keep=7, method=method, correlation="adjusted").step.residual_sd
            for method in ("f-tests", "stepwise")
        ]
        more.append(left[0] / left[1] - 1.0)
    return [control("7 of 200 metrics: error left by F tests over that by exchange, less 1",
                    interval(np.array(more)))]  # fmt: skip


def failure_rows(seeds: int) -> list[Row]:
    """VMs that fail, a tenth of their time: what that costs the deciders."""
    lost = {}
    for policy in ("proportional", "equal"):
        sound, broken = (
            values_of(load("clusters/hfhc", changes), policy, seeds, THROUGHPUT)[0]
            for changes in ({}, {"failures": {"mean_up_s": 5400, "mean_down_s": 600}})
        )
        lost[policy] = interval(broken / sound - 1.0)
    return [
        control(f"hfhc, VMs that are down a tenth of the time: throughput of {policy}, less 1", one)
        for policy, one in lost.items()
    ]


def scaling_rows(sizes: tuple[int, ...], loads: tuple[float, ...], seeds: int) -> list[Row]:
    """Figure 5.2: throughput and memory of three deciders by the number of VMs and of tasks."""
    rows = []
    for vms in sizes:
        for load_factor in loads:
            found = {
                name: _throughput_and_memory(name, vms, load_factor, seeds) for name in DECIDERS
            }
            cell = f"figure 5.2, {vms} VMs, load {load_factor:g}"
            for rival, words in DECIDERS.items():
                if rival != "ilos":
                    more, less = (
                        interval(found["ilos"][k] / found[rival][k] - 1.0) for k in range(2)
                    )
                    name = f"{cell}: throughput of iLOS over {words}'s, less 1"
                    rows.append(claimed(name, "above 0", more, more.low > 0.0))
                    rows.append(control(f"{cell}: memory of iLOS over {words}'s, less 1", less))
    return rows


def _throughput_and_memory(name: str, vms: int, load_factor: float, seeds: int) -> Floats:
    """The throughput and the memory of a decider that thinks, one for each seed."""
    designs = Compositions(vms, CLASSES).size
    changes = deciding(vms, 0.5, designs * PROPER, **{"workload.load": load_factor})
    options = ":rough=4:selected=5" if name == "ilos" else ""
    policy = f"{name}:replications={PROPER}:designs=30000{options}"
    return values_of(load("clusters/hfhc", changes), policy, seeds, THROUGHPUT, MEMORY)
