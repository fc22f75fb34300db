"""Runs of this version beside those of another.

``python -m benchmarks.versions --source FOLDER [SCENARIO...] [--repeats 7]`` prints the CPU seconds
(user and system) of ``run.play`` alone, after compiling, the best of several, and the ratio. The
versions, of which FOLDER is the ``src`` of the other, take turns run by run: what else runs on the
machine then troubles both. Without scenarios they are those of faas whose speed was promised:
``faas/edge-energy``, ``faas/city-1000`` and ``functions``, 4,000 functions on 1,000 nodes. A name
of the catalogue is the spec that each version has under it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[1] / "src"
SCENARIOS = ("faas/edge-energy", "faas/city-1000", "functions")
PLAYER = '''
import sys, time
import cloudarena

def functions(source):
    """Thousands of functions, each asked for now and then, on as many nodes as a city has."""
    image = {"execution": {"law": "exponential", "mean_s": 0.2}, "use": {"cpu": 0.02}}
    image |= {"cpu_millicores": 50, "memory_mb": 64}
    rule = {"by": "per-request", "minimum": 0, "maximum": 50, "expiry_s": 300}
    return {
        "scenario": "faas", "duration_s": 3600, "devices": {"types": {"nuc": 1000}},
        "functions": [
            {"name": f"f{k}", "start_s": 0.5, "image": image, "scaling": rule,
             "requests": {source: "poisson", "rate": 0.6 / (1 + k / 40)}}
            for k in range(4000)
        ],
    }

name = sys.argv[1]
if name == "functions":
    try:
        scenario = cloudarena.load(functions("source"))
    except Exception:
        scenario = cloudarena.load(functions("kind"))  # as version 0.1.0 calls it
else:
    scenario = cloudarena.load(name)
kind = type(scenario.start(0, None))
play, spent = kind.play, []

def timed(run, policy):
    begin = time.process_time()
    play(run, policy)
    spent.append(time.process_time() - begin)

kind.play = timed
policy = "first-fit" if name == "functions" else None
for line in sys.stdin:
    result = cloudarena.simulate(scenario, policy, 0, "summary")
    print(spent[-1], result.metrics.get("requests", 0), flush=True)
'''
"""Plays a scenario each time that it is asked to; it runs under both versions."""


class Player:
    """A process that plays a scenario under one version."""

    def __init__(self, scenario: str, source: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PLAYER, scenario],
            env={**os.environ, "PYTHONPATH": str(source)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def play(self) -> tuple[float, int]:
        """CPU seconds of a run, and its requests where there are any."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print("play", file=self.process.stdin, flush=True)
        seconds, requests = self.process.stdout.readline().split()
        return float(seconds), int(float(requests))

    def end(self) -> None:
        """Ends the process."""
        self.process.communicate()


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    parser.add_argument("--source", type=Path, required=True, help="src of the other version")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    print("| scenario | other, CPU s | this, CPU s | ratio | a request, µs, other and this |")
    print("| --- | ---: | ---: | ---: | ---: |", flush=True)
    for scenario in options.scenarios or SCENARIOS:
        players = [Player(scenario, source) for source in (options.source, HERE)]
        taken: list[list[tuple[float, int]]] = [[player.play()] for player in players]
        for _ in range(options.repeats):
            for player, times in zip(players, taken, strict=True):
                times.append(player.play())
        for player in players:
            player.end()
        # The first of each compiled, or loaded what was compiled.
        other, this = (min(times[1:]) for times in taken)
        each = [f"{1e6 * s / n:.2f}" if n else "-" for s, n in (other, this)]
        cells = f"{other[0]:.4f} | {this[0]:.4f} | {this[0] / other[0]:.2f} | {', '.join(each)}"
        print(f"| {scenario} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
