"""A policy of one's own: one function, compared with the built-in ones on the same work.

It runs compiled; step through it in a debugger by `run.apply(policy(decision))`, with the same
result to the last bit.
"""

import cloudarena


def fewest_vms(pms, vm, rng):
    """The valid machine with the fewest VMs."""
    best = -2  # put off, when no machine is valid
    for m in range(len(pms.valid)):
        if pms.valid[m] and (best < 0 or pms.vms[m] < pms.vms[best]):
            best = m
    return best


def main() -> None:
    """Compares it with best-fit on five draws of a cloud that is too small."""
    scenario = cloudarena.load("vm/azure-like-10k", {"ticks": 600, "machines[0].count": 70})
    comparison = cloudarena.compare(scenario, ["best-fit", fewest_vms], replications=5, workers=1)
    for policy in comparison.policies:
        share = comparison.estimate(policy, "unserved_share")
        profit = comparison.estimate(policy, "profit_usd")
        print(f"{policy:12} unserved {share.mean:6.1%}   profit {profit.mean:9,.0f} $")
    print(comparison.conclusion())


if __name__ == "__main__":
    main()
