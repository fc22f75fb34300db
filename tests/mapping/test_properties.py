"""What holds for every heuristic and every matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.base.errors import CloudarenaError
from cloudarena.engine.streams import stream
from cloudarena.mapping import CLASSES, HEURISTICS, generate_etc, lower_bound, map_tasks
from cloudarena.mapping.a_star import a_star
from cloudarena.mapping.annealing import simulated_annealing
from cloudarena.mapping.tabu import tabu_search

from . import reference

RANDOM = ("ga", "sa", "gsa", "tabu")


@st.composite
def problems(draw, tasks=12, machines=5):
    """A matrix and ready times: small whole numbers with many ties, or any sizes."""
    shape = draw(st.integers(1, tasks)), draw(st.integers(1, machines))
    whole = st.integers(1, 4).map(float)
    time = draw(st.sampled_from([whole, st.floats(1e-3, 1e6)]))
    row = st.lists(time, min_size=shape[1], max_size=shape[1])
    etc = draw(st.lists(row, min_size=shape[0], max_size=shape[0]))
    start = draw(st.sampled_from([st.just(0.0), st.integers(0, 3).map(float)]))
    return etc, draw(st.lists(start, min_size=shape[1], max_size=shape[1]))


@pytest.mark.parametrize("heuristic", ["min-min", "max-min", "sufferage"])
@settings(max_examples=300)
@given(problems())
def test_the_fast_ones_equal_the_slow_and_obvious_ones(heuristic, problem):
    etc, ready = problem
    expected = getattr(reference, heuristic.replace("-", "_"))(etc, ready)
    assert map_tasks(etc, heuristic, ready=ready).assignment.tolist() == expected


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("heuristic", ["min-min", "max-min", "sufferage"])
def test_they_are_equal_on_larger_matrices_too(heuristic, name):
    etc = generate_etc(name, tasks=60, machines=9, seed=3).times
    for times in (etc, np.ceil(etc / etc.max() * 8)):
        expected = getattr(reference, heuristic.replace("-", "_"))(times.tolist(), [0.0] * 9)
        assert map_tasks(times, heuristic).assignment.tolist() == expected


@pytest.mark.parametrize("heuristic", HEURISTICS)
@settings(max_examples=25)
@given(problems())
def test_every_task_is_mapped_and_the_makespan_is_that_of_the_assignment(heuristic, problem):
    etc, ready = problem
    mapping = map_tasks(etc, heuristic, ready=ready)
    assert mapping.assignment.shape == (len(etc),)
    assert all(0 <= machine < len(ready) for machine in mapping.assignment)
    finish = reference.finish(etc, mapping.assignment.tolist(), ready)
    assert mapping.finish.tolist() == finish
    assert mapping.makespan == max(finish)
    assert mapping.makespan >= lower_bound(etc, ready) * (1 - 1e-12)
    for machine, end in enumerate(finish):
        mine = mapping.completion[mapping.assignment == machine]
        assert max(mine, default=ready[machine]) == pytest.approx(end)


@pytest.mark.parametrize("heuristic", HEURISTICS)
@settings(max_examples=15)
@given(problems(tasks=6, machines=3))
def test_no_heuristic_is_better_than_the_optimum(heuristic, problem):
    etc, ready = problem
    best = reference.optimum(etc, ready)
    assert map_tasks(etc, heuristic, ready=ready).makespan >= best
    assert lower_bound(etc, ready) <= best * (1 + 1e-12)


@given(problems(tasks=6, machines=3))
def test_a_star_finds_the_optimum_if_no_node_is_dropped(problem):
    etc, ready = problem
    best = reference.optimum(etc, ready)
    assert map_tasks(etc, "a-star", ready=ready).makespan == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("name", CLASSES)
def test_the_genetic_algorithm_finds_the_optimum_of_small_matrices(name):
    etc = generate_etc(name, tasks=7, machines=3, seed=2).times
    best = reference.optimum(etc.tolist(), [0.0] * 3)
    assert map_tasks(etc, "ga").makespan == pytest.approx(best, rel=1e-12)


@settings(max_examples=30)
@given(problems(), st.integers(0, 5))
def test_the_genetic_algorithm_is_never_worse_than_min_min(problem, seed):
    etc, ready = problem
    least = map_tasks(etc, "min-min", ready=ready).makespan
    assert map_tasks(etc, "ga", seed, ready).makespan <= least
    assert map_tasks(etc, "duplex", seed, ready).makespan <= least


@pytest.mark.parametrize("name", CLASSES)
def test_nor_is_it_worse_on_large_matrices(name):
    etc = generate_etc(name, tasks=256, machines=16, seed=1).times
    assert map_tasks(etc, "ga").makespan < map_tasks(etc, "min-min").makespan


@settings(max_examples=200)
@given(problems(tasks=7, machines=3), st.integers(0, 3))
def test_tabu_equals_the_search_that_tries_everything(problem, seed):
    etc = np.ceil(np.minimum(problem[0], 50.0))
    ready = np.array(problem[1])
    expected = reference.tabu(etc.tolist(), ready.tolist(), stream(seed, "t"), hops=20, tries=10)
    assert tabu_search(etc, ready, stream(seed, "t"), 20, 10).tolist() == expected


@settings(max_examples=30)
@given(problems(tasks=20), st.integers(0, 3))
def test_annealing_equals_the_search_that_adds_up_everything(problem, seed):
    etc = np.ceil(np.minimum(problem[0], 50.0))
    ready = np.array(problem[1])
    expected = reference.annealing(etc.tolist(), ready.tolist(), stream(seed, "a"))
    assert simulated_annealing(etc, ready, stream(seed, "a")).tolist() == expected


@pytest.mark.parametrize("heuristic", ["sa", "gsa"])
def test_annealing_leaves_its_random_beginning_behind(heuristic):
    etc = generate_etc("inconsistent-high-low", tasks=64, machines=8).times
    rng = np.random.default_rng(0)
    drawn = [reference.finish(etc, rng.integers(0, 8, 64), np.zeros(8)) for _ in range(200)]
    usual = np.median([max(loads) for loads in drawn])
    assert map_tasks(etc, heuristic).makespan < 0.8 * usual
    # Genetic annealing has as many mappings to begin with as were drawn here.
    if heuristic == "gsa":
        assert map_tasks(etc, heuristic).makespan < 0.8 * min(max(loads) for loads in drawn)


@pytest.mark.parametrize(("live_nodes", "expansions"), [(1, 10_000), (4, 10_000), (1024, 7)])
def test_a_star_maps_all_tasks_within_any_limits(live_nodes, expansions):
    etc = generate_etc("inconsistent-low-high", tasks=20, machines=4).times
    assignment = a_star(etc, np.zeros(4), live_nodes, expansions)
    assert assignment.shape == (20,)
    assert set(assignment) <= {0, 1, 2, 3}
    worst = map_tasks(etc, "olb").makespan
    assert max(reference.finish(etc, assignment, np.zeros(4))) < worst


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_the_seed_decides_everything_that_is_random(heuristic):
    etc = generate_etc("consistent-high-high", tasks=40, machines=6).times
    first = map_tasks(etc, heuristic, seed=1).assignment
    assert first.tolist() == map_tasks(etc, heuristic, seed=1).assignment.tolist()
    others = [map_tasks(etc, heuristic, seed=seed).assignment.tolist() for seed in (2, 3, 4)]
    assert any(other != first.tolist() for other in others) == (heuristic in RANDOM)


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_the_matrix_and_the_ready_times_are_not_changed(heuristic):
    etc, ready = generate_etc("inconsistent-high-low", 20, 3).times, np.array([1.0, 0.0, 2.0])
    before = etc.copy(), ready.copy()
    map_tasks(etc, heuristic, ready=ready)
    assert np.array_equal(etc, before[0])
    assert np.array_equal(ready, before[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], "minmin"), "Did you mean 'min-min'"),
        (([[1.0]], "ga", -1), "seed: -1 is not allowed: a whole number"),
        (([], "mct"), r"etc: the shape \(0,\) is not allowed: tasks x machines"),
        (([[]], "mct"), r"etc: the shape \(1, 0\) is not allowed"),
        (([[1.0, 2.0], [1.0]], "mct"), "etc: is not allowed: numbers only"),
        (([["a"]], "mct"), "etc: is not allowed: numbers only"),
        (([[1.0, 2.0], [3.0, 0.0]], "mct"), r"etc\[1, 1\]: 0.0 is not allowed: .* more than 0"),
        (([[1.0, float("nan")]], "mct"), r"etc\[0, 1\]: nan is not allowed"),
        (([[1.0, float("inf")]], "mct"), r"etc\[0, 1\]: inf is not allowed"),
        (([[1e308], [1e308]], "mct"), "their sum is not finite"),
        (([[1.0, 2.0]], "mct", 0, [1.0]), r"ready: shape \(1,\) .* each of 2 machines"),
        (([[1.0, 2.0]], "mct", 0, [1.0, -1.0]), r"ready\[1\]: -1.0 is not allowed: .* at least 0"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(CloudarenaError, match=message):
        map_tasks(*arguments)
