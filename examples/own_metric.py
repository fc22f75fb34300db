"""A metric of one's own: a function of a run, measured, compared and judged like the others.

On the command line: `cloudarena compare SPEC --metric own_metric.py:busiest_rack_share`.
"""

import numpy as np

import cloudarena


@cloudarena.metric(better="lower", highlight=True)
def busiest_rack_share(run) -> float:
    """The allocated cores of the rack that has the most, over the cores of a rack, at the end."""
    machines = run.world.machines
    allocated = np.bincount(machines.rack, machines.allocated_cores)
    return float((allocated / np.bincount(machines.rack, machines.cores)).max())


def main() -> None:
    """Compares two policies by it."""
    scenario = cloudarena.load("vm/azure-like-10k", {"ticks": 300}).measuring(busiest_rack_share)
    policies = ["first-fit", "worst-fit"]
    comparison = cloudarena.compare(scenario, policies, replications=5, workers=1)
    for policy in policies:
        print(f"{policy:10} {comparison.estimate(policy, busiest_rack_share.name).mean:.3f}")
    print(comparison.conclusion(busiest_rack_share.name))


if __name__ == "__main__":
    main()
