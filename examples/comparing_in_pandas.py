"""A comparison as a table: one row for each policy and replication."""

import pandas as pd

import cloudarena


def main() -> None:
    """Looks at differences to best-fit, draw by draw."""
    scenario = cloudarena.load("vm/azure-like-10k", {"ticks": 600, "machines[0].count": 70})
    policies = ["best-fit", "first-fit", "worst-fit"]
    comparison = cloudarena.compare(scenario, policies, replications=4, workers=1)
    frame = pd.concat(
        {
            metric: pd.DataFrame(comparison.values[metric].T, columns=comparison.policies)
            for metric in ("profit_usd", "failed")
        },
        axis=1,
    )
    frame.index.name = "replication"
    profit = frame["profit_usd"]
    print(profit.sub(profit["best-fit"], axis=0).round(2).to_string())
    print(frame["failed"].mean().to_string())


if __name__ == "__main__":
    main()
