"""Objectives that are quantiles, CVaR or probabilities over replications."""

import math

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.base.limits import parse_limit
from cloudarena.optimizers import FunctionProblem, Objective, ocba
from cloudarena.optimizers.risk import Risk, RiskProblem, in_runs, split_risk


def test_what_people_write():
    assert split_risk("response_p95_s") == ("response_p95_s", Risk())
    assert split_risk("a@q90") == ("a", Risk("quantile", 0.9))
    assert split_risk("a@cvar97.5") == ("a", Risk("cvar", 0.975))
    assert split_risk("a@p(<=2)") == ("a", Risk("probability", 2.0, "<="))
    for wrong in ("a@", "a@q0", "a@q100", "a@p(2)", "a@p(<=x)", "a@median"):
        with pytest.raises(SpecError, match="is not allowed: NAME@q90, NAME@cvar90 or NAME@p"):
            split_risk(wrong)
    limit = parse_limit("a@p(<=2) >= 95%")
    assert (limit.metric, limit.order, limit.bound) == ("a@p(<=2)", ">=", 0.95)
    assert parse_limit("a@q90<3").metric == "a@q90"


def test_batches_and_directions():
    assert [Risk("quantile", q).batch for q in (0.5, 0.9, 0.1, 0.95)] == [4, 20, 20, 40]
    assert Risk("cvar", 0.9).batch == 20
    assert Risk("probability", 1.0, "<=").batch == Risk().batch == 1
    assert Risk("probability", 1.0, "<=").direction("minimise") == "maximise"
    assert Risk("probability", 1.0, ">=").direction("minimise") == "minimise"
    assert Risk("probability", 1.0, ">=").direction("maximise") == "maximise"
    assert Risk("cvar", 0.9).direction("maximise") == "maximise"
    assert Risk("quantile", 0.9).direction(None) is None


def test_values_worked_by_hand():
    values = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    assert Risk("cvar", 0.8).value(values, 1.0) == pytest.approx(9.5)
    assert Risk("cvar", 0.85).value(values, 1.0) == pytest.approx((10 + 0.5 * 9) / 1.5)
    assert Risk("cvar", 0.8).value(values, -1.0) == pytest.approx(1.5)
    assert Risk("probability", 3.0, "<=").value(values, 1.0) == pytest.approx(0.3)
    assert Risk("quantile", 0.5).value(values, 1.0) == pytest.approx(5.5)


@pytest.mark.parametrize(
    ("risk", "truth"),
    [
        (Risk("quantile", 0.9), -math.log(0.1)),
        (Risk("cvar", 0.9), 1.0 - math.log(0.1)),
        (Risk("probability", 1.0, "<="), 1.0 - math.exp(-1.0)),
    ],
)
def test_intervals_over_all_runs_hold_as_often_as_they_say(risk, truth):
    """Skewed values: exponential, of which the truth is known."""
    rng = np.random.default_rng(1)
    found = [risk.estimate(rng.exponential(size=200), 1.0, 0.95) for _ in range(600)]
    share = np.mean([one.low <= truth <= one.high for one in found])
    assert share >= (0.90 if risk.kind == "cvar" else 0.935)


def test_so_few_runs_tell_no_end():
    found = Risk("quantile", 0.9).estimate(np.arange(20.0), 1.0, 0.95)
    assert found.high == math.inf
    assert math.isfinite(found.low)
    never = Risk("probability", 0.0, "<").estimate(np.ones(10), 1.0, 0.95)
    assert (never.mean, never.low) == (0.0, 0.0)
    assert never.high == pytest.approx(1.0 - 0.025 ** (1 / 10))


def two_kinds(design, rng):
    """Design 0 is better by the mean, design 1 by its upper quantiles."""
    return 1.0 + 4.0 * rng.random() if design else 10.0 * (rng.random() < 0.2)


def test_the_choice_by_a_quantile_is_not_that_by_the_mean():
    plain = FunctionProblem(two_kinds, [0, 1], common_random_numbers=False)
    assert ocba(plain, evaluations=200, first=10).best == 0
    objective = Objective("loss@q90")
    problem = RiskProblem(plain, [objective], [], [Risk("quantile", 0.9)], [1.0])
    found = in_runs(ocba(problem, evaluations=20, first=4), problem.batch)
    assert found.best == 1
    assert found.evaluations <= 400
    assert (found.estimates.replications % 20 == 0).all()
    assert list(problem.pooled(1, 10, 0.95)) == ["loss@q90"]
