"""Environments for Stable-Baselines3, a network that scores candidates, and its way into a file.

All of this needs ``pip install cloudarena[rl]``; nothing else of the package does.

``CloudVecEnv`` steps N clouds in one compiled call. ``ScorerPolicy`` makes of MaskablePPO a policy
that scores each candidate by the same small network, as the learners of this package do, so that
what it has learned is a file that runs compiled without torch: ``exported``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from cloudarena.base.errors import SpecError
from cloudarena.contract.learned import Learned
from cloudarena.learn.exported import learned_of
from cloudarena.learn.vector import CloudVectorEnv

ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}


class CloudVecEnv(VecEnv):
    """N environments of candidates for Stable-Baselines3, stepped in one compiled call.

    Where an episode ends, the next one has begun: ``infos[i]["terminal_observation"]`` is zero, as
    nothing is to be decided at the end of a run, and ``infos[i]["episode"]`` has its return and
    length.

    Args:
        num_envs: how many environments there are.
        arguments: those of ``CloudVectorEnv``, such as ``scenario`` and ``reward``.
    """

    def __init__(self, num_envs: int, **arguments: Any) -> None:
        self.clouds = CloudVectorEnv(num_envs, **arguments)
        single: Any = self.clouds.single_observation_space
        super().__init__(num_envs, single, self.clouds.single_action_space)
        self._zeros = {name: np.zeros(box.shape, np.float32) for name, box in single.items()}
        self._actions: NDArray[np.int64] = np.zeros(num_envs, np.int64)

    def reset(self) -> Any:
        """Begins an episode in each environment."""
        observation, _ = self.clouds.reset(seed=self._first_seed())
        self._reset_seeds()
        self._reset_options()
        return observation

    def _first_seed(self) -> list[int | None] | None:
        seeds = list(self._seeds)
        return None if all(one is None for one in seeds) else seeds

    def step_async(self, actions: NDArray[Any]) -> None:
        """Takes note of what was chosen."""
        self._actions = np.asarray(actions, np.int64)

    def step_wait(self) -> Any:
        """Takes the candidates that were chosen."""
        observation, rewards, ended, _, info = self.clouds.step(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for one in np.flatnonzero(ended).tolist():
            infos[one] = {
                "terminal_observation": {k: v.copy() for k, v in self._zeros.items()},
                "TimeLimit.truncated": False,
                "episode": {
                    "r": float(info["episode"]["r"][one]),
                    "l": int(info["episode"]["l"][one]),
                    "t": 0.0,
                },
            }
        return observation, rewards.astype(np.float32), ended, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Which rows are candidates, for each environment."""
        return self.clouds.action_masks()

    def close(self) -> None:
        """There is nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the environments, which they share."""
        value = getattr(self.clouds, attr_name) if attr_name != "render_mode" else None
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Environments that step together cannot differ."""
        raise SpecError(f"set_attr: {attr_name} is not allowed: environments share all they have")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """What a method gives for each environment; ``action_masks`` is all there is."""
        if method_name != "action_masks":
            raise SpecError(f"env_method: {method_name} is not allowed: action_masks")
        masks = self.action_masks()
        return [masks[one] for one in self._get_indices(indices)]

    def has_attr(self, attr_name: str) -> bool:
        """Whether all environments have an attribute."""
        return attr_name == "action_masks" or hasattr(self.clouds, attr_name)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No environment is wrapped."""
        return [False for _ in self._get_indices(indices)]


class CandidateExtractor(BaseFeaturesExtractor):
    """All features of all candidates and the context, one after the other, for the heads below."""

    def __init__(self, observation_space: Any) -> None:
        rows, features = observation_space["candidates"].shape
        context = observation_space["context"].shape[0]
        super().__init__(observation_space, rows * features + context)

    def forward(self, observations: Any) -> Any:
        """Returns the flat rows."""
        return torch.cat((observations["candidates"].flatten(1), observations["context"]), dim=1)


class Scorer(nn.Module):
    """The score of each candidate by one small network, and the value of the decision."""

    def __init__(
        self, rows: int, features: int, context: int, hidden: Sequence[int], activation: str
    ) -> None:
        super().__init__()
        self.rows, self.features, self.hidden, self.kind = rows, features, hidden, activation
        self.latent_dim_pi, self.latent_dim_vf = rows, 1
        self.score = _layers(features + context, hidden, activation)
        self.value = _layers(features + context, hidden or (32,), activation)

    def forward(self, flat: Any) -> tuple[Any, Any]:
        """The scores and the value."""
        return self.forward_actor(flat), self.forward_critic(flat)

    def _parts(self, flat: Any) -> tuple[Any, Any]:
        end = self.rows * self.features
        return flat[:, :end].reshape(len(flat), self.rows, self.features), flat[:, end:]

    def forward_actor(self, flat: Any) -> Any:
        """The score of each candidate."""
        rows, context = self._parts(flat)
        shared = context[:, None, :].expand(-1, self.rows, -1)
        return self.score(torch.cat((rows, shared), dim=2))[:, :, 0]

    def forward_critic(self, flat: Any) -> Any:
        """The value by the mean of the candidates; rows behind the last one are zero."""
        rows, context = self._parts(flat)
        real = (rows.abs().sum(dim=2) > 0).sum(dim=1).clamp(min=1)
        means = rows.sum(dim=1) / real[:, None]
        return self.value(torch.cat((means, context), dim=1))


def _layers(inputs: int, hidden: Sequence[int], activation: str) -> nn.Sequential:
    """A network with one output."""
    parts: list[nn.Module] = []
    for size in hidden:
        parts += [nn.Linear(inputs, size), ACTIVATIONS[activation]()]
        inputs = size
    return nn.Sequential(*parts, nn.Linear(inputs, 1))


class ScorerPolicy(MaskableMultiInputActorCriticPolicy):
    """A policy of MaskablePPO that scores candidates: ``policy_kwargs={"hidden": (16,)}``."""

    def __init__(
        self,
        *arguments: Any,
        hidden: Sequence[int] = (16,),
        activation: str = "tanh",
        **more: Any,
    ) -> None:
        self._hidden, self._activation = tuple(hidden), activation
        more["features_extractor_class"] = CandidateExtractor
        super().__init__(*arguments, **more)

    def _build_mlp_extractor(self) -> None:
        spaces: Any = self.observation_space
        rows, features = spaces["candidates"].shape
        context = spaces["context"].shape[0]
        this: Any = self  # whose layers have other types than those of SB3's own policies
        this.mlp_extractor = Scorer(rows, features, context, self._hidden, self._activation)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        this: Any = self
        this.action_net, this.value_net = nn.Identity(), nn.Identity()
        this.optimizer = this.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )


def exported(model: Any, env: CloudVecEnv, **training: Any) -> Learned:
    """What MaskablePPO with a ``ScorerPolicy`` has learned, as a file of ours; ``save`` writes it.

    Args:
        model: the trained model.
        env: the environments that it was trained in.
        training: what is to be kept of how it was trained, such as ``reward`` and ``steps``.
    """
    scorer = model.policy.mlp_extractor
    if not isinstance(scorer, Scorer):
        raise SpecError("model: its policy is not allowed: a ScorerPolicy")
    layers = [
        (layer.weight.detach().cpu().numpy(), layer.bias.detach().cpu().numpy())
        for layer in scorer.score
        if isinstance(layer, nn.Linear)
    ]
    said = {"algorithm": "MaskablePPO of sb3-contrib", **training}
    return learned_of(env.clouds, layers, scorer.kind, **said)
