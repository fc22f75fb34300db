"""A policy with a number to tune, and `optimize` to tune it.

The number follows the name of the policy: `keep-free:cores=4`. In the function it is `p.cores`.
"""

import cloudarena


@cloudarena.parameters(cores=0.0)
def keep_free(pms, vm, p, rng):
    """The fullest machine that still has some cores free afterwards; else any valid one."""
    best, other = -2, -2
    for m in range(len(pms.valid)):
        if not pms.valid[m]:
            continue
        left = pms.free_cores[m] - vm.cores
        if left >= p.cores and (best < 0 or pms.free_cores[m] < pms.free_cores[best]):
            best = m
        elif other < 0:
            other = m
    return best if best >= 0 else other


def main() -> None:
    """Tries some numbers on a cloud that is too small."""
    scenario = cloudarena.load("vm/azure-like-10k", {"ticks": 600, "machines[0].count": 70})
    names = [f"{__file__}:keep_free:cores={cores}" for cores in (0, 2, 8, 30)]
    comparison = cloudarena.compare(scenario, names, replications=4, workers=1)
    for name in comparison.policies:
        profit = comparison.estimate(name, "profit_usd")
        print(f"{name.rpartition('keep_free:')[2]:9} {profit.mean:9,.0f} $")


if __name__ == "__main__":
    main()
