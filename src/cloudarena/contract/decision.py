"""What is decided, who decides it, and how learning sees it."""

from __future__ import annotations

from typing import Any, Protocol


class Decision(Protocol):
    """What must be decided now, and what a real decider would know about it.

    Arrays are read-only views of the state and change with the next ``apply``.
    """

    @property
    def kind(self) -> str:
        """Which of the scenario's kinds of decision this is, such as ``place``."""

    @property
    def now(self) -> float:
        """The time of the decision in seconds since the run began."""


class Observer(Protocol):
    """A run as reinforcement learning sees it: features, masks and rewards."""

    @property
    def observation_space(self) -> Any:
        """The Gymnasium space of ``features``."""

    @property
    def action_space(self) -> Any:
        """The Gymnasium space of actions."""

    def features(self, run: Any) -> Any:
        """The observation of the run's current decision; zeros when the run has ended."""

    def mask(self, run: Any) -> Any:
        """True for each action that is allowed now."""

    def action(self, run: Any, choice: Any) -> Any:
        """The scenario's action for an element of the action space."""

    def value(self, run: Any) -> float:
        """What has been earned so far; the reward of a step is its increase."""
