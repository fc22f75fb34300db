"""Workflows for tests: some by hand, and any DAG for Hypothesis."""

from hypothesis import strategies as st

from cloudarena.workloads.workflow.template import workflow_template


def chain(name="chain", functions=3):
    """Functions one after the other: 1 s, 2 s, ... at a speed of 1000."""
    return workflow_template(
        name,
        computation=[1000 * (k + 1) for k in range(functions)],
        memory_req=[128] * functions,
        parallelism=[1] * functions,
        edges=[(k, k + 1, 10 * (k + 1)) for k in range(functions - 1)],
    )


def diamond(name="diamond"):
    """One, then two, then one again, which is numbered first."""
    return workflow_template(
        name,
        computation=[4000, 1000, 6000, 1000],
        memory_req=[128, 256, 512, 1024],
        parallelism=[1, 1, 2, 1],
        edges=[(1, 2, 5), (1, 3, 6), (3, 0, 7), (2, 0, 0)],
        function_names=["end", "begin", "left", "right"],
    )


@st.composite
def templates(draw, most_functions=8):
    """Any small DAG, its functions numbered in any order."""
    functions = draw(st.integers(1, most_functions))
    place = draw(st.permutations(range(functions)))
    pairs = [(a, b) for a in range(functions) for b in range(a + 1, functions)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    column = st.lists(st.integers(1, 10**6), min_size=functions, max_size=functions)
    return workflow_template(
        draw(st.text(max_size=5)),
        draw(column),
        draw(column),
        draw(column),
        [(place[a], place[b], draw(st.integers(0, 10**9))) for a, b in chosen],
    )


def same(one, other):
    """Whether two templates or workloads are equal, types included."""
    for name in one._fields:
        ours, theirs = getattr(one, name), getattr(other, name)
        if hasattr(ours, "dtype"):
            assert ours.dtype == theirs.dtype, name
        if hasattr(ours, "tolist"):
            ours, theirs = ours.tolist(), theirs.tolist()
        assert ours == theirs, name
