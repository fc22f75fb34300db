"""LOS: sizes, claims, budgets, the table, and what it returns."""

import json

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.optimizers import FunctionProblem, los, monte_carlo
from cloudarena.optimizers.synthetic import SyntheticProblem
from cloudarena.scenarios.clusters import ClusterModel, Compositions

from ..problems import NormalProblem


def test_without_noise_the_front_is_selected_and_nothing_else():
    problem = SyntheticProblem("neutral", 300, noise=0.0)
    good = problem.good().tolist()
    selection = los(problem, rough=3, replications=3, at_least=len(good))
    assert selection.selected.tolist() == selection.front.designs.tolist() == good
    assert selection.noise == pytest.approx(0.0, abs=1e-12)
    assert selection.evaluations == 300 * 3 + 3 * len(good)
    assert selection.alignment.probability == 0.95
    assert selection.front.low == pytest.approx(selection.front.high)


def test_the_second_look_takes_new_replications():
    problem = NormalProblem(np.arange(20.0), 5.0)
    selection = los(problem, rough=4, replications=6, size=3)
    expected = problem.estimate(selection.selected, range(4, 10)).mean
    assert selection.estimates.mean.tolist() == expected.tolist()
    assert problem.calls - 18 == selection.evaluations == 20 * 4 + 3 * 6


def test_what_is_maximised_comes_back_in_its_own_units():
    problem = NormalProblem(np.arange(30.0), 1.0, objectives={"rate": "maximise"})
    selection = los(problem, replications=50)
    assert selection.best == 29
    place = selection.estimates.designs.tolist().index(29)
    assert selection.estimates.mean[place, 0] == pytest.approx(29.0, abs=0.6)
    assert (selection.estimates.low < selection.estimates.high).all()


def test_intervals_are_students_for_all_that_were_compared():
    problem = NormalProblem([0.0, 100.0], 1.0)
    selection = los(problem, rough=2, replications=4, confidence=0.9)
    values = problem.evaluate([0], range(2, 6))[0, :, 0]
    # Two designs, so the 1 - 0.1 / 4 quantile of t with 3 degrees of freedom.
    half = 3.182446 * values.std(ddof=1) / 2.0
    assert selection.selected.tolist() == [0, 1]
    assert selection.front.high[0, 0] - selection.front.mean[0, 0] == pytest.approx(half, rel=1e-6)


def test_the_summary_is_json_with_the_promised_keys():
    selection = los(SyntheticProblem("steep", 100, noise=0.3), replications=20)
    summary = json.loads(json.dumps(selection.summary(), allow_nan=False))
    keys = ("method", "designs", "evaluations", "selected", "chosen", "objectives")
    assert {*keys, "alignment_probability", "omega", "noise"} <= set(summary)
    assert summary["method"] == "los"
    assert (
        summary["objectives"]["objective_1"]["low"] <= summary["objectives"]["objective_1"]["mean"]
    )
    assert summary["chosen"] == [selection.best]
    single = los(NormalProblem([1.0], 1.0), replications=2)
    json.dumps(single.summary(), allow_nan=False)
    assert single.best == 0


def test_more_wanted_good_designs_need_more_selected():
    problem = SyntheticProblem("neutral", 400, noise=0.5)
    sizes = [len(los(problem, at_least=k, replications=2).selected) for k in (1, 3, 6)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]
    surer = los(problem, at_least=3, confidence=0.99, replications=2)
    assert len(surer.selected) >= sizes[1]


def test_much_noise_makes_los_say_so():
    problem = SyntheticProblem("flat", 200, noise=6.0)
    selection = los(problem, replications=12)
    assert selection.noise > 0.5
    assert "LOS does not help here" in selection.remark
    assert "unreliable" in selection.omega
    everything = los(problem, at_least=5, replications=12)
    assert len(everything.selected) == 200
    assert "too few to drop any design surely" in everything.remark
    assert los(SyntheticProblem("flat", 200, noise=0.1), replications=100).remark == ""


def test_what_moves_all_designs_alike_is_not_noise():
    together = SyntheticProblem("neutral", 300, noise=3.0, common_share=0.99)
    apart = SyntheticProblem("neutral", 300, noise=0.3)
    noise = los(together, replications=2).noise
    assert noise == pytest.approx(los(apart, replications=2).noise, rel=0.2)


def test_common_random_numbers_select_fewer():
    # Nearly all of the noise moves all designs together: the order is nearly exact.
    together = SyntheticProblem("neutral", 500, noise=2.0, common_share=0.98)
    apart = SyntheticProblem("neutral", 500, noise=2.0)
    assert len(los(together, replications=2).selected) < len(los(apart, replications=2).selected)


def test_a_fixed_size_and_the_table():
    problem = SyntheticProblem("steep", 1000, noise=0.5)
    fixed = los(problem, size=37, replications=2)
    assert len(fixed.selected) == 37
    assert 0.0 < los(problem, size=200, replications=2).alignment.probability <= 0.95
    by_table = los(problem, size="table", replications=2)
    layer = by_table.screening.layer
    assert (
        by_table.selected.tolist()
        == np.flatnonzero(layer <= layer[by_table.selected].max()).tolist()
    )


def test_a_budget_is_kept():
    problem = SyntheticProblem("neutral", 200, noise=1.0)
    selection = los(problem, evaluations=3000)
    assert selection.evaluations <= 3000
    assert selection.estimates.mean.shape[0] == len(selection.selected)
    # So few are left that the selected set is cut, and the claim with it.
    small = los(problem, evaluations=2100, at_least=8)
    assert small.evaluations <= 2100
    assert len(small.selected) == 10
    assert "the evaluations are enough for 10" in small.remark
    assert small.alignment.probability < 0.95


