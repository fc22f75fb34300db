"""Speed of the faas scenario, as a Markdown table.

``python -m benchmarks.faas [--simfaas FOLDER] [--quick]``: against SimPy, against SimFaaS 0.2.2 on
its own example (installed, or in a folder of ``pip install --no-deps --target FOLDER simfaas``),
and millions of invocations on 1,000 devices. CPU seconds (user and system), after compiling.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

import cloudarena
from benchmarks import faas_fixed_on_simpy, faas_on_simpy
from cloudarena.engine.hashing import make_key, name_key, uniform
from cloudarena.engine.variates import draw_all, make_distributions
from cloudarena.experiments.compare import interval

FUNCTIONS = 4
MOST_REPLICAS = 5000
REPEATS = 5
RATE, MEAN_WARM_S, MEAN_COLD_S = 0.9, 1.991, 2.244


def many_requests(seconds: float) -> Any:
    """Four functions with five replicas each on ten NUCs."""
    image = {"execution": {"distribution": "exponential", "mean_s": 0.5}, "use": {"cpu": 0.05}}
    functions = [
        {
            "name": f"f{k}",
            "workers": 4,
            "requests": {"source": "poisson", "rate": 25.0},
            "image": {**image, "cpu_millicores": 500},
            "start_s": 0,
            "scaling": {"minimum": 5},
        }
        for k in range(FUNCTIONS)
    ]
    return cloudarena.load(
        {
            "scenario": "faas",
            "duration_s": seconds,
            "devices": {"types": {"nuc": 10}},
            "functions": functions,
            "contention": {"model": "none"},
        }
    )


def edge_functions(seconds: float) -> Any:
    """``faas/edge-energy`` without its network and with more load."""
    return cloudarena.load(
        "faas/edge-energy", {"duration_s": seconds, "topology": "none", "load_scale": 4.0}
    )


def shares_of(run: Any, f: int) -> np.ndarray:
    """The uniform number of each request of a function, which decides how long it executes."""
    return uniforms(run, "execution", f, int((run.world.arriving == f).sum()))


def uniforms(run: Any, purpose: str, f: int, count: int) -> np.ndarray:
    """The first uniform numbers that a function draws for a purpose."""
    key, name = make_key(run.seed, purpose), name_key(run.scenario.functions[f].name)
    return np.array([uniform(key, name, number) for number in range(count)])


def starts_of(run: Any, f: int) -> list[list[float]]:
    """How long containers of a function take to start, by device and the order of replicas."""
    row, shares = run.world.functions[f], uniforms(run, "start", f, MOST_REPLICAS)
    if not np.isnan(row["start_s"]):
        return [[float(row["start_s"])] * MOST_REPLICAS] * len(run.infrastructure.types)
    distributions = run.world.fits[row["first_variant"]]["start_distribution"]
    return [
        draw_all(run.world.distributions, distribution, shares).tolist()
        for distribution in distributions
    ]


def functions_on_simpy(run: Any) -> list[faas_on_simpy.Function]:
    """The functions of a run with the times of all their requests on all devices."""
    world, functions = run.world, []
    for f, (row, spec) in enumerate(zip(world.functions, run.scenario.functions, strict=True)):
        shares, images = shares_of(run, f), []
        for v in range(row["first_variant"], row["end_variant"]):
            variant, fits = world.variants[v], world.fits[v]
            runs = fits["distribution"] >= 0
            images.append(
                faas_on_simpy.Image(
                    *(int(variant[name]) for name in ("cpu", "memory", "accelerator")),
                    accelerator_memory=int(variant["accelerator_memory"]),
                    setup_bytes=float(variant["setup_bytes"]),
                    memory_bound=float(variant["memory_bound"]),
                    claims=[
                        tuple(fit["claim"].tolist()) if run else None
                        for fit, run in zip(fits, runs, strict=True)
                    ],
                    cold_claims=fits["cold_claim"].tolist(),
                    mean_s=fits["mean_s"].tolist(),
                    times=[
                        draw_all(world.distributions, fit["distribution"], shares).tolist()
                        if run
                        else []
                        for fit, run in zip(fits, runs, strict=True)
                    ],
                )
            )
        workers, wanted = int(row["workers"]), int(row["wanted"])
        functions.append(faas_on_simpy.Function(spec, workers, images, wanted, starts_of(run, f)))
    return functions


class OnSimPy(NamedTuple):
    """What a run on SimPy took and gave."""

    seconds: float
    responses: list[float]
    energy_j: float
    function_j: list[list[float]] | None = None
    """Of each function, if that is told: what executions, cold starts and transfers took."""


def fixed_on_simpy(run: Any) -> OnSimPy:
    """Fixed replicas, in the least that does it."""
    distribution = make_distributions([run.scenario.functions[0].image.execution.made()])
    times = [draw_all(distribution, 0, shares_of(run, f)).tolist() for f in range(FUNCTIONS)]
    begin = time.process_time()
    responses, energy = faas_fixed_on_simpy.simulate(run, times)
    return OnSimPy(time.process_time() - begin, responses, energy)


def all_on_simpy(run: Any) -> OnSimPy:
    """The whole model."""
    functions = functions_on_simpy(run)
    begin = time.process_time()
    platform = faas_on_simpy.Platform(run, functions)
    platform.run()
    seconds = time.process_time() - begin
    responses = [response for function in functions for response in function.responses]
    energy = sum(node.energy for node in platform.nodes)
    parts = [[f.dynamic_j, f.start_j, f.network_j] for f in functions]
    return OnSimPy(seconds, responses, energy, parts)


def against_simpy(words: str, spec: Any, policy: str, on_simpy: Any, target: str = "") -> list[str]:
    """The same requests, responses and energy; then the CPU time of both.

    SimPy runs once, with compiled runs before and after it; their median counts.
    """
    cloudarena.simulate(spec, policy, record="none")  # compiles

    def compiled() -> tuple[float, Any]:
        run = spec.start(0, "none")
        begin = time.process_time()
        run.play(spec.kind.policies.resolve(policy))
        return time.process_time() - begin, run

    ours = [compiled()[0] for _ in range(REPEATS)]
    other = on_simpy(spec.start(0, "none"))
    ours += [compiled()[0] for _ in range(REPEATS)]
    _, run = compiled()
    world, metrics = run.world, run.metrics()
    found = np.sort(world.responses[: int(metrics["completed"])])
    assert len(found) == len(other.responses)
    assert np.allclose(found, np.sort(other.responses), rtol=1e-9, atol=1e-9)
    assert np.isclose(metrics["energy_wh"] * 3600, other.energy_j, rtol=1e-9)
    if other.function_j is not None:
        parts = [world.functions[name] for name in ("dynamic_j", "start_j", "network_j")]
        assert np.allclose(np.transpose(parts), other.function_j, rtol=1e-9)
    median = float(np.median(ours))
    each = f"{other.seconds / len(found) * 1e6:.1f} / {median / len(found) * 1e6:.2f} µs each"
    words = f"SimPy / compiled, {words}, {len(found):,} invocations ({each})"
    return [f"| {words} | {other.seconds / median:.0f} | {target} |"]


def against_simfaas(seconds: float, replications: int) -> list[str]:
    """SimFaaS's example: cold-start probability, servers, requests per CPU second."""
    try:
        from simfaas.ServerlessSimulator import ServerlessSimulator
    except ImportError:
        return ["| SimFaaS is not installed | | |"]
    begin = time.process_time()
    cold, servers, requests = [], [], 0
    for _ in range(replications):
        simulator = ServerlessSimulator(
            arrival_rate=RATE,
            warm_service_rate=1 / MEAN_WARM_S,
            cold_service_rate=1 / MEAN_COLD_S,
            expiration_threshold=600,
            max_time=seconds,
        )
        simulator.generate_trace(debug_print=False, progress=False)
        cold.append(simulator.get_cold_start_prob())
        servers.append(simulator.get_average_server_count())
        requests += simulator.total_req_count
    theirs = requests / (time.process_time() - begin)
    spec = cloudarena.load("faas/serverless-basic", {"duration_s": seconds})
    cloudarena.simulate(spec, "first-fit", record="none")
    begin = time.process_time()
    runs = [
        cloudarena.simulate(spec, "first-fit", seed, "none").metrics for seed in range(replications)
    ]
    ours = sum(run["requests"] for run in runs) / (time.process_time() - begin)
    rows = [
        f"| requests per CPU second / SimFaaS's ({ours:,.0f} / {theirs:,.0f}) "
        f"| {ours / theirs:.0f} | 20 |"
    ]
    for name, their_values, metric in (
        ("cold-start probability", cold, "cold_start_share"),
        ("servers", servers, "replicas_mean"),
    ):
        mine = interval(np.array([run[metric] for run in runs]))
        other = interval(np.array(their_values))
        rows.append(
            f"| {name}: ours, SimFaaS's | {mine.mean:.5g} ± {mine.half_width:.2g}, "
            f"{other.mean:.5g} ± {other.half_width:.2g} | equal |"
        )
    return rows


