"""What a pod asks for, by the rules of Kubernetes.

A pod asks for the larger of its containers and sidecars together and its largest init container
(each with the sidecars that began before it), and for the overhead of its runtime class. What the
pod itself asks for as a whole stands in place of its containers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cloudarena.kubernetes.quantity import PODS, amount

Amounts = dict[str, int]
"""How much of each resource, as ``quantity.amount`` counts it."""


def amounts_of(resources: Mapping[str, Any] | None) -> Amounts:
    """The amounts of a list of resources."""
    return {name: amount(name, str(text)) for name, text in (resources or {}).items()}


def total(one: Mapping[str, int], other: Mapping[str, int]) -> Amounts:
    """The sum of both."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def larger(one: Mapping[str, int], other: Mapping[str, int]) -> Amounts:
    """The larger of each."""
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def requested(spec: Mapping[str, Any]) -> Amounts:
    """What a pod asks for; itself is one of ``pods``."""
    running: Amounts = {}
    for container in spec.get("containers") or ():
        running = total(running, _requests(container))
    sidecars: Amounts = {}
    start: Amounts = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            sidecars = total(sidecars, _requests(container))
            start = larger(start, sidecars)
        else:
            start = larger(start, total(sidecars, _requests(container)))
    whole = {**larger(total(running, sidecars), start), **_requests(spec)}
    return {**total(whole, amounts_of(spec.get("overhead"))), PODS: 1}


def _requests(asking: Mapping[str, Any]) -> Amounts:
    """The requests of a container; limits stand for what is not requested."""
    resources = asking.get("resources") or {}
    return amounts_of({**(resources.get("limits") or {}), **(resources.get("requests") or {})})
