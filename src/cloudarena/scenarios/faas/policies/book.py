"""Policies for both kinds of decision: a placer, a scaler, or a bundle of both.

A placer is a function of arrays, ``placer(nodes, replica, p, rng) -> node``, and a scaler one of
numbers, ``scaler(scaling, p, rng) -> replicas``; both may leave ``p``, their parameters, out. So a
function of three arguments is a placer, unless the middle one is called ``p`` or ``parameters``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cloudarena.base.errors import PolicyError
from cloudarena.policies import (
    ArrayPolicy,
    Bundle,
    Policy,
    PolicyBook,
    has_parameters,
    made,
    policy_name,
    takes,
)

SCALE = "faas-scale"
"""What a learned scaler decides."""


class FaasBook(PolicyBook):
    """Placers by name. What it finds is a bundle, or one callable for both kinds of decision.

    A bundle is any object with the attributes ``place`` and ``scale``; what is missing, or None,
    is that of the spec.
    """

    def __init__(
        self, kind: str, shown: Callable[[], tuple[Any, ...]], scalers: PolicyBook
    ) -> None:
        super().__init__(kind, shown)
        self._scalers = scalers

    def resolve(self, policy: str | Policy) -> Policy:
        """A policy from its name, a placer, a scaler, a bundle, or any callable of a decision."""
        found = super().resolve(policy)
        if getattr(found, "decides", "") == SCALE:
            return Bundle(policy_name(policy), {"place": self._placer("spec"), "scale": found})
        if isinstance(found, ArrayPolicy) and not isinstance(found, Bundle):
            return Bundle(found.name, {"place": found, "scale": self._scalers.resolve("spec")})
        return found

    def signature_of(self, decides: str) -> Any:
        """The Numba signature of a learned placer or scaler."""
        return self._scalers.signature() if decides == SCALE else self.signature()

    def signatures(self) -> tuple[Any, ...]:
        """The Numba signatures of a placer and of a scaler."""
        return self.signature(), self._scalers.signature()

    def _adopt(self, policy: Any, name: str, settings: list[str] | None = None) -> Policy:
        """Takes a user's class, placer, scaler, bundle or function of a decision."""
        if isinstance(policy, ArrayPolicy) and not settings:
            return policy
        policy = made(getattr(policy, "py_func", policy))
        if hasattr(policy, "place") or hasattr(policy, "scale"):
            if settings:
                raise PolicyError(
                    f"policy {name}: {settings[0]!r} is not allowed: a bundle has no parameters"
                )
            placer, scaler = getattr(policy, "place", None), getattr(policy, "scale", None)
            parts = {
                "place": self._placer("spec" if placer is None else placer),
                "scale": self._scalers.resolve("spec" if scaler is None else scaler),
            }
            return Bundle(name, parts)
        if takes(policy, 2) or (takes(policy, 3) and has_parameters(policy)):
            scaler = self._scalers._adopt(policy, name, settings)
            return Bundle(name, {"place": self._placer("spec"), "scale": scaler})
        return super()._adopt(policy, name, settings)

    def _placer(self, part: Any) -> Policy:
        """The part of a bundle that places replicas."""
        return super().resolve(part) if isinstance(part, str) else super()._adopt(part, "placer")
