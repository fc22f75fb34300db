"""Checks that every policy must pass, on a scenario."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from cloudarena.contract import InvalidAction, Policy, Scenario
from cloudarena.engine.streams import stream
from cloudarena.engine.ties import FIRST
from cloudarena.experiments.simulate import simulate
from cloudarena.policies import ArrayPolicy, policy_name
from cloudarena.testing.common import assert_same, prepared

MOST_RANKED = 2000
"""Decisions for which a ranking is compared with what a policy returns."""


def the_policy_says_what_it_does(policy: str | Policy, scenario: Scenario, seed: int) -> None:
    """A policy has a docstring: its first line stands in the list of policies."""
    chosen = scenario.kind.policies.resolve(policy)
    assert (chosen.__doc__ or "").strip(), f"policy {policy_name(policy)} has no docstring"


def the_policy_only_takes_allowed_actions(
    policy: str | Policy, scenario: Scenario, seed: int
) -> None:
    """A run under the policy comes to its end."""
    try:
        simulate(scenario, policy, seed, record="none")
    except InvalidAction as error:
        raise AssertionError(f"a bad action: {error}") from None


def the_policy_repeats_itself(policy: str | Policy, scenario: Scenario, seed: int) -> None:
    """Two runs with one seed give the same result."""
    first, second = simulate(scenario, policy, seed), simulate(scenario, policy, seed)
    assert_same(
        first, second, f"policy {policy_name(policy)} decides by more than decision and rng"
    )


def both_speeds_agree(policy: str | Policy, scenario: Scenario, seed: int) -> None:
    """Compiled and stepped runs are equal to the last bit."""
    chosen = prepared(policy, scenario, seed)
    if not isinstance(chosen, ArrayPolicy) or chosen.machine_code is None:
        return
    compiled = simulate(scenario, policy, seed)
    run = scenario.start(seed)
    while (decision := run.decision) is not None:
        run.apply(chosen(decision))
    assert_same(
        compiled, run.result(), f"policy {policy_name(policy)} differs compiled and stepped"
    )


def it_ranks_as_it_says(policy: str | Policy, scenario: Scenario, seed: int) -> None:
    """A policy that says by what it ranks takes the first of that ranking, wherever a run stands.

    Every other action is any valid one, so that states are met to which the policy does not lead.
    """
    chosen = prepared(policy, scenario, seed)
    if not isinstance(chosen, ArrayPolicy) or not chosen.ranks_by or "any" in chosen.ranks_by:
        return
    run, ranks_by = scenario.start(seed, record="none"), chosen.ranks_by
    if not hasattr(run.decision, "ranked") or chosen.parameters.get("ties", FIRST) != FIRST:
        return
    rng, number = stream(seed, "actions of a check"), 0
    while (decision := run.decision) is not None and number < MOST_RANKED:
        action, first = chosen(decision), decision.ranked(ranks_by)
        assert action == first, (
            f"policy {policy_name(policy)} returns {action}, and by its ranks_by "
            f"{', '.join(ranks_by)!r} machine {first} comes first"
        )
        valid = decision.valid.nonzero()[0]
        run.apply(int(rng.choice(valid)) if number % 2 and len(valid) else action)
        number += 1


def its_decisions_can_be_replayed(policy: str | Policy, scenario: Scenario, seed: int) -> None:
    """The table ``decisions`` of a run, as a file, gives the same result again."""
    if not scenario.kind.policies.can_replay:
        return
    played = simulate(scenario, policy, seed)
    with tempfile.TemporaryDirectory() as folder:
        played.save(folder)
        file = Path(folder) / "decisions.parquet"
        assert file.is_file(), "a run leaves no table decisions, which replay:FILE reads"
        again = simulate(scenario, f"replay:{file}", seed)
    assert_same(played, again, f"a replay of policy {policy_name(policy)} differs from it")


POLICY_CHECKS: tuple[Callable[[str | Policy, Scenario, int], None], ...] = (
    the_policy_says_what_it_does,
    the_policy_only_takes_allowed_actions,
    the_policy_repeats_itself,
    both_speeds_agree,
    it_ranks_as_it_says,
    its_decisions_can_be_replayed,
)
