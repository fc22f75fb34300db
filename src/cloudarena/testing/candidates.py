"""Checks of what learners are shown: the same at both speeds, within bounds, and legal."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np

from cloudarena.contract import Candidates, Scenario
from cloudarena.contract.candidates import FEWEST, MOST
from cloudarena.contract.kernel_run import KernelRun
from cloudarena.contract.run import ANYONE
from cloudarena.engine.status import DECIDE, ENDED, FULL

DECISIONS = 60
"""How many decisions of a run are looked at."""
TRIED = 12
"""The number of them at which every candidate is tried on a copy of the run."""


def candidates_are_the_same_at_both_speeds(scenario: Scenario, seed: int) -> None:
    """Compiled and plain ``fill`` write the same bits, and zeros behind the last candidate."""
    for candidates, run, shown in walk(scenario, seed):
        plain, fast = (arrays_of(candidates, run) for _ in range(2))
        for array in (*plain, *fast):
            array[:] = 7  # what was there before must not matter
        count = int(candidates.fill(*shown, *plain))
        assert count == int(candidates.compiled(*shown, *fast)), "another number when compiled"
        assert 1 <= count <= candidates.most, f"{count} candidates of {candidates.most}"
        assert not plain[0][count:].any(), "rows behind the last candidate are not zero"
        for name, one, other in zip(("features", "context"), plain[:2], fast[:2], strict=True):
            assert one.tobytes() == other.tobytes(), f"{name} differ when compiled at {run.now}"
        assert (plain[2][:count] == fast[2][:count]).all(), "other actions when compiled"


def candidates_keep_their_bounds(scenario: Scenario, seed: int) -> None:
    """Every feature is a finite number within its bounds."""
    for candidates, run, shown in walk(scenario, seed):
        features, context, actions = arrays_of(candidates, run)
        count = int(candidates.compiled(*shown, features, context, actions))
        for rows, declared in (
            (features[:count], candidates.features),
            (context[None], candidates.context),
        ):
            for column, one in enumerate(declared):
                values = rows[:, column]
                inside = (values >= np.float32(one.low)) & (values <= np.float32(one.high))
                assert inside.all(), f"{one.name} is {values[~inside][0]} at {run.now}: {one}"


def candidates_are_legal(scenario: Scenario, seed: int) -> None:
    """Every candidate is an action that the run would take, and no two are the same."""
    for number, (candidates, run, shown) in enumerate(walk(scenario, seed)):
        features, context, actions = arrays_of(candidates, run)
        count = int(candidates.compiled(*shown, features, context, actions))
        rows = [tuple(row) for row in actions[:count].tolist()]
        assert len(set(rows)) == count, f"a candidate is there twice: {rows}"
        if number < TRIED:
            for row in rows:
                assert _is_taken(run, candidates.action(row)), f"{row} is not allowed at {run.now}"


def any_number_of_candidates_can_be_asked_for(scenario: Scenario, seed: int) -> None:
    """Any number of candidates, from 4 to 128, is filled as asked, with zeros behind them."""
    for candidates, run, shown in walk(scenario, seed):
        for most in (FEWEST, MOST):
            features, context, actions = arrays_of(candidates, run, most)
            features[:] = 7
            found = int(candidates.compiled(*shown, features, context, actions))
            assert 1 <= found <= most, f"{found} candidates of {most}"
            assert not features[found:].any(), "rows behind the last candidate are not zero"


def walk(scenario: Scenario, seed: int) -> Iterator[tuple[Candidates, Any, tuple[Any, ...]]]:
    """The decisions of a run in which any candidate is taken, with what array policies see."""
    if not scenario.kind.candidates:
        return
    rng = np.random.default_rng(seed)
    run: Any = scenario.start(seed, record="none")
    for _ in range(DECISIONS):
        if run.decision is None:
            return
        candidates = candidates_of(run)
        shown = seen_by(run)
        yield candidates, run, shown
        features, context, actions = arrays_of(candidates, run)
        count = int(candidates.compiled(*shown, features, context, actions))
        run.apply(candidates.action(actions[rng.integers(count)]))


def arrays_of(candidates: Candidates, run: Any, most: int | None = None) -> tuple[Any, Any, Any]:
    """What the candidates of a run are written to."""
    return candidates.make_arrays(most, candidates.numbers_of(run.scenario))


def candidates_of(run: Any) -> Candidates:
    """The candidates of the decision that a run is at."""
    known: dict[str, Candidates] = run.scenario.kind.candidates
    if len(known) == 1:
        return next(iter(known.values()))
    return known[f"{run.scenario.kind.name}-{run.decision.kind}"]


def seen_by(run: Any) -> tuple[Any, ...]:
    """What a policy that is a function of arrays and needs nothing else is shown."""
    shown: tuple[Any, ...] = run.decision.arguments(ANYONE)
    return shown


def _is_taken(run: KernelRun[Any], action: Any) -> bool:
    """Whether a copy of the state takes an action."""
    world = copy.deepcopy(run.world)
    types = (numba.typeof(world), *run.action_types)
    status = int(run.kernel.act.compile(types)(world, *run.encode(action)))
    return status in (DECIDE, ENDED, FULL)


CANDIDATE_CHECKS: tuple[Callable[[Scenario, int], None], ...] = (
    candidates_are_the_same_at_both_speeds,
    candidates_keep_their_bounds,
    candidates_are_legal,
    any_number_of_candidates_can_be_asked_for,
)
