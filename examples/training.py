"""Training: a policy learned by the cross-entropy method, as a file, against two heuristics.

So few and so short runs teach little; docs/train.md has a training that does.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import cloudarena

SMALL = {"ticks": 200, "workload.vms": 500, "workload.concurrent": 90, "machines[0].count": 5}
FEW = {"population": 12, "windows": 2}


def main() -> None:
    """Trains, saves, and plays what was learned by its name."""
    scenario = cloudarena.load("vm/azure-like-10k-16c", SMALL)
    training = cloudarena.train(
        scenario, reward="income_usd", steps=96, replications=4, options=FEW
    )
    print(f"{len(training.curve)} points of the learning curve")
    print(f"decides most: {training.importance[0].feature}")
    with TemporaryDirectory() as folder:
        training.save(Path(folder))
        mine = f"learned:{folder}"
        found = cloudarena.compare(scenario, [mine, "best-fit", "random"], replications=4)
        for policy in found.policies:
            income = found.estimate(policy, "income_usd").mean
            print(f"{policy.partition(':')[0]}: {income:,.2f} $ on average")


if __name__ == "__main__":
    main()