def a_city(hours: int) -> tuple[float, float, float]:
    """``faas/city-1000`` without recording: requests, CPU seconds, most memory in MB."""
    cloudarena.simulate(cloudarena.load("faas/city-1000", {"duration_s": 10}), record="none")
    begin = time.process_time()
    spec = cloudarena.load("faas/city-1000", {"duration_s": 3600.0 * hours})
    metrics = cloudarena.simulate(spec, record="none").metrics
    seconds = time.process_time() - begin
    return metrics["requests"], seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def millions() -> list[str]:
    """An hour of the city and more, each in a process of its own, whose memory is measured."""
    rows = []
    for hours in (1, 4, 8):
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            requests, seconds, memory = pool.submit(a_city, hours).result()
        words = f"{requests:,.0f} invocations on 1,000 devices, workload and all"
        rows.append(f"| {words} | {seconds:.1f} s, {memory:.0f} MB in all | seconds, flat |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simfaas", help="a folder that holds SimFaaS and what it needs")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if arguments.simfaas:
        sys.path.append(arguments.simfaas)
    rows = ["| figure | value | target |", "| --- | --- | --- |"]
    seconds = 300 if arguments.quick else 1800
    rows += against_simpy(
        "the whole model", edge_functions(seconds), "highest-performance", all_on_simpy, "100"
    )
    rows += against_simpy(
        "fixed replicas alone", many_requests(seconds), "first-fit", fixed_on_simpy
    )
    rows += against_simfaas(*((2e4, 3) if arguments.quick else (1e5, 8)))
    rows += millions()
    Console(width=140).print("\n".join(rows), highlight=False, markup=False)


if __name__ == "__main__":
    main()
