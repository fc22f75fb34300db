"""Rules of a user's own: router, contention, how long replicas stay warm, and which make room."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena import simulate
from cloudarena.base.errors import CloudarenaError
from tests.scenarios.faas import own_rules
from tests.scenarios.faas.cases import column, function, scenario
from tests.scenarios.faas.reference import Reference
from tests.scenarios.faas.test_reference import check, scenarios

FILE = Path(own_rules.__file__)
RULES = {
    **{"router": "route", "contention": "slow", "keep": "stay", "evict": "rank"},
    **{f"lifecycle.{step}": step for step in ("start", "setup", "execution")},
}


def own(name):
    """How a spec names a rule."""
    return f"{FILE}:{name}"


@settings(max_examples=25)
@given(
    scenario=scenarios(),
    seed=st.integers(0, 100),
    wanted=st.sets(st.sampled_from(sorted(RULES)), min_size=1),
)
def test_the_slow_reference_asks_the_same_functions(scenario, seed, wanted):
    spec = scenario.model_dump(mode="json", exclude_none=True)
    by_request = any(one.scaling.by == "per-request" for one in scenario.functions)
    for key in wanted:
        if key == "contention":
            spec[key] = {**spec[key], "model": own(RULES[key])}
        elif key.startswith("lifecycle."):
            spec.setdefault("lifecycle", {})[RULES[key]] = own(RULES[key])
        elif key == "router" or by_request:
            spec[key] = own(RULES[key])
    made = cloudarena.load(spec)
    check(made, seed, Reference(made, seed).run())


def test_a_router_decides_and_python_will_do_where_nothing_can_be_compiled():
    # Two replicas, a request of 1 s every half second: one of them alone falls behind.
    made = scenario(
        function(1.0, 2.0, workers=1, scaling={"minimum": 2}),
        devices={"types": {"nuc": 1}},
    )
    spec = made.model_dump(mode="json", exclude_none=True)
    both = simulate(cloudarena.load(spec | {"router": own("route")}))
    alone = simulate(cloudarena.load(spec | {"router": own("first")}))
    assert set(column(alone, "invocations", "replica")) == {0}
    assert set(column(both, "invocations", "replica")) == {0, 1}
    plain = simulate(made, "first-fit").metrics["completed"]
    assert alone.metrics["completed"] < both.metrics["completed"] == plain


def test_who_begins_claims_too():
    """Each claims a quarter of the node and takes 3.9 s, and 1 s for each quarter that is claimed.

    They come every 2 s: the second beside the first, the third beside both.
    """
    made = scenario(function(3.9, 0.5, workers=4), lifecycle={"execution": own("under_load")})
    result = simulate(made, "first-fit")
    starts, ends = (column(result, "invocations", name)[:3] for name in ("start_s", "finish_s"))
    taken = [end - start for start, end in zip(starts, ends, strict=True)]
    assert taken == pytest.approx([4.9, 5.9, 6.9])


def test_one_measures_over_time():
    """A request of 4 s at 0, 10, ... for a quarter of a NUC: 6 W, and 7 W more while it runs."""
    made = scenario(function(4.0, 0.1), sample_s=12.5, measure=own("look"))
    result = simulate(made, "first-fit")
    assert column(result, "measured", "time_s") == [12.5 * k for k in range(1, 9)]
    # At 12.5, 25, 37.5, ...: within four seconds after a request at 12.5, 62.5 and, just, 50 s no.
    busy = [12.5 * k % 10 < 4 for k in range(1, 9)]
    busy[3], busy[7] = False, False  # at 50 s and at the end, before the request comes
    assert column(result, "measured", "watts") == [6 + 7 * one for one in busy]
    assert column(result, "measured", "waiting") == [0] * 8
    assert "measured" not in simulate(made, "first-fit", record="none").tables
    spec = made.model_dump(mode="json", exclude_none=True) | {"measure": own("share_on")}
    alone = simulate(cloudarena.load(spec), "first-fit", record="full")
    assert column(alone, "measured", "value") == [1.0] * 8
    assert alone.metrics == result.metrics


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"router": own("beyond")},
            r"router: beyond \(.*own_rules.py:59\): 1 is not allowed: the index of one of the re",
        ),
        ({"router": own("wrong")}, r"router: wrong \(.*own_rules.py:66\): index 99 is out of boun"),
        ({"router": own("gone")}, "router: .*own_rules.py has no 'gone'"),
        ({"router": "nobody.py:route"}, "router: nobody.py does not exist"),
        ({"router": "nearest"}, "router: 'nearest' is not allowed: one of 'round-robin'"),
        ({"contention": {"model": own("negative")}}, r"contention.model: negative \(.*\): TypeErr"),
        (
            {"measure": own("words")},
            "measure: .*words returned {'watts': 'many'}: a number, or num",
        ),
        ({"measure": own("wrong")}, "measure: .*wrong raised AttributeError: .*no attribute 'work"),
        ({"measure": own("gone")}, "measure: .*own_rules.py has no 'gone'"),
        ({"lifecycle": {"start": own("gone")}}, "lifecycle.start: .*own_rules.py has no 'gone'"),
        (
            {"lifecycle": {"execution": own("negative")}},
            r"lifecycle.execution: negative \(.*\): -1 is not allowed: seconds, at least 0",
        ),
        ({"lifecycle": {"start": "start"}}, "lifecycle.start: 'start' is not allowed"),
        ({"keep": own("stay")}, "no function scales by per-request"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said(changes, message):
    with pytest.raises(CloudarenaError, match=message):
        simulate(scenario(function(1.0, 1.0), **changes), "first-fit")


FAULTS = {
    "replicas.work[0] = 9.0": "9: it writes to an array that it is shown: those are read-only",
    "replicas.work.sort()": "9: it writes to an array that it is shown: those are read-only",
    "np.take_along_axis(replicas.work, np.array([10**9]), 0)": "9: index 1000000000 is out of bou",
    "as_strided(replicas.work, (10**9,))[10**9 - 1] = 1.0": "9: ",
    "return helper(replicas.work)": "6: index 1000000 is out of bounds",
    "return 1 // (len(replicas.work) - 1)": "9: ZeroDivisionError",
    "raise SystemExit(3)": "9: SystemExit: 3",
    "return None": "8: None is not allowed: the index of one of the replicas",
    "return '0'": "8: '0' is not allowed: the index of one of the replicas",
    "return len(replicas.work) == 0": "8: False is not allowed: the index of one of the replicas",
    "return 0.5": "8: 0.5 is not allowed: the index of one of the replicas",
    "return 1e300": r"8: 1e\+300 is not allowed: the index of one of the replicas",
    "return float('nan')": "8: nan is not allowed: the index of one of the replicas",
    "yield 0": "8: <generator object .* is not allowed: the index of one of the replicas",
}
HOSTILE = """import numpy as np
from numpy.lib.stride_tricks import as_strided


def helper(work):
    return int(work[10**6])

def route(replicas):
    {}
    return 0
"""


@pytest.mark.parametrize("line", FAULTS)
def test_a_rule_can_neither_crash_a_run_nor_change_what_it_is_shown(line, tmp_path):
    file = tmp_path / "hostile.py"
    file.write_text(HOSTILE.format(line))
    number, _, words = FAULTS[line].partition(": ")
    with pytest.raises(CloudarenaError, match=rf"router: route \(.*hostile.py:{number}\): {words}"):
        simulate(scenario(function(1.0, 1.0), router=f"{file}:route"), "first-fit")


def test_an_object_that_is_called_may_be_a_rule(tmp_path):
    file = tmp_path / "objects.py"
    file.write_text(
        "class Counting:\n    count = 0\n    def __call__(self, replicas):\n"
        "        self.count += 1\n        return self.count % len(replicas.work)\n"
        "route = Counting()\n"
    )
    made = function(1.0, 2.0, workers=1, scaling={"minimum": 2})
    result = simulate(scenario(made, router=f"{file}:route"), "first-fit", record="full")
    assert set(column(result, "invocations", "replica")) == {0, 1}
