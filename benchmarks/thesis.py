"""Figures and tables of the elastic-cloud thesis made anew: ``python -m benchmarks.thesis FIGURE``.

``python -m benchmarks.thesis FIGURE [--seeds 10] [--out FILE]`` prints the figure as a Markdown
table; ``all`` makes one after another. The thesis (Zhang, Tsinghua 2011) draws figures without
data: ``cloudarena reproduce thesis`` holds what its text claims of them, at small sizes, and these
are the same measures (``cloudarena.reproduce.thesis_measures``) at its sizes, as whole tables.

- ``3.6``: fat and thin VMs by tier and minute, of the model-based policy.
- ``3.7``: predicted against measured response, and the SLA by minutes and, as the text has it, by
  requests.
- ``4.5``: designs to look at properly by how many of the front are wanted: LOS, and blind pick.
- ``4.6``: evaluations of LOS, Monte Carlo and blind pick for 10, 50 and 90 % of the front.
- ``5.2``: throughput and memory of the iterative methods by tasks and by VMs.
- ``6.4``: how alike pairs of batches are, and the thresholds that follow.
- ``6.8``, ``6.9``: throughput by VMs without and with thinking time, four workloads.
- ``7.11``: one and seven of 200 metrics (7.11, 7.12), and ten of 2,000 with what is held of 1,800
  strategies that were not seen (7.13 to 7.15).
- ``7.4``: the table of metrics that are needed, by how many of the best 100 are wanted.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cloudarena
from benchmarks.clusters import MONTE_CARLO, SAMPLED
from benchmarks.mapping import markdown
from cloudarena.base.files import write_text
from cloudarena.base.statistics import front_of, interval
from cloudarena.optimizers import blind_pick_size
from cloudarena.reduction import synthetic_metrics
from cloudarena.reproduce.thesis_measures import (
    CLASSES,
    MEMORY,
    METRICS_OF_HITS,
    MODEL,
    PAIRS,
    RULE,
    THROUGHPUT,
    WORKLOADS,
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
from cloudarena.scenarios.clusters import ClusterModel, Compositions, designed_sample
from cloudarena.scenarios.clusters.policies.model.stages import thresholds

ROUGH, PROPER = 10, 1000
MOST_SHARES = 100_000
"""Of more shares a designed sample is taken."""
MOST_METRICS = 30
KEPT = ("sla_minutes_ok", "sla_requests_ok", "cost_usd")
VMS = (16, 20, 32, 64, 128)


def mean_of(values: Any, digits: int = 3) -> str:
    """The mean with half of its 95 % interval."""
    array = np.asarray(values, float)
    if len(array) < 2:
        return f"{array.mean():.{digits}g}"
    found = interval(array)
    return f"{found.mean:.{digits}g} ± {found.mean - found.low:.2g}"


def vms_by_tier(seeds: int) -> str:
    """Figure 3.6, of one seed: figures of others look alike."""
    result = cloudarena.simulate(cloudarena.load("tiers/rubis-hour"), MODEL, 0)
    periods = result.tables["periods"].to_pandas()
    tiers = result.tables["tiers"].to_pandas()
    names = list(dict.fromkeys(tiers["tier"]))
    rows = []
    for period, rate in zip(periods["period"], periods["rate"], strict=True):
        there = tiers[tiers["period"] == period].set_index("tier")
        vms = [f"{there.loc[name, 'fat']:g} + {there.loc[name, 'thin']:g}" for name in names]
        rows.append([f"{period}", f"{rate:.1f}", *vms])
    head = ["minute", "requests/s", *(f"{name}: fat + thin" for name in names)]
    return markdown(head, rows)


def predicted_response(seeds: int) -> str:
    """Figure 3.7 over seeds, and what it says of the SLA."""
    rows = []
    for name in ("tiers/rubis-hour", "tiers/rubis-slow"):
        scenario = cloudarena.load(name)
        found = []
        for seed in range(seeds):
            table = cloudarena.simulate(scenario, MODEL, seed).tables["periods"].to_pydict()
            found.append(error_and_correlation(*predicted_and_measured(table)))
        errors, correlations = np.transpose(found)
        for policy in (MODEL, RULE):
            minutes, requests, cost = values_of(scenario, policy, seeds, *KEPT)
            is_model = policy == MODEL
            rows.append(
                [
                    name,
                    policy,
                    mean_of(100.0 * errors) if is_model else "",
                    mean_of(correlations) if is_model else "",
                    mean_of(100.0 * minutes),
                    mean_of(100.0 * requests),
                    mean_of(cost),
                ]
            )
    head = ["scenario", "policy", "median error, %", "correlation", "minutes in the SLA, %"]
    return markdown([*head, "requests in the SLA, %", "cost, USD"], rows)


def model_of(vms: int, seed: int = 0) -> ClusterModel:
    """The shares of so many VMs, or a designed sample of them."""
    space = Compositions(vms, CLASSES)
    if len(space) <= MOST_SHARES:
        return ClusterModel(space, seed=seed)
    few = ClusterModel(np.ones((1, CLASSES), np.int64))
    return ClusterModel(designed_sample(space, few.load, few.memory), seed=seed)


def selected(seeds: int) -> str:
    """Figure 4.5: the designs that are evaluated properly."""
    return _alignment(lambda model, front, wanted: _designs(model, front, wanted), "designs")


def effort(seeds: int) -> str:
    """Figure 4.6: the evaluations."""

    def evaluations(model: ClusterModel, front: int, wanted: int) -> list[str]:
        known = _los(model, wanted, "table"), _los(model, wanted, "screening")
        blind = blind_pick_size(model.size, front, wanted, 0.95) * PROPER
        spent = [model.size * ROUGH + PROPER * size for size in known]
        return [f"{count:,}" for count in (*spent, blind, model.size * PROPER)]

    return _alignment(evaluations, "evaluations", ("blind pick, 95 %", "Monte Carlo"))


def _designs(model: ClusterModel, front: int, wanted: int) -> list[str]:
    blind = [blind_pick_size(model.size, front, wanted, level) for level in (0.5, 0.95, 0.98)]
    sizes = _los(model, wanted, "table"), _los(model, wanted, "screening"), *blind
    return [f"{size:,}" for size in sizes]


def _los(model: ClusterModel, wanted: int, size: Any) -> int:
    return selected_by_los(model, wanted, size=size, rough=ROUGH, replications=PROPER)


BLIND = ("blind pick, 50 %", "95 %", "98 %")


def _alignment(
    row: Callable[[ClusterModel, int, int], list[str]], unit: str, others: Any = BLIND
) -> str:
    rows = []
    for vms in VMS:
        model = model_of(vms)
        means = model.estimate(model.all_designs(), np.arange(PROPER)).mean
        front = len(front_of(means))
        for wanted in wanted_of(front):
            cells = row(model, front, wanted)
            rows.append([f"{vms}", f"{model.size:,}", f"{front}", f"{wanted}", *cells])
    head = ["VMs", "shares", "front", "wanted", f"LOS by table, {unit}", "LOS by screening"]
    return markdown([*head, *others], rows)


def throughput_and_memory(seeds: int) -> str:
    """Figure 5.2: iterative methods by tasks (5,000 to 20,000) and by VMs."""
    rows = []
    cells = [(128, tasks) for tasks in (5_000, 10_000, 20_000)]
    cells += [(vms, 20_000) for vms in (16, 32, 64)]
    policies = (MONTE_CARLO, "iterative-blind-pick", "ilos")
    for vms, tasks in cells:
        spec = {"workload.total_tasks": tasks, "vms": vms}
        scenario = cloudarena.load("clusters/ligo-20", spec)
        for rule in ("max_throughput", "min_memory"):
            row = [f"{vms}", f"{tasks:,}", rule]
            for policy in policies:
                name = f"{policy}:designs=3000:replications=100:rule={rule}"
                rate, memory = values_of(scenario, name, seeds, THROUGHPUT, MEMORY)
                row.append(f"{mean_of(rate)}, {mean_of(memory)}")
            rows.append(row)
    head = ["VMs", "tasks", "rule", *(f"{name}: tasks/s, MB" for name in policies)]
    return markdown(head, rows)


def similarity(seeds: int) -> str:
    """Figure 6.4: shares of 10,000 pairs by how alike they are, and the thresholds."""
    edges = np.linspace(0.0, 1.0, 11)
    rows = []
    for workload in WORKLOADS:
        scenario = cloudarena.load(f"clusters/{workload}")
        tasks = np.asarray(scenario.load_workload(0).tasks, float)
        pairs = np.random.default_rng(0).integers(0, len(tasks), (PAIRS, 2))
        shares = np.histogram(alike(tasks, pairs), edges)[0] / PAIRS
        limits = thresholds(tasks)
        cells = [f"{100.0 * share:.1f}" for share in shares]
        rows.append([workload.upper(), *cells, f"{limits.split:.3f}", f"{limits.merge:.3f}"])
    steps = [f"up to {edge:.1f}" for edge in edges[1:]]
    return markdown(["pairs, %", *steps, "split below", "merge from"], rows)


def _by_vms(seeds: int, policies: tuple[str, ...], thinking: float) -> str:
    rows = []
    for workload in WORKLOADS:
        for vms in (16, 32, 64, 128):
            shares = min(SAMPLED, len(Compositions(vms, CLASSES)))
            changes = deciding(vms, thinking, shares * PROPER, stage_s=180.0)
            scenario = cloudarena.load(f"clusters/{workload}", changes)
            runs = {
                policy: values_of(scenario, f"{policy}:designs={SAMPLED}", seeds, THROUGHPUT)[0]
                for policy in policies
            }
            base = runs[policies[0]]
            gains = [
                f"{mean_of(100.0 * (runs[policy] / base - 1.0), 2)} %" for policy in policies[1:]
            ]
            rows.append([workload.upper(), f"{vms}", mean_of(base), *gains])
    head = ["workload", "VMs", f"{policies[0]}, tasks/s", *policies[1:]]
    return markdown(head, rows)


def at_once(seeds: int) -> str:
    """Figure 6.8: thinking takes no time."""
    return _by_vms(seeds, (MONTE_CARLO, "iterative-blind-pick", "ilos"), 0.0)


def thinking(seeds: int) -> str:
    """Figure 6.9: Monte Carlo thinks for half the horizon, the others as much shorter."""
    return _by_vms(seeds, (MONTE_CARLO, "iterative-blind-pick", "ilos", "elos"), 0.5)


def rough_models(seeds: int) -> str:
    """Figures 7.11 to 7.15: places by a few metrics against places by all of them."""
    rows = []
    for keep in (1, 7):
        found = [_few(synthetic_metrics(100, 200, seed=seed), None, keep) for seed in range(seeds)]
        hits, ranks = np.transpose(found)
        rows.append([f"{keep} of 200", "the 100 they were chosen on", "15", mean_of(hits)])
        rows[-1].append(mean_of(ranks))
    tables = [synthetic_metrics(2000, 2000, seed=seed) for seed in range(min(seeds, 5))]
    for name, rest, best in (
        ("the 200 they were chosen on", slice(0, 200), 15),
        ("1,800 that were not seen", slice(200, None), 100),
    ):
        hits, ranks = np.transpose([_few(table, rest, 10, best) for table in tables])
        rows.append(["10 of 2,000", name, f"{best}", mean_of(hits), mean_of(ranks)])
    head = ["metrics", "strategies", "the best", "held by as many", "correlation of places"]
    return markdown(head, rows)


def _few(table: Any, rest: slice | None, keep: int, best: int = 15) -> tuple[float, float]:
    """How many of the best a few metrics hold, and how near places are to the true ones."""
    chosen_on = table if rest is None else table[:200]
    few = reduced(chosen_on, keep)
    there = table if rest is None else table[rest]
    first, second = few.ranks(there)
    return held(few, there, best), float(np.corrcoef(first, second)[0, 1])


def metrics_needed(seeds: int) -> str:
    """Table 7.4: on 200 strategies, checked on 1,800: the fewest metrics that hold k on average."""
    counts = range(1, MOST_METRICS + 1)
    hits = np.zeros((min(seeds, 3), MOST_METRICS))
    for seed, row in enumerate(hits):
        table = synthetic_metrics(2000, 2000, seed=seed)
        few = reduced(table[:200], MOST_METRICS)
        true = few.score(table)
        best = set(np.argsort(-true[200:])[:100].tolist())
        for keep, step in zip(counts, few.steps, strict=True):
            chosen = np.column_stack((np.ones(len(table)), table[:, step.fit.metrics]))
            coefficients = np.linalg.lstsq(chosen[:200], true[:200], rcond=None)[0]
            found = np.argsort(-(chosen[200:] @ coefficients))[:100]
            row[keep - 1] = len(best.intersection(found.tolist()))
    means = dict(zip(counts, hits.mean(axis=0).tolist(), strict=True))
    rows = []
    for wanted, theirs in METRICS_OF_HITS.items():
        enough = [keep for keep in counts if means[keep] >= wanted]
        ours = f"{enough[0]} ({means[enough[0]]:.0f} held)" if enough else f"above {counts[-1]}"
        rows.append([f"{wanted}", f"{theirs}", ours])
    return markdown(["of the best 100", "metrics, thesis", "metrics here"], rows)


FIGURES: dict[str, Callable[[int], str]] = {
    "3.6": vms_by_tier,
    "3.7": predicted_response,
    "4.5": selected,
    "4.6": effort,
    "5.2": throughput_and_memory,
    "6.4": similarity,
    "6.8": at_once,
    "6.9": thinking,
    "7.11": rough_models,
    "7.4": metrics_needed,
}


def main() -> None:
    """Prints a figure, or writes it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figure", choices=[*FIGURES, "all"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, help="a file for the tables")
    options = parser.parse_args()
    names = list(FIGURES) if options.figure == "all" else [options.figure]
    text = "\n".join(
        f"{(FIGURES[name].__doc__ or name).splitlines()[0]}\n\n{FIGURES[name](options.seeds)}"
        for name in names
    )
    if options.out:
        write_text(options.out, text)
    print(text)


if __name__ == "__main__":
    main()
