"""What a user may write for tiers, and what a validated spec has not imported."""

import subprocess
import sys

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import SpecError, TraceError
from cloudarena.learn.env import CloudEnv

from .decisions import service


def test_the_old_key_of_arrivals_is_refused_with_the_new_one():
    with pytest.raises(SpecError, match="arrivals: key 'kind' is not allowed: it is called 'sou"):
        service(arrivals={"kind": "constant", "rate": 4.0})
    with pytest.raises(SpecError, match=r"arrivals.source: is required"):
        service(arrivals={"rate": 4.0})
    with pytest.raises(SpecError, match="arrivals: unknown key 'kind'"):
        service(arrivals={"source": "constant", "rate": 4.0, "kind": "constant"})


def test_rates_from_a_file(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text("time_s,rate\n0,2\n3,5\n")
    scenario = service(arrivals={"source": "series", "path": str(path), "scale": 2}, duration_s=5)
    assert scenario.load_workload(0).tolist() == [4.0, 4.0, 4.0, 10.0, 10.0]
    path.write_text("time_s,rate\n1,2\n")
    with pytest.raises(TraceError, match=r"line 2: time_s: 1.0 is not allowed: from 0 on, rising"):
        scenario.load_workload(0)


def test_a_spec_is_validated_without_numba_and_arrow():
    code = (
        "import sys\n"
        "from cloudarena.scenarios.tiers.spec import TiersScenario\n"
        "TiersScenario.parse({'scenario': 'tiers', 'arrivals': {'source': 'constant', 'rate': 1},"
        " 'tiers': [{'name': 'a', 'fat': {'rate': 1, 'max': 1, 'start': 1},"
        " 'thin': {'rate': 1, 'max': 1, 'start': 0}}]})\n"
        "print([name for name in ('numba', 'pyarrow', 'scipy') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


DIRECTED = [metric.name for metric in cloudarena.load("tiers/toy").kind.metrics if metric.better]


@pytest.mark.parametrize("name", DIRECTED)
def test_every_metric_with_a_direction_is_a_reward(name):
    """Rewards are finite, and sum to the metric where nobody was blocked."""
    scenario = service(duration_s=300, arrivals={"source": "constant", "rate": 5.0})
    env = CloudEnv(scenario, reward=name, observation="flat")
    env.reset(seed=1)
    total, ended = 0.0, False
    while not ended:
        _, reward, ended, _, info = env.step(np.array([1, 1, 2, 4, 1, 0]))
        assert np.isfinite(reward)
        total += reward
    assert info["metrics"]["blocked"] == 0
    sign = -1 if scenario.kind.metric[name].better == "lower" else 1
    assert total == pytest.approx(sign * info["metrics"][name])


@pytest.mark.parametrize("name", DIRECTED)
def test_nobody_earns_by_blocking(name):
    """After a minute without requests a slow VM blocks most of them, and three fast ones none."""
    tiers = [("only", (100.0, 3, 0), (0.01, 1, 1))]
    arrivals = {"source": "piecewise", "rates_at": [[0, 0], [60, 5]]}
    scenario = service(tiers, duration_s=600, arrivals=arrivals)
    earned = []
    for counts in ([[0, 1]], [[3, 0]]):
        run = scenario.start(0)
        run.play(lambda decision, counts=counts: counts)
        earned.append(scenario.observer(name).value(run))
    assert earned[1] > earned[0]


def test_a_reward_is_finite_before_anybody_came():
    scenario = service(
        duration_s=180, arrivals={"source": "piecewise", "rates_at": [[0, 0], [90, 5]]}
    )
    run = scenario.start(0)
    assert run.metrics()["arrived"] == 0
    for name in DIRECTED:
        assert np.isfinite(scenario.observer(name).value(run)), name
