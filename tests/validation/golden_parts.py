"""What the golden record holds besides runs: optimisers, environments, verdicts, traces, theory.

Each function gives plain values: numbers, texts, lists and dictionaries of them.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import golden_faces as faces
import gymnasium
import numpy as np
import pyarrow.parquet as pq

import cloudarena

SEEDS = (0, 1, 2)
EXAMPLES = {
    "vm": "vm/azure-like-10k",
    "jobs": "jobs/alibaba-like-10",
    "workflow": "workflow/demo",
    "faas": "faas/edge-energy",
    "tiers": "tiers/rubis-hour",
    "clusters": "clusters/hfhc",
}
SMALLER: dict[str, dict[str, Any]] = {
    "vm": {"ticks": 300, "workload.vms": 600, "workload.concurrent": 100, "machines[0].count": 12},
    "jobs": {"workload.jobs": 4},
    "workflow": {"workload.workflows": 4, "workload.functions": 30},
    "tiers": {"duration_s": 300},
    "clusters": {"vms": 9, "workload.batches": 10, "workload.horizon_s": 300},
    "faas": {"duration_s": 90},
}
"""Settings that keep each run short."""
SMALLER_ENTRIES: dict[str, dict[str, Any]] = {
    "jobs/hpc-swf": {"workload.jobs": 40},
    "jobs/deeprm": {"workload.jobs": 25},
    "clusters/two-clusters": {"workload.batches": 10, "workload.horizon_s": 300},
}
"""Entries whose jobs are small, or that have no number of VMs of their own."""
OPTIONS: dict[str, dict[str, Any]] = {
    "ocba-m": {"top": 3},
    "kim-nelson": {"indifference": 0.1},
    "monte-carlo": {"replications": 40},
    "blind-pick": {"replications": 40, "good": 4},
    "nsga2": {"population": 12},
}
"""What methods need besides the problem and the evaluations."""
GENERATORS = {
    "vm": [("azure-like", "--vms", "400", "--ticks", "500")],
    "jobs": [
        ("alibaba-like", "--jobs", "40"),
        ("lublin-feitelson", "--jobs", "200"),
        ("deeprm", "--jobs", "60"),
        ("tpch-like", "--jobs", "30"),
    ],
    "workflow": [
        ("workflows", "--functions", "40", "--workflows", "12", "--shape", shape)
        for shape in ("montage", "cybershake", "epigenomics", "inspiral", "sipht", "layered")
    ],
}
FORWARD = [0.9, 0.8]
RATES = [[30.0, 20.0], [25.0, 16.0], [40.0, 26.0]]


def small_changes(kind: str) -> list[str]:
    """The settings of a kind as options of the command line."""
    return [part for key, value in SMALLER[kind].items() for part in ("--set", f"{key}={value}")]


def digest(data: bytes) -> str:
    """The beginning of a hash."""
    return hashlib.sha256(data).hexdigest()[:16]


def array_digest(values: Any) -> str:
    """A hash of numbers."""
    array = np.ascontiguousarray(values)
    return digest(str((array.dtype.kind, array.shape)).encode() + array.tobytes())


def column_digests(table: Any) -> dict[str, str]:
    """A hash of each column of a table: its type and its values."""
    return {
        name: digest(f"{column.type} {column.to_pylist()!r}".encode())
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


# Optimisers


def noisy(design: tuple[int, int], rng: np.random.Generator) -> tuple[float, float]:
    """Two losses of a design on a grid, with noise that grows with it."""
    x, y = design[0] / 7.0, design[1] / 5.0
    error = rng.normal(0.0, 0.2 + 0.1 * x, 2)
    return (x - 0.3) ** 2 + y + error[0], (x - 0.8) ** 2 + (1.0 - y) ** 2 + error[1]


def first_only(design: tuple[int, int], rng: np.random.Generator) -> float:
    """The first loss alone."""
    return noisy(design, rng)[0]


def optimised(method: str, objectives: int, common: bool) -> dict[str, Any]:
    """What a method selects and claims, under three seeds."""
    package = faces.optimizers()
    designs = [(x, y) for x in range(8) for y in range(6)]
    found: dict[str, Any] = {}
    for seed in SEEDS:
        problem = package.FunctionProblem(
            first_only if objectives == 1 else noisy,
            designs,
            ["first", "second"][:objectives],
            seed=seed,
            common_random_numbers=common,
        )
        try:
            selection = package.METHODS[method](
                problem, evaluations=2400, **OPTIONS.get(method, {})
            )
        except faces.CloudarenaError as error:
            found[str(seed)] = {"refused": str(error)}
            continue
        estimates = selection.estimates
        found[str(seed)] = {
            **selection.summary(),
            "means": array_digest(estimates.mean),
            "low": array_digest(estimates.low),
            "replications": array_digest(estimates.replications),
        }
    return found


def cluster_model() -> dict[str, Any]:
    """The values of the closed-form model of clusters, for some shares."""
    shares = [[3, 3, 3, 3, 3, 3, 2], [5, 4, 3, 2, 4, 1, 1], [1, 1, 1, 1, 1, 1, 14]]
    return {
        str(seed): faces.cluster_model()(shares, seed=seed).evaluate([0, 1, 2], range(20)).tolist()
        for seed in SEEDS
    }


def studied(entry: str, *words: str) -> Any:
    """What ``cloudarena optimize`` says of an entry of the catalogue."""
    kind = entry.partition("/")[0]
    changes = [] if kind == "clusters" else small_changes(kind)
    return faces.command_json("optimize", entry, *changes, "--workers", "1", *words)


# Verdicts and environments


def compared(kind: str) -> Any:
    """What ``cloudarena compare`` says of the policies that it compares by default."""
    words = ("compare", EXAMPLES[kind], *small_changes(kind), "--replications", "4")
    return faces.command_json(*words, "--workers", "1")


def environment(kind: str) -> dict[str, Any]:
    """Observations, masks and rewards of a masked random episode, under three seeds."""
    env = gymnasium.make(
        f"cloudarena/{kind}-v0",
        scenario=EXAMPLES[kind],
        overrides=SMALLER[kind],
        observation="flat",
        disable_env_checker=True,
    )
    found = {}
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        observation, _ = env.reset(seed=seed)
        seen, masks, rewards, ended = [observation], [env.unwrapped.action_masks()], [], False
        while not ended:
            observation, reward, ended, _, info = env.step(_any(env.action_space, masks[-1], rng))
            seen.append(observation)
            masks.append(env.unwrapped.action_masks())
            rewards.append(float(reward))
        found[str(seed)] = {
            "steps": len(rewards),
            "reward": sum(rewards),
            "rewards": array_digest(rewards),
            "observations": array_digest(np.stack(seen)),
            "masks": array_digest(np.stack(masks)),
            "metrics": {name: float(value) for name, value in info["metrics"].items()},
        }
    return found


def _any(space: Any, mask: Any, rng: np.random.Generator) -> Any:
    """A random action that the mask allows."""
    if not hasattr(space, "nvec"):
        return int(rng.choice(np.flatnonzero(mask)))
    parts = np.split(mask, np.cumsum(space.nvec)[:-1])
    return np.array([rng.choice(np.flatnonzero(part)) for part in parts])


def small_place(nodes: Any, replica: Any, rng: np.random.Generator) -> int:
    """A placer: any valid node."""
    count = 0
    for node in range(len(nodes.valid)):
        count += nodes.valid[node]
    left = rng.integers(0, max(count, 1))
    for node in range(len(nodes.valid)):
        if nodes.valid[node]:
            if left == 0:
                return node
            left -= 1
    return -1


def one_more(scaling: Any, rng: np.random.Generator) -> int:
    """A scaler: one more than is suggested."""
    return scaling.suggested + 1


class Both:
    """A bundle of both."""

    place = staticmethod(small_place)
    scale = staticmethod(one_more)


class NamedPlacer:
    """A bundle of a built-in placer and a scaler."""

    place = "least-power"
    scale = staticmethod(one_more)


def bundles() -> dict[str, Any]:
    """Metrics under a user's placer, scaler and bundles."""
    scenario = cloudarena.load(EXAMPLES["faas"], SMALLER["faas"])
    users: dict[str, Any] = {
        "place": small_place,
        "scale": one_more,
        "both": Both,
        "named placer": NamedPlacer,
    }
    return {
        f"{name} {seed}": {
            key: float(value)
            for key, value in cloudarena.simulate(scenario, policy, seed).metrics.items()
        }
        for name, policy in users.items()
        for seed in SEEDS
    }


