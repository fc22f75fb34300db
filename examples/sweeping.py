"""Many runs in a store: a grid of settings and policies, queried and compared."""

import tempfile

import cloudarena

EXPERIMENT = {
    "spec": "vm/azure-like-10k",
    "policies": ["best-fit", "worst-fit"],
    "set": {"ticks": [600], "machines[0].count": [60, 80], "oversubscription.cpu": [1.0, 1.25]},
    "replications": 4,
}


def main() -> None:
    """Runs 32 runs, then asks what they say; a second sweep has nothing to do."""
    with tempfile.TemporaryDirectory() as store:
        done = cloudarena.sweep(EXPERIMENT, store, workers=1)
        print(f"{done.ran} runs, {done.failed} failed")
        results = cloudarena.open_results(store)
        frame = results.pandas()
        keys = ["policy", "machines[0].count", "oversubscription.cpu"]
        print(frame.groupby(keys)["failed"].mean().round(1).to_string())
        small = "select policy, max(profit_usd) as most from runs"
        small += ' where "machines[0].count" = 60 group by policy order by policy'
        rows = results.sql(small).to_pylist()
        print([(row["policy"], round(row["most"])) for row in rows])
        again = cloudarena.sweep(EXPERIMENT, store, workers=1)
        print(f"{again.ran} runs, {again.found} were there already")


if __name__ == "__main__":
    main()
