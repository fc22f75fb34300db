"""Nodes and links that fail, requests that are tried again, and functions that call others."""

import pytest

import cloudarena
from cloudarena import simulate
from cloudarena.base.errors import SpecError
from tests.scenarios.faas.cases import MB_S, column, function, scenario

SMALL = {"use": {"cpu": 0.25}, "cpu_millicores": 1000}
ALONE = {"source": "none"}


def failing(*failures, **changes):
    """One replica on the first of two NUCs, a request of 3 s every 10 s; the first node fails."""
    made = function(3.0, 0.1, image=SMALL, **changes)
    topology = {"failures": list(failures)}
    return scenario(made, devices={"types": {"nuc": 2}}, topology=topology)


def outcomes(result):
    """The outcomes in the order of arrival, with the times at which requests ended."""
    rows = sorted(result.tables["invocations"].to_pylist(), key=lambda row: row["arrival_s"])
    return [(row["outcome"], row["finish_s"]) for row in rows]


def test_a_request_on_a_node_that_fails_has_failed():
    # The requests of 0, 10, 20 ... s; that of 10 s is lost at 11 s. The replica is placed anew on
    # the other node at once, since its image has no bytes, and all others are served there.
    result = simulate(failing({"node": "nuc-0", "at_s": 11, "for_s": 20}), "first-fit")
    metrics = result.metrics
    assert (metrics["requests"], metrics["completed"], metrics["failed"]) == (10, 9, 1)
    assert metrics["unserved_share"] == 0.1
    assert outcomes(result)[:3] == [("completed", 3), ("failed", 11), ("completed", 23)]
    assert column(result, "replicas", "node") == ["nuc-0", "nuc-1"]
    assert column(result, "replicas", "stopped_s") == [11, None]
    # The first NUC draws nothing for 20 s of 100.
    idle = column(result, "nodes", "idle_energy_j")
    assert idle[0] == pytest.approx(0.8 * idle[1])
    assert column(result, "nodes", "on_share") == pytest.approx([0.8, 1.0])


def test_it_is_tried_again_where_that_is_said():
    result = simulate(failing({"node": "nuc-0", "at_s": 11, "for_s": 20}, retries=1), "first-fit")
    metrics = result.metrics
    assert (metrics["completed"], metrics["failed"], metrics["retries"]) == (10, 0, 1)
    assert outcomes(result)[1] == ("completed", 14)  # begun at 11 s on the other node
    assert sum(column(result, "invocations", "retries")) == 1
    # Both tries are paid for: the sum over invocations is that of the function.
    assert sum(column(result, "invocations", "energy_j")) == pytest.approx(
        column(result, "functions", "dynamic_energy_j")[0]
    )


def test_what_cannot_be_tried_any_more_fails_and_time_outs_hold_for_all_tries():
    both = [{"node": f"nuc-{k}", "at_s": 11 + k} for k in range(2)]
    metrics = simulate(failing(*both, retries=1)).metrics
    assert (metrics["completed"], metrics["failed"], metrics["unfinished"]) == (1, 1, 8)
    metrics = simulate(failing(*both, retries=5, timeout_s=9)).metrics
    assert (metrics["completed"], metrics["timed_out"], metrics["unfinished"]) == (1, 9, 0)


def test_a_link_that_fails_holds_up_what_it_carries():
    # 121.25 MB take 1 s; the link is away from 0.4 s to 5 s, so they are there at 5.6 s.
    nodes = [{"name": "hub", "registry": True}, {"name": "box", "device": "nuc"}]
    link = {"a": "hub", "b": "box", "mbps": 1000}
    topology = {"nodes": nodes, "links": [link]}
    topology["failures"] = [{"link": ["box", "hub"], "at_s": 0.4, "for_s": 4.6}]
    made = function(image={"image_mb": MB_S})
    result = simulate(scenario(made, devices={}, topology=topology), record="full")
    (row,) = result.tables["flows"].to_pylist()
    assert (row["begin_s"], row["end_s"]) == pytest.approx((0.0, 5.6))


