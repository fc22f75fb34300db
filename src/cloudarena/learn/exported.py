"""Networks that others have trained, as our files: layers of weights, whoever made them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import SpecError, check_choice
from cloudarena.contract.learned import Learned
from cloudarena.engine.scoring import ACTIVATIONS, LINEAR, MOST_LAYERS, Shape
from cloudarena.learn.vector import CloudVectorEnv

Layer = tuple[NDArray[Any], NDArray[Any]]


def learned_of(
    clouds: CloudVectorEnv, layers: Sequence[Layer], activation: str = "tanh", **training: Any
) -> Learned:
    """A network that scores candidates, as a file of ours; ``save`` writes it.

    It takes the features of a candidate and then the context, and gives one score.

    Args:
        clouds: the environments in which it was trained.
        layers: the weights (outputs, inputs) and biases (outputs,) of each layer, as in torch.
        activation: ``tanh`` or ``relu``, between layers.
        training: what is to be kept of how it was trained, such as ``reward`` and ``steps``.
    """
    if not 1 <= len(layers) <= MOST_LAYERS + 1:
        raise SpecError(f"layers: {len(layers)} are not allowed: 1 to {MOST_LAYERS + 1}")
    check_choice(
        "activation", activation, [one for one in ACTIVATIONS if one != ACTIVATIONS[LINEAR]]
    )
    candidates, scenario = clouds.native.candidates, clouds.scenario
    sizes = [len(candidates.features) + len(candidates.context)]
    for number, (weights, biases) in enumerate(layers):
        outputs = 1 if number == len(layers) - 1 else len(biases)
        if weights.shape != (outputs, sizes[-1]) or biases.shape != (outputs,):
            raise SpecError(
                f"layers[{number}]: weights {weights.shape} and biases {biases.shape} are not "
                f"allowed: ({outputs}, {sizes[-1]}) and ({outputs},)"
            )
        sizes.append(outputs)
    shape = Shape(len(candidates.features), len(candidates.context), tuple(sizes[1:-1]), activation)
    flat = [part for weights, biases in layers for part in (weights.T.reshape(-1), biases)]
    said = {"scenario": scenario.name, **training}
    rows = clouds.native.features.shape[1]
    weights = np.concatenate(flat).astype(np.float32)
    return Learned.of(scenario.kind.name, candidates, shape, weights, rows, said)
