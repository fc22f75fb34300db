"""Which policy, how many machines, how much oversubscription? A search with a stated claim."""

import cloudarena

STUDY = {
    "spec": {
        "scenario": "vm",
        "ticks": 300,
        "machines": [{"count": 20, "cores": 32, "memory_gb": 128}],
        "workload": {"source": "azure-like", "vms": 600, "concurrent": 150, "ticks": 300},
    },
    "designs": {
        "policy": ["best-fit", "worst-fit"],
        "machines[0].count": [10, 14, 20],
    },
    "objectives": ["profit_usd"],
}


def main() -> None:
    """Tries six designs on common random numbers."""
    found = cloudarena.optimize(STUDY, "monte-carlo", evaluations=60, workers=1)
    print(found.headline())
    print(found.selection.alignment)


if __name__ == "__main__":
    main()
