"""LOS on a simulation: Monte Carlo's choice at a tenth of its evaluations."""

import pytest

from cloudarena.catalogue import read_yaml, studies
from cloudarena.experiments.compare import interval
from cloudarena.experiments.scenario_problem import ScenarioProblem
from cloudarena.experiments.study import read_study
from cloudarena.optimizers import MemoizedProblem, los, monte_carlo
from cloudarena.optimizers.ordinal.final_rules import knee_scores

SERVICE = {
    "scenario": "tiers",
    "duration_s": 480,
    "arrivals": {"source": "sine", "mean": 3, "amplitude": 0.7, "period_s": 480},
    "routing": {"kind": "depth", "forward": [0.8]},
    "tiers": [
        {
            "name": "app",
            "fat": {"rate": 3.6, "max": 2, "start": 1},
            "thin": {"rate": 2, "max": 4, "start": 2},
        },
        {
            "name": "db",
            "fat": {"rate": 4, "max": 1, "start": 1},
            "thin": {"rate": 2, "max": 2, "start": 1},
        },
    ],
    "sla": {"metric": "mean", "seconds": 5, "penalty_usd": 0.1},
}
"""It carries its load under every design: what is lost would drown what designs differ by."""
REPLICATIONS = 150


@pytest.fixture(scope="module")
def study():
    """The thresholds of ``tiers/rubis-hour`` on a small service."""
    thresholds = read_yaml(studies()["tiers/rubis-hour"], "thresholds")
    return read_study({**thresholds, "spec": SERVICE, "sample": 50})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "rule"),
    [
        (["total_cost_usd"], "first_objective"),
        (["response_p95_s", "cost_usd"], "first_objective"),
        (["response_p95_s", "cost_usd"], "knee"),
    ],
)
def test_los_reaches_monte_carlos_choice_at_a_tenth_of_its_evaluations(study, wanted, rule):
    """LOS has other replications, and is measured on those of Monte Carlo, pair by pair.

    By the first objective, or by the score whose least is the knee of Monte Carlo's front: the
    interval of the difference does not lie above 0, though Monte Carlo's own choice had the luck of
    being the least of fifty there.
    """
    space, objectives = study.space(0), study.objectives(wanted)
    everything = MemoizedProblem(ScenarioProblem(study.scenario_of, space, objectives, seed=0))
    proper = monte_carlo(everything, replications=REPLICATIONS, final_rule=rule)
    others = ScenarioProblem(study.scenario_of, space, objectives, seed=10**6)
    quick = los(others, rough=7, evaluations=proper.evaluations // 10, final_rule=rule)
    assert quick.evaluations <= proper.evaluations / 10
    values = everything.evaluate([proper.best, quick.best], range(REPLICATIONS))
    scores = knee_scores(values, proper.front.mean) if rule == "knee" else values[..., 0]
    assert interval(scores[1] - scores[0]).low <= 0.0
