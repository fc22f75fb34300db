"""What VMs ask for of GPUs, before the first tick, and which requests are typical."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.engine.gpu_models import bits_of, models_in
from cloudarena.engine.gpu_scores import Pods, typical_of
from cloudarena.scenarios.vm.spec import VmScenario
from cloudarena.scenarios.vm.state import Gpus
from cloudarena.workloads.vm.columns import VmWorkload


def models_of(scenario: VmScenario) -> list[str]:
    """The models of GPUs of the machines, in rising order."""
    return models_in(kind.gpu_model for kind in scenario.machines)


def gpus_of(scenario: VmScenario, workload: VmWorkload) -> Gpus | None:
    """What the VMs ask for; None if none asks for a GPU."""
    asked = workload.gpus
    if asked is None or not asked.wanted.any():
        return None
    words = asked.models.dictionary_encode()
    masks = bits_of(words.dictionary.to_pylist(), models_of(scenario))
    vms = len(asked.wanted)
    return Gpus(
        wanted=asked.wanted,
        milli=asked.milli,
        models=masks[words.indices.to_numpy()],
        device=np.full(vms, -1, np.int64),
        held=np.zeros(vms, np.int64),
    )


def typical_pods(workload: VmWorkload, gpus: Gpus | None) -> Floats:
    """The most frequent requests: cores in thousandths, GPUs, thousandths, models, share."""
    if gpus is None:
        return np.zeros((0, 5))
    cores = np.rint(workload.cores * 1000.0).astype(np.int64)
    memory = np.zeros(len(cores), np.int64)
    columns = np.column_stack([cores, memory, gpus.wanted, gpus.milli, gpus.models])
    requests, which = np.unique(columns, axis=0, return_inverse=True)
    typical = typical_of(Pods(*requests.T), which.ravel())
    return np.column_stack(typical).astype(np.float64)
