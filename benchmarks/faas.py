"""Speed of the faas scenario, as a Markdown table.

``python -m benchmarks.faas [--simfaas FOLDER] [--quick]``: against SimPy, against SimFaaS 0.2.2 on
its own example (installed, or in a folder of ``pip install --no-deps --target FOLDER simfaas``),
and a million invocations on 1,000 devices. CPU seconds (user and system), after compiling.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from typing import Any

import numpy as np
from rich.console import Console

import cloudarena
from benchmarks import faas_on_simpy
from cloudarena.engine.hashing import make_key, uniform
from cloudarena.engine.laws import draw_all, make_laws
from cloudarena.experiments.compare import interval

FUNCTIONS = 4
RATE, MEAN_WARM_S, MEAN_COLD_S = 0.9, 1.991, 2.244


def many_requests(seconds: float) -> Any:
    """Four functions with five replicas each on ten NUCs."""
    image = {"execution": {"law": "exponential", "mean_s": 0.5}, "use": {"cpu": 0.05}}
    functions = [
        {
            "name": f"f{k}",
            "workers": 4,
            "requests": {"kind": "poisson", "rate": 25.0},
            "image": {**image, "cpu_millicores": 500},
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


def against_simpy(seconds: float) -> list[str]:
    """The same requests, responses and energy; then the CPU time of both."""
    spec = many_requests(seconds)
    run = spec.start(0, "none")
    key, law = make_key(0, "execution"), make_laws([spec.functions[0].image.execution.made()])
    times = []
    for f in range(FUNCTIONS):
        count = int((run.world.arriving == f).sum())
        shares = np.array([uniform(key, f, number) for number in range(count)])
        times.append(draw_all(law, 0, shares).tolist())
    begin = time.process_time()
    responses, energy = faas_on_simpy.simulate(run, times)
    theirs = time.process_time() - begin
    cloudarena.simulate(spec, "first-fit", record="none")  # compiles
    policy = spec.book.resolve("first-fit")
    begin = time.process_time()
    run.play(policy)
    ours = time.process_time() - begin
    metrics = run.metrics()
    assert metrics["completed"] == len(responses)
    assert np.isclose(metrics["response_mean_s"], np.mean(responses), rtol=1e-9)
    assert np.isclose(metrics["energy_wh"] * 3600, energy, rtol=1e-9)
    words = f"SimPy / compiled, {len(responses):,} invocations ({theirs:.2f} s / {ours:.3f} s)"
    return [f"| {words} | {theirs / ours:.0f} | 100 |"]


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


def a_million() -> list[str]:
    """``faas/city-1000`` without recording."""
    cloudarena.simulate(cloudarena.load("faas/city-1000", {"duration_s": 10}), record="none")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    metrics = cloudarena.simulate("faas/city-1000", record="none").metrics
    seconds = time.process_time() - begin
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    words = f"{metrics['requests']:,.0f} invocations on 1,000 devices, workload and all"
    return [f"| {words} | {seconds:.1f} s, {more:.0f} MB more | seconds |"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simfaas", help="a folder that holds SimFaaS and what it needs")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if arguments.simfaas:
        sys.path.append(arguments.simfaas)
    rows = ["| figure | value | target |", "| --- | --- | --- |"]
    rows += against_simpy(200 if arguments.quick else 1000)
    rows += against_simfaas(*((2e4, 3) if arguments.quick else (1e5, 8)))
    rows += a_million()
    Console(width=140).print("\n".join(rows), highlight=False, markup=False)


if __name__ == "__main__":
    main()