@pytest.mark.parametrize(("rough", "evaluations"), [(2, 560), (10, 2100)])
@pytest.mark.parametrize("seed", range(5))
def test_too_few_evaluations_do_not_cut_off_the_ends_of_the_front(rough, evaluations, seed):
    """The 20 nearest to the knee were selected where two replications cannot drop any.

    With ten the ends are surely not the knee: they were dropped first.
    """
    along = np.linspace(0.0, 1.0, 40)
    front = np.column_stack([along, (1.0 - along) ** 2])
    behind = np.concatenate([front + shift for shift in (0.3, 0.6, 0.9, 1.2)])
    problem = NormalProblem(np.concatenate([front, behind]), 0.01, seed)
    selection = los(problem, rough=rough, evaluations=evaluations, final_rule="knee")
    assert len(selection.selected) < 40
    ends = selection.screening.moments.mean.argmin(axis=0)
    assert np.isin(ends, selection.selected).all()
    knee = front.sum(axis=1).min()
    assert problem.truth[selection.best].sum() <= knee + 0.03
    if rough == 2:  # half of them are those around the knee, half lie along the whole front
        places = np.sort(along[selection.selected[selection.selected < 40]])
        assert np.diff(places).max() < 0.25


def test_the_same_seed_gives_the_same_selection_and_watching_changes_nothing():
    problem = SyntheticProblem("neutral", 150, noise=0.5)
    seen = []
    first = los(problem, replications=5, seed=2, final_rule="random")
    second = los(problem, replications=5, seed=2, final_rule="random", watcher=seen.append)
    assert first.summary() == second.summary()
    assert seen[-1].evaluations == first.evaluations == seen[-1].expected
    assert seen[-1].best is not None


def test_monte_carlo_finds_the_front():
    problem = SyntheticProblem("neutral", 200, noise=0.02)
    selection = monte_carlo(problem, replications=100)
    assert selection.evaluations == 200 * 100
    assert selection.selected.tolist() == selection.front.designs.tolist()
    assert len(np.intersect1d(selection.selected, problem.good())) >= 0.8 * len(problem.good())
    assert selection.alignment.probability > 0.9
    assert monte_carlo(problem, evaluations=1999).evaluations == 200 * 9


def test_one_good_design_of_a_function():
    def queue(design, rng):
        service = rng.exponential(1.0, 200) / design
        return service.mean() * 100.0 + design**2

    problem = FunctionProblem(queue, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    # 100 / d + d^2 is least at 3.7: 42.3 for 3, 41.0 for 4.
    assert problem.design(los(problem, replications=200).best) == 4.0


def test_on_the_ligo_shares_it_finds_what_monte_carlo_finds_for_less():
    model = ClusterModel(Compositions(20, 7))
    everything = monte_carlo(model)
    selection = los(model)
    assert everything.evaluations == 27_132_000
    assert selection.evaluations < everything.evaluations / 50
    assert selection.best == everything.best
    shared = np.intersect1d(selection.selected, everything.selected)
    assert len(shared) >= 10
    assert selection.noise < 0.3
    assert selection.screening.curve.area > 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rough": 1}, "rough: 1 is not allowed: at least 2"),
        ({"replications": 0}, "replications: 0 is not allowed"),
        ({"confidence": 1.5}, "confidence: 1.5 is not allowed"),
        ({"size": "tabel"}, "size: 'tabel' is not allowed: .* Did you mean 'table'"),
        ({"size": 51}, "size: 51 is not allowed: .* at most 50"),
        ({"evaluations": 400}, "evaluations: 400 are not enough: 10 for each of 50 designs"),
        ({"final_rule": "nee"}, "final_rule: 'nee' is not allowed: .* Did you mean 'knee'"),
        ({"at_least": 0}, "at_least: 0 is not allowed"),
        ({"at_least": 51}, "at_least: 51 is not allowed: .* at most 50"),
        ({"seed": -1, "final_rule": "random"}, "seed: -1 is not allowed"),
        ({"within": "1"}, "within: '1' is not allowed with 2 objectives"),
        ({"within": "1%", "at_least": 2}, "within: '1%' is not allowed with at_least 2"),
    ],
)
def test_errors(options, message):
    with pytest.raises(SpecError, match=message):
        los(SyntheticProblem("flat", 50, noise=0.1), **options)


def test_if_all_is_noise_nearly_all_designs_must_be_selected():
    problem = NormalProblem(np.zeros((300, 2)), 1.0)
    selection = los(problem, at_least=5, replications=2)
    assert len(selection.selected) > 250
    assert selection.noise > 1.0


def test_no_noise_and_no_spread_are_no_trouble():
    problem = NormalProblem(np.ones((5, 2)), 0.0)
    selection = los(problem, rough=3, replications=2)
    assert selection.selected.tolist() == [0, 1, 2, 3, 4]
    assert los(problem, rough=3, replications=2, at_least=5).alignment.probability == 0.95


def test_evaluations_for_the_first_look_only_choose_by_that():
    """Means 0 to 49 with little noise: screening shows the best, and nothing is left over."""
    problem = NormalProblem(np.arange(50.0), 0.1)
    selection = los(problem, rough=2, evaluations=100)
    assert problem.calls == selection.evaluations == 100
    assert selection.best == 0
    assert selection.estimates.replications.tolist() == [2] * len(selection.selected)
    assert selection.remark.startswith("No evaluations are left for a second stage")
