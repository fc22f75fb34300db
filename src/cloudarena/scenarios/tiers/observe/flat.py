"""A tiers run as reinforcement learning sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.picture import Picture
from cloudarena.scenarios.tiers.state import Size

if TYPE_CHECKING:
    from cloudarena.scenarios.tiers.decision import Period
    from cloudarena.scenarios.tiers.run import TiersRun
    from cloudarena.scenarios.tiers.spec import TiersScenario

TIER_FEATURES = 6


class TiersObserver:
    """Features, masks and rewards of the numbers of VMs.

    Observation (float32, from 0 to 1): the arrival rate r of the last period, and of the one
    before, as r / (r + what all VMs of the first tier can serve); the mean response time t of the
    last period (1 if nothing was served although requests wait) as t / (t + the SLA's bound); the
    share of the run that is over; for each tier its
    fat and thin VMs over the most there may be, utilisation, requests held over the room of its
    VMs, time of a visit as t / (t + the SLA's bound), share of visits blocked.

    Action (multi-discrete): the fat and the thin VMs of each tier. A tier without any gets one thin
    VM, or a fat one where it may have no thin one; more than all tiers together may have are taken
    back from the last tiers.

    Reward: the increase of a metric since the last decision, negative where lower is better; that
    of ``total_cost_usd`` by default. Nobody earns by blocking requests: in response times a blocked
    one counts with ``duration_s``, and in the rent, the minutes and the changes of VMs the share
    that is not served counts as that share of all VMs there may be.
    """

    def __init__(self, scenario: TiersScenario, reward: str) -> None:
        from gymnasium.spaces import Box, MultiDiscrete  # learned policies need features without it

        self.value = scenario.kind.reward(reward)
        self._scenario = scenario
        self._most = np.array([[tier.fat.max, tier.thin.max] for tier in scenario.tiers])
        first = scenario.tiers[0]
        self._capacity = first.fat.max * first.fat.rate + first.thin.max * first.thin.rate
        length = 4 + TIER_FEATURES * len(scenario.tiers)
        self.observation_space = Box(0.0, 1.0, (length,), np.float32)
        self.action_space = MultiDiscrete(self._most.ravel() + 1)

    def features(self, run: TiersRun) -> NDArray[np.float32]:
        """The observation of the current decision; zeros when the run has ended."""
        observation = np.zeros(self.observation_space.shape, np.float32)
        if run.decision is None:
            return observation
        last, before = run.periods[-1], run.periods[-2 if len(run.periods) > 1 else -1]
        bound = self._scenario.sla.seconds
        observation[:4] = (
            last.rate / (last.rate + self._capacity),
            before.rate / (before.rate + self._capacity),
            _share(last, bound),
            run.now / self._scenario.duration_s,
        )
        counts = run.counts
        room = np.array([tier.room for tier in self._scenario.tiers])
        columns = observation[4:].reshape(-1, TIER_FEATURES)
        columns[:, :2] = counts / np.maximum(self._most, 1)
        columns[:, 2] = np.minimum(last.utilisation, 1.0)
        columns[:, 3] = np.minimum(last.held / (room * np.maximum(counts.sum(axis=1), 1)), 1.0)
        columns[:, 4] = last.sojourn_s / (last.sojourn_s + bound)
        columns[:, 5] = last.blocked / np.maximum(last.arrived, 1)
        return observation

    def mask(self, run: TiersRun) -> NDArray[np.bool_]:
        """All numbers up to the limits of each tier, one after the other."""
        return np.ones(int(self.action_space.nvec.sum()), bool)

    def action(self, run: TiersRun, choice: Any) -> NDArray[np.int64]:
        """The scenario's action for a choice."""
        counts = np.asarray(choice, np.int64).reshape(-1, 2).copy()
        for tier, most in enumerate(self._most):
            if counts[tier].sum() == 0:
                counts[tier, Size.THIN if most[Size.THIN] > 0 else Size.FAT] = 1
        for size, limit in enumerate((self._scenario.max_fat, self._scenario.max_thin)):
            for tier in range(len(counts) - 1, -1, -1):
                if limit is not None:
                    excess = int(counts[:, size].sum()) - limit
                    spare = int(counts[tier].sum()) - 1
                    counts[tier, size] -= max(0, min(excess, int(counts[tier, size]), spare))
        return counts


def _share(period: Period, bound: float) -> float:
    """The mean response time t of a period as t / (t + bound); 1 if all wait, 0 if nobody is."""
    if len(period.responses):
        return period.response_mean_s / (period.response_mean_s + bound)
    return float(period.held_at_end.sum() > 0)


def picture(run: TiersRun) -> Picture:
    """The utilisation, the filled room and the VMs of each tier in the last period."""
    last, counts = run.periods[-1], run.counts
    most = np.array([[tier.fat.max, tier.thin.max] for tier in run.scenario.tiers]).sum(axis=1)
    room = np.array([tier.room for tier in run.scenario.tiers])
    shares = {
        "utilisation": np.minimum(last.utilisation, 1.0),
        "room": last.held / (room * np.maximum(counts.sum(axis=1), 1)),
        "VMs": counts.sum(axis=1) / np.maximum(most, 1),
    }
    title = f"period {len(run.periods)} of {run.scenario.periods}"
    return Picture(title, "tier", shares, int(last.held_at_end.sum()), "requests held")
