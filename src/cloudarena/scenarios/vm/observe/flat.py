"""A vm run as one flat vector of all machines, for small clouds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.picture import Picture
from cloudarena.scenarios.vm.state import REFUSE

if TYPE_CHECKING:
    from cloudarena.scenarios.vm.run import VmRun
    from cloudarena.scenarios.vm.spec import VmScenario

MACHINE_FEATURES = 6
REQUEST_FEATURES = 8


class VmObserver:
    """Features, masks and rewards of the placement of VMs.

    Observation (float32, all from -1 to 1), for N machines:

    - for each machine: free cores, free memory and utilisation (half of it), each as a share of
      the machine; its power as a share of its type's range; its sharing (-1, 0, 1); 1 if valid;
      where machines are switched off, its state (0 off, 0.5 booting, 1 on);
    - for the request: cores and memory as shares of the largest machine; its category (one-hot);
      the share of the buffer that is left; sine and cosine of the time of day; where lifetimes
      are known, ``log(1 + lifetime) / log(1 + ticks)``, at most 1.

    Action (discrete, N + 2): a machine; N puts the request off by one delay; N + 1 refuses it.

    Reward: the increase of a metric since the last decision, negative where lower is better.
    Over an episode the rewards sum to the metric. Energy per served core-hour counts at least
    one core-hour, so that it is finite, and serving nothing is the worst.
    """

    def __init__(self, scenario: VmScenario, reward: str) -> None:
        from gymnasium.spaces import Box, Discrete  # learned policies need features without it

        self._scenario = scenario
        self.value = scenario.kind.reward(reward)
        self._machines = scenario.machine_count
        self._largest_cores = max(kind.cores for kind in scenario.machines)
        self._largest_memory = max(kind.memory_gb for kind in scenario.machines)
        counts = [kind.count for kind in scenario.machines]
        self._idle_w = np.repeat([kind.power.idle_w for kind in scenario.machines], counts)
        busy_w = np.repeat([kind.power.busy_w for kind in scenario.machines], counts)
        self._range_w = np.maximum(busy_w - self._idle_w, 1e-9)
        self._shows_state = scenario.off_after_ticks is not None
        self._shows_lifetime = "lifetimes" in scenario.known
        self._machine_features = MACHINE_FEATURES + self._shows_state
        self._request_features = REQUEST_FEATURES + self._shows_lifetime
        length = self._machine_features * self._machines + self._request_features
        self.observation_space = Box(-1.0, 1.0, (length,), np.float32)
        self.action_space = Discrete(self._machines + 2)

    def features(self, run: VmRun) -> NDArray[np.float32]:
        """The observation of the current decision; zeros when the run has ended."""
        observation = np.zeros(self.observation_space.shape, np.float32)
        decision = run.decision
        if decision is None:
            return observation
        pms, vm = decision.machines, decision.request
        request = observation[-self._request_features :]
        columns = observation[: -self._request_features].reshape(self._machine_features, -1)
        columns[0] = pms.free_cores / pms.cores
        columns[1] = pms.free_memory_gb / pms.memory_gb
        columns[2] = pms.utilisation / 2
        columns[3] = (pms.power_w - self._idle_w) / self._range_w
        columns[4] = pms.sharing
        columns[5] = pms.valid
        if self._shows_state:
            columns[6] = pms.state / 2
        request[0] = vm.cores / self._largest_cores
        request[1] = vm.memory_gb / self._largest_memory
        request[2 + vm.category] = 1.0
        request[5] = vm.buffer_ticks / max(1, self._scenario.buffer.budget_ticks)
        angle = 2 * np.pi * decision.now / 86_400
        request[6:8] = np.sin(angle), np.cos(angle)
        if self._shows_lifetime:
            request[8] = np.log1p(vm.lifetime_ticks) / np.log1p(self._scenario.ticks)
        return np.clip(observation, -1.0, 1.0, out=observation)

    def mask(self, run: VmRun) -> NDArray[np.bool_]:
        """The valid machines; putting off while the buffer allows it; refusing always."""
        allowed = np.zeros(self._machines + 2, bool)
        allowed[-1] = True
        decision = run.decision
        if decision is not None:
            allowed[: self._machines] = decision.valid
            delay = self._scenario.buffer.delay_ticks
            reserve = delay if decision.valid.any() else 0
            allowed[-2] = decision.request.buffer_ticks - delay >= reserve
        return allowed

    def action(self, run: VmRun, choice: int) -> int:
        """The scenario's action; a machine that is not valid refuses the request."""
        if choice >= self._machines:
            return REFUSE - 1 if choice == self._machines else REFUSE
        decision = run.decision
        if decision is None or not decision.valid[choice]:
            return REFUSE
        return int(choice)


def picture(run: VmRun) -> Picture:
    """The allocated shares of all machines, and the requests that wait."""
    pms, waiting = run.world.machines, int(run.world.retries.counters[0])
    shares = {
        "cores": pms.allocated_cores / pms.cores,
        "memory": pms.allocated_memory_gb / pms.memory_gb,
        "used": pms.utilisation.copy(),
    }
    title = f"tick {int(run.world.clock[0]['tick'])} of {run.scenario.ticks}"
    return Picture(title, "machine", shares, waiting, "requests wait")