def chain(wait=True, **changes):
    """A request of 1 s every 20 s whose invocations call two others, of 2 and 3 s."""
    first = function(1.0, 0.05, image=SMALL, name="first", calls=["left", "right"], **changes)
    if not wait:
        first["calls"] = [{"function": name, "wait": False} for name in ("left", "right")]
    left = function(2.0, image=SMALL, name="left", requests=ALONE)
    right = function(3.0, image=SMALL, name="right", requests=ALONE)
    return first, left, right


def ends(result, name):
    """When the requests of a function ended, in order, and how."""
    rows = result.tables["invocations"].to_pylist()
    rows = [row for row in rows if row["function"] == name and row["finish_s"] is not None]
    return sorted((row["finish_s"], row["outcome"]) for row in rows)


def test_a_caller_answers_when_those_it_waits_for_have():
    result = simulate(scenario(*chain()), "first-fit", record="full")
    assert ends(result, "left")[:2] == [(3.0, "completed"), (23.0, "completed")]
    assert ends(result, "right")[:2] == [(4.0, "completed"), (24.0, "completed")]
    assert ends(result, "first")[:2] == [(4.0, "completed"), (24.0, "completed")]
    assert result.metrics["requests"] == 15
    rows = [r for r in result.tables["invocations"].to_pylist() if r["function"] == "left"]
    callers = [(row["caller"], row["caller_request"]) for row in rows[:2]]
    assert callers == [("first", 0), ("first", 1)]


def test_or_at_once_if_it_does_not_wait():
    result = simulate(scenario(*chain(wait=False)), "first-fit", record="full")
    assert ends(result, "first")[:2] == [(1.0, "completed"), (21.0, "completed")]
    assert ends(result, "right")[:2] == [(4.0, "completed"), (24.0, "completed")]


def test_a_caller_holds_its_worker_and_fails_without_an_answer():
    first, left, right = chain(workers=1)
    first["requests"]["rate"] = 1.0
    left["queue_limit"], left["workers"] = 0, 1
    result = simulate(scenario(first, left, right, duration_s=8), "first-fit", record="full")
    # Each holds the worker for 4 s: until 4 s and 8 s.
    assert ends(result, "first")[0] == (4.0, "completed")
    first["workers"] = 2
    result = simulate(scenario(first, left, right, duration_s=8), "first-fit", record="full")
    # The second calls at 2 s, finds the only worker of left busy until 3 s, and fails with it;
    # first it has the answer of right, which takes it up at 4 s.
    assert ends(result, "left")[0] == (2.0, "rejected")
    assert (7.0, "failed") in ends(result, "first")


def test_one_that_gives_up_leaves_those_it_called():
    first, left, right = chain(timeout_s=1.5)
    result = simulate(scenario(first, left, right), "first-fit", record="full")
    assert ends(result, "first")[0] == (1.5, "timed_out")
    assert ends(result, "right")[0] == (4.0, "completed")


def test_calls_that_never_come_are_left_undone():
    # The callers are given up before they call: of each, left, right and two of right's are missed.
    first, left, right = chain(timeout_s=0.5)
    right["calls"] = [{"function": "last", "count": 2, "wait": False}]
    last = function(0.1, image=SMALL, name="last", requests=ALONE)
    other = function(1.0, 0.05, image=SMALL, name="other")
    spec = scenario(first, left, right, last, other, devices={"types": {"nuc": 2}})
    result = simulate(spec, "first-fit")
    assert (result.metrics["requests"], result.metrics["timed_out"]) == (10, 5)
    assert result.metrics["unserved_share"] == 5 * 5 / (5 * 5 + 5)


def test_calls_that_have_not_come_at_the_end_are_left_undone_too():
    first, left, right = chain()
    first["image"]["execution"]["seconds"] = 90.0
    first["requests"]["rate"] = 0.01
    result = simulate(scenario(first, left, right, duration_s=50), "first-fit")
    assert (result.metrics["requests"], result.metrics["unserved_share"]) == (1, 1.0)
    assert result.metrics["unfinished"] == 1