# Traces, mapping, reduction, theory


def generated(name: str, *words: str) -> dict[str, Any]:
    """The columns of what ``cloudarena trace generate`` writes, under three seeds."""
    found = {}
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "trace"
            line = ("trace", "generate", name, *words, "--seed", str(seed), "--out", str(out))
            faces.command_json(*line)
            found[str(seed)] = {
                file.name: column_digests(pq.read_table(file))
                if file.suffix == ".parquet"
                else digest(file.read_bytes())
                for file in sorted(out.rglob("*"))
                if file.is_file()
            }
    return found


def mapped(kind: str, seed: int) -> Any:
    """All mapping heuristics on a drawn matrix."""
    line = ("map", "--class", kind, "--tasks", "40", "--machines", "6", "--seed", str(seed))
    return faces.command_json(*line)


def reduced(method: str, seed: int) -> Any:
    """``cloudarena metrics reduce`` of a drawn table."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(120, 4))
    values = np.column_stack(
        (base, base @ rng.normal(size=(4, 5)) + 0.1 * rng.normal(size=(120, 5)))
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        rows = [",".join(f"m{column}" for column in range(values.shape[1]))]
        rows += [",".join(map(repr, row)) for row in values.tolist()]
        file.write_text("\n".join(rows) + "\n")
        words = ("metrics", "reduce", str(file), "--keep", "3", "--method", method)
        found = faces.command_json(*words, "--seed", str(seed))
    return {key: value for key, value in found.items() if "table.csv" not in str(value)}


def theory() -> dict[str, Any]:
    """Chains, quantiles, Jackson's network and the cheapest VMs, at some rates."""
    queueing = faces.queueing()
    found: dict[str, Any] = {}
    for balance in ("equal", "weighted"):
        try:
            chain = queueing.TierChain(RATES, FORWARD, 30, balance=balance)
        except faces.CloudarenaError as error:
            found[balance] = {"refused": str(error)}
            continue
        offer = queueing.Offer([0.4, 0.3], [[3, 3]] * 3)
        for rate in (5.0, 20.0, 45.0):
            for sla in (queueing.Sla(0.2), queueing.Sla(0.5, "quantile", 0.95)):
                choice = queueing.cheapest(chain, offer, rate, sla)
                found[f"{balance} {rate} {sla.metric}"] = {
                    "counts": choice.counts.tolist(),
                    "cost": choice.cost,
                    "response_s": choice.response_s,
                    "blocked": choice.blocked.tolist(),
                    "within": choice.within,
                    "meets_sla": bool(choice.meets_sla),
                    "is_exact": bool(choice.is_exact),
                    "p90": float(queueing.response_quantile(chain, rate, choice.counts, 0.9)),
                }
    found["erlang_c"] = [float(queueing.erlang_c(servers, 3.5)) for servers in range(4, 9)]
    return found


