"""Searches the weights of ``engine.gpu_tuned``: shares of GPUs in Alibaba's cluster.

    python -m benchmarks.gpu_weights DIR --minutes 8

DIR holds the lists of ``cloudarena reproduce fgd``. A covariance matrix adaptation evolution
strategy looks for the weights that give the most GPUs on three of six lists, with draws that are
new in each generation and the same for all of its candidates. Four of the six lists have no
published figure, and no draw is one of those that the entry reports.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from cmaes import CMA

from cloudarena.engine.gpu_scores import Rule
from cloudarena.engine.gpu_tuned import CLASSES, FEATURES, NODE_FEATURES
from cloudarena.reproduce import fgd

LISTS = ("cpu037", "cpu072", "gpushare20", "gpuspec05", "default", "multigpu30")
AT_A_TIME = 3
FIRST_SEED = 1000
POPULATION, SIGMA, UNIT = 16, 0.3, 0.1
USED = np.zeros((len(CLASSES), FEATURES), bool)
USED[:, : len(NODE_FEATURES)] = True
USED[1] = True


def start():
    """The weights to begin with: what is left of CPUs and GPUs, as best-fit has it."""
    weights = np.zeros((len(CLASSES), FEATURES))
    weights[:, :2] = 0.04
    return weights


def unpack(values):
    weights = np.zeros((len(CLASSES), FEATURES))
    weights[USED] = values * UNIT
    return weights


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    nodes = next(options.folder.rglob(f"{fgd.NODES}*"))
    clusters = [
        fgd.read_cluster(nodes, next(options.folder.rglob(f"{fgd.LIST.format(name)}*")))
        for name in LISTS
    ]
    search = CMA(
        mean=start()[USED] / UNIT, sigma=SIGMA, seed=options.seed, population_size=POPULATION
    )
    end = time.process_time() + 60.0 * options.minutes
    generation = 0
    while time.process_time() < end:
        chosen = [(AT_A_TIME * generation + k) % len(LISTS) for k in range(AT_A_TIME)]
        seed = FIRST_SEED + generation
        tried = [search.ask() for _ in range(POPULATION)]
        found = [
            np.mean(
                [
                    fgd.allocated(clusters[k], Rule.TUNED, seed, weights=unpack(values))[0]
                    for k in chosen
                ]
            )
            for values in tried
        ]
        search.tell([(x, -value) for x, value in zip(tried, found, strict=True)])
        generation += 1
        print(generation, f"{max(found):.3f}", f"{np.mean(found):.3f}", flush=True)
    print(np.round(unpack(search.mean), 3).tolist())


if __name__ == "__main__":
    main()
