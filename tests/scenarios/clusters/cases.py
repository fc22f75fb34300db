"""Small scenarios for the tests."""

from cloudarena.scenarios.clusters import ClustersScenario


def fixed(value):
    """A distribution that always gives this value."""
    return {"kind": "gamma", "mean": value, "cv": 0}


def clusters(batches, seconds=(1, 1), memory_mb=(1, 1), **keys):
    """Classes a, b, ... with fixed task times and memory; batches are (time, tasks).

    ``clusters`` are virtual ones, VMs by name, and ``cluster_of`` has that of each class.
    """
    groups = keys.pop("clusters", {})
    whose = keys.pop("cluster_of", [""] * len(seconds))
    if groups:
        keys["clusters"] = [{"name": name, "vms": vms} for name, vms in groups.items()]
    else:
        keys.setdefault("vms", 4)
    return ClustersScenario.parse(
        {
            "scenario": "clusters",
            "classes": [
                {"name": name, "seconds": fixed(p), "memory_mb": fixed(d), "cluster": cluster}
                for name, p, d, cluster in zip("abcdefg", seconds, memory_mb, whose, strict=False)
            ],
            "workload": {
                "source": "inline",
                "batches": [{"time_s": time, "tasks": tasks} for time, tasks in batches],
            },
            **keys,
        }
    )


def generated(**keys):
    """Three classes of random batches on few VMs."""
    workload = {"source": "generated", "batches": 12, "horizon_s": 120, "regime_s": 30}
    workload |= keys.pop("workload", {})
    distributions = (
        {"kind": "gamma", "mean": 2.0, "cv": 0.5},
        {"kind": "log-normal", "mean": 1.0, "cv": 0.4},
        {"kind": "empirical", "values": [0.5, 1.0, 3.0]},
    )
    return ClustersScenario.parse(
        {
            "scenario": "clusters",
            "vms": 7,
            "classes": [
                {"name": name, "seconds": distribution, "memory_mb": distribution}
                for name, distribution in zip("abc", distributions, strict=True)
            ],
            "workload": workload,
            "stage_s": 15,
            **keys,
        }
    )


def play(scenario, plans, seed=0):
    """A run under these plans, one after the other."""
    run = scenario.start(seed)
    for plan in plans:
        run.apply(plan)
    return run