def test_who_turns_callers_away_does_not_win_by_it():
    """The calls of who is served overload a function; without any of them all look served."""
    first = function(0.2, 0.5, image=SMALL, name="first", calls=[{"function": "g", "count": 20}])
    first["calls"][0]["wait"] = False
    second = function(0.5, image=SMALL, name="g", requests=ALONE, queue_limit=2)
    third = function(0.1, 5.0, image=SMALL, name="h")
    spec = scenario(first, second, third)

    def turns_away(decision):
        return -1 if decision.replica.function == 0 else 0

    comparison = cloudarena.compare(spec, ["first-fit", turns_away], replications=2, workers=1)
    assert comparison.winner(spec.kind.metric["unserved_share"]) == "first-fit"
    assert comparison.out_of_the_running == ("turns_away",)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ({"node": "nux-0", "at_s": 1}, r"node 'nux-0' is not allowed: a device. Did you mean"),
        ({"link": ["a", "b"], "at_s": 1}, "link is not allowed: there is no topology"),
        ({"at_s": 1}, "one of node and link is needed"),
    ],
)
def test_failures_of_what_is_not_there(failure, words):
    with pytest.raises(SpecError, match=words):
        failing(failure).start(0)


def test_what_fails_twice_must_be_repaired_between():
    with pytest.raises(SpecError, match="nuc-0 fails at 5 s, but has not been repaired"):
        failing({"node": "nuc-0", "at_s": 1}, {"node": "nuc-0", "at_s": 5}).start(0)


def test_calls_are_of_functions_and_end():
    with pytest.raises(SpecError, match=r"functions\[0\].calls: 'g' is not a function"):
        scenario(function(calls=["g"]))
    with pytest.raises(SpecError, match="'f' is not allowed to call itself"):
        scenario(function(calls=["g"]), function(name="g", calls=["f"]))


def test_invocations_fail_by_themselves():
    """Each of ten requests executes three times, fails each time, and is never answered."""
    work = function(1.0, 0.1, failure_share=1.0, retries=2)
    result = simulate(scenario(work), "first-fit", record="full")
    assert result.metrics["failed"] == result.metrics["unserved_share"] * 10 == 10
    assert result.metrics["retries"] == 20
    assert column(result, "invocations", "energy_j") == pytest.approx([3 * 0.25 * 28] * 10)
    assert column(result, "invocations", "response_s") == pytest.approx([3.0] * 10)


def test_the_share_of_failures_is_that_of_the_spec_and_the_same_under_all_policies():
    work = function(0.1, 20.0, failure_share=0.1, workers=9)
    made = scenario(work, devices={"types": {"nuc": 2, "rpi4": 2}})
    failed = []
    for policy in ("first-fit", "random"):
        rows = simulate(made, policy, record="full").tables["invocations"].to_pylist()
        failed.append({row["request"] for row in rows if row["outcome"] == "failed"})
    assert failed[0] == failed[1]
    assert 150 < len(failed[0]) < 250


def test_the_least_loaded_is_the_oldest_idle_one_also_after_another_has_gone():
    # One replica on each of four NUCs; those of 0 and 2 are idle when the first fails at 3.5 s, and
    # that of 1 is busy. The request of 4 s goes to the oldest idle one, number 2.
    times = {"distribution": "recorded", "seconds": [3.4, 10, 1, 0.1, 0.1, 0.1]}
    made = function(image={"execution": times, **SMALL}, scaling={"minimum": 4}, workers=1)
    made |= {"placement": {"per_node": 1}}
    topology = {"failures": [{"node": "nuc-0", "at_s": 3.5}]}
    more = {"devices": {"types": {"nuc": 4}}, "topology": topology, "duration_s": 5}
    result = simulate(scenario(made, router="least-loaded", **more), "first-fit")
    rows = result.tables["invocations"].to_pylist()
    found = sorted((row["arrival_s"], row["replica"]) for row in rows)
    assert found == [(0, 0), (1, 1), (2, 2), (3, 2), (4, 2)]