def parts() -> list[tuple[str, str, Callable[..., Any], tuple[Any, ...]]]:
    """What is recorded: the kind or other part it belongs to, its name, and how it is made."""
    all_parts: list[tuple[str, str, Callable[..., Any], tuple[Any, ...]]] = []
    for kind in EXAMPLES:
        all_parts.append((kind, f"{kind} compare", compared, (kind,)))
        all_parts.append((kind, f"{kind} environment", environment, (kind,)))
        for words in GENERATORS.get(kind, ()):
            name = f"{kind} trace {words[0]} {words[-1] if kind == 'workflow' else ''}".strip()
            all_parts.append((kind, name, generated, words))
    all_parts.append(("faas", "faas bundles", bundles, ()))
    all_parts.append(("clusters", "clusters model", cluster_model, ()))
    studies: list[tuple[str, ...]] = [
        ("vm/azure-like-10k", "--method", "successive-halving", "--evaluations", "1000"),
        ("jobs/alibaba-like-10", "--method", "auto", "--evaluations", "200"),
        ("workflow/demo", "--method", "ocba", "--evaluations", "200"),
        ("faas/serverless-basic", "--method", "mocba", "--evaluations", "120"),
        ("tiers/rubis-hour", "--method", "los", "--evaluations", "1200"),
        ("clusters/ligo-20", "--method", "los", "--evaluations", "600000"),
    ]
    for study in studies:
        all_parts.append((study[0].partition("/")[0], f"{study[0]} optimize", studied, study))
    for method in faces.optimizers().METHODS:
        for objectives in (1, 2):
            for common in (False, True):
                name = f"optimizers {method} {objectives} {'common' if common else 'own'}"
                all_parts.append(("optimizers", name, optimised, (method, objectives, common)))
    for kind in ("consistent-high-high", "inconsistent-low-high", "semi-consistent-high-low"):
        for seed in SEEDS:
            all_parts.append(("map", f"map {kind} {seed}", mapped, (kind, seed)))
    for method in ("stepwise", "exhaustive", "ecga"):
        for seed in SEEDS:
            all_parts.append(("reduce", f"reduce {method} {seed}", reduced, (method, seed)))
    all_parts.append(("queueing", "queueing", theory, ()))
    return all_parts
