"""Any small cluster with any small workload, as Hypothesis draws them."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

import cloudarena
from cloudarena.scenarios.workflow import WorkflowScenario

SPEEDS = st.sampled_from([1000, 1000, 1024, 997, 10**9])
SECONDS = st.one_of(
    st.sampled_from([0.25, 0.5, 1.0, 1.0, 2.0, 3.0, 10.0]),
    st.sampled_from([1800.0, 3590.0, 3599.0, 3600.0, 3601.0, 7200.0]),
    st.floats(0.01, 20.0),
)
ARRIVALS = st.one_of(
    st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, 2.5, 0.1, 3600.0, 3600.1, 7200.0]),
    st.integers(0, 200).map(lambda tenths: tenths / 10),
)
LATENCIES = st.sampled_from([0.0, 0.0, 0.5, 1.0, 0.1, 2.75, 1800.0])
BANDWIDTHS = st.sampled_from([(400.0, 200.0, 100.0), (300.0, 70.0, 9.0), (1e11, 5e10, 1e10)])


class Case(NamedTuple):
    """A spec without its workload, and the workflows as a user writes them."""

    spec: dict[str, Any]
    workflows: list[dict[str, Any]]

    def load(self, **changes: Any) -> WorkflowScenario:
        """The scenario."""
        return cloudarena.load({**self.spec, "workload": self.workflows, **changes})


@st.composite
def clusters(draw: Any) -> dict[str, Any]:
    """One to three types of servers, nine NUMA nodes at most."""
    memory, numa, network = draw(BANDWIDTHS)
    counts = draw(st.lists(st.integers(0, 2), min_size=1, max_size=3).filter(any))
    sizes = st.sampled_from([4, 8, 8, 16])
    return {
        "memory_bandwidth": memory,
        "numa_bandwidth": numa,
        "network_bandwidth": network,
        "single_core_speed": draw(SPEEDS),
        "servers": [
            {
                "name": f"type-{number}",
                "count": count,
                "hourly_rate": draw(st.sampled_from([1.0, 0.085, 1.53])),
                "cold_start_latency": draw(LATENCIES),
                "numa_nodes": {
                    "count": draw(st.integers(1, 3 if count < 2 else 2)),
                    "cpu": draw(st.integers(1, 5)),
                    "memory": draw(sizes),
                },
            }
            for number, count in enumerate(counts)
        ],
    }


@st.composite
def workflows(draw: Any, speed: int, bandwidth: float) -> dict[str, Any]:
    """A DAG; functions are not numbered in the order of their edges."""
    functions = [
        {
            "computation": max(1, round(draw(SECONDS) * speed)),
            "memory_req": draw(st.integers(1, 12)),
            "parallelism": draw(st.sampled_from([1, 1, 1, 2, 3, 4])),
        }
        for _ in range(draw(st.integers(1, 6)))
    ]
    order = draw(st.permutations(range(len(functions))))
    pairs = [(a, b) for k, b in enumerate(order) for a in order[:k]]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=8)) if pairs else []
    # Nothing that is far below a microsecond: floats would not show it after some hours.
    tenths = st.one_of(st.sampled_from([0, 0, 10, 20]), st.integers(0, 30))
    edges = [[a, b, draw(tenths) * int(bandwidth) // 10] for a, b in chosen]
    return {"arrival": draw(ARRIVALS), "functions": functions, "edges": edges}


@st.composite
def cases(draw: Any) -> Case:
    """Any small cluster and any small workload; mostly more work than it can take at once."""
    cluster = draw(clusters())
    spec = {
        "scenario": "workflow",
        "cluster": cluster,
        "work": draw(st.sampled_from(["integer", "integer", "real"])),
        "transfer": draw(st.sampled_from(["sum", "parallel"])),
        "admission": draw(st.sampled_from(["bypass", "strict", "backfill"])),
        "memory_options": draw(st.sampled_from([[1, 2, 4, 8], [3], [2, 64]])),
        "objective": draw(st.sampled_from([{}, {"weight": 0.25, "rent_scale": 3.0}])),
        "record": "full",
    }
    one = workflows(cluster["single_core_speed"], cluster["network_bandwidth"])
    return Case(spec, draw(st.lists(one, min_size=1, max_size=5)))
