"""A score over candidates decides the same in the kernel and in an environment."""

from __future__ import annotations

import numpy as np
import pytest

import cloudarena
from cloudarena.learn.env import CloudEnv
from cloudarena.scenarios.faas.observe import placing
from cloudarena.scenarios.jobs.observe import candidates as of_jobs
from cloudarena.scenarios.vm.observe import candidates as of_vm
from cloudarena.scenarios.workflow.observe import candidates as of_workflow
from cloudarena.testing.kind import small

WEIGHTS = np.sin(np.arange(1, 40, dtype=np.float64)).astype(np.float32)
"""Any weights, so that the best row is now here, now there."""
VM, VM_CONTEXT, fill_vm = len(of_vm.FEATURES), len(of_vm.CONTEXT), of_vm.fill
JOBS, JOBS_CONTEXT, fill_jobs = len(of_jobs.FEATURES), len(of_jobs.CONTEXT), of_jobs.fill
WORKFLOW, WORKFLOW_CONTEXT = len(of_workflow.FEATURES), len(of_workflow.CONTEXT)
fill_workflow = of_workflow.fill
PLACE, PLACE_CONTEXT = len(placing.FEATURES), len(placing.CONTEXT)
fill_place = placing.fill_place


def best(features, count, width):
    """The first of the rows with the highest score, summed from left to right."""
    chosen, most = 0, -np.inf
    for row in range(count):
        score = np.float32(0.0)
        for column in range(width):
            score += WEIGHTS[column] * features[row, column]
        if score > most:
            chosen, most = row, score
    return chosen


def vm(pms, request, rng):
    features = np.zeros((16, VM), np.float32)
    context, actions = np.zeros(VM_CONTEXT, np.float32), np.zeros((16, 1), np.int64)
    count = fill_vm(pms, request, features, context, actions)
    return actions[best(features, count, VM), 0]


def jobs(tasks, machines, rng):
    features = np.zeros((64, JOBS), np.float32)
    context, actions = np.zeros(JOBS_CONTEXT, np.float32), np.zeros((64, 3), np.int64)
    count = fill_jobs(tasks, machines, features, context, actions)
    row = best(features, count, JOBS)
    return actions[row, 0], actions[row, 1], actions[row, 2]


def workflow(nodes, function, rng):
    features = np.zeros((16, WORKFLOW), np.float32)
    context, actions = np.zeros(WORKFLOW_CONTEXT, np.float32), np.zeros((16, 2), np.int64)
    count = fill_workflow(nodes, function, features, context, actions)
    row = best(features, count, WORKFLOW)
    return actions[row, 0], actions[row, 1]


def faas_place(nodes, replica, rng):
    features = np.zeros((16, PLACE), np.float32)
    context, actions = np.zeros(PLACE_CONTEXT, np.float32), np.zeros((16, 1), np.int64)
    count = fill_place(nodes, replica, features, context, actions)
    return actions[best(features, count, PLACE), 0]


@pytest.mark.parametrize(
    ("decides", "policy"),
    [
        # Up to half a minute of compiling each.
        pytest.param("vm", vm, marks=pytest.mark.slow),
        pytest.param("jobs", jobs, marks=pytest.mark.slow),
        pytest.param("workflow", workflow, marks=pytest.mark.slow),
        pytest.param("faas-place", faas_place, marks=pytest.mark.slow),
    ],
)
def test_argmax_in_the_kernel_is_argmax_in_the_environment(decides, policy):
    kind = cloudarena.load(f"{decides.partition('-')[0]}/toy").kind
    scenario = small(kind.example)
    width = len(scenario.kind.candidates[decides].features)
    env = CloudEnv(scenario, decides)
    observation, _ = env.reset(seed=2)
    ended, steps = False, 0
    while not ended:
        count = int(env.action_masks().sum())
        observation, _, ended, _, info = env.step(best(observation["candidates"], count, width))
        steps += 1
    assert steps > 5
    assert info["metrics"] == cloudarena.simulate(scenario, policy, seed=2).metrics
