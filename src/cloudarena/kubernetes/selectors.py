"""What pods and nodes ask of each other: selectors, affinity, taints, spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

HOSTNAME = "kubernetes.io/hostname"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
BLOCKING = ("NoSchedule", "NoExecute")
"""Effects of taints that keep pods off; PreferNoSchedule only ranks."""


class Requirement(NamedTuple):
    """A condition on a label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels satisfy it; what is absent is not in any set."""
        value = labels.get(self.key)
        if self.operator == "In":
            return value in self.values
        if self.operator == "NotIn":
            return value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        try:
            number, limit = int(str(value)), int(self.values[0])
        except (ValueError, IndexError):
            return False
        return number > limit if self.operator == "Gt" else number < limit


OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
Selector = tuple[Requirement, ...]
"""Conditions that must all hold; none at all holds for everything."""


def matches(selector: Selector | None, labels: Mapping[str, str]) -> bool:
    """Whether labels satisfy a selector; one that is not given selects nothing."""
    return selector is not None and all(one.holds(labels) for one in selector)


def requirements(expressions: Sequence[Mapping[str, Any]] | None) -> Selector:
    """The conditions of ``matchExpressions``."""
    found = []
    for one in expressions or ():
        operator = str(one.get("operator"))
        if operator not in OPERATORS:
            raise ValueError(f"operator {operator!r} is not one of {', '.join(OPERATORS)}")
        values = tuple(str(value) for value in one.get("values") or ())
        found.append(Requirement(str(one["key"]), operator, values))
    return tuple(found)


def label_selector(document: Mapping[str, Any] | None) -> Selector | None:
    """A selector of ``matchLabels`` and ``matchExpressions``; None if there is none."""
    if document is None:
        return None
    equal = (document.get("matchLabels") or {}).items()
    plain = tuple(Requirement(str(key), "In", (str(value),)) for key, value in equal)
    return plain + requirements(document.get("matchExpressions"))


class NodeTerm(NamedTuple):
    """One of the alternatives of a node affinity."""

    labels: Selector
    fields: Selector

    def holds(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node satisfies it; an empty alternative is satisfied by none."""
        if not self.labels and not self.fields:
            return False
        return matches(self.labels, labels) and matches(self.fields, {"metadata.name": name})


def node_terms(spec: Mapping[str, Any]) -> tuple[NodeTerm, ...] | None:
    """The alternatives of a pod's required node affinity; None if it has none."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return None
    return tuple(
        NodeTerm(requirements(one.get("matchExpressions")), requirements(one.get("matchFields")))
        for one in required.get("nodeSelectorTerms") or ()
    )


class Taint(NamedTuple):
    """What keeps pods off a node that do not tolerate it."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}" if self.value else self.key


class Toleration(NamedTuple):
    """What a pod puts up with; an empty key or effect stands for any."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: Taint) -> bool:
        """Whether it is about a taint."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        if self.operator == "Exists":
            return True
        return self.operator in ("", "Equal") and self.value == taint.value


class Labelled(Protocol):
    """What a pod affinity looks at in another pod."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the pod."""

    @property
    def namespace(self) -> str:
        """The namespace of the pod."""

    @property
    def namespace_labels(self) -> Mapping[str, str]:
        """The labels of its namespace."""


class PodTerm(NamedTuple):
    """A term of a required pod affinity or anti-affinity."""

    topology: str
    """The label whose equal values make nodes one place."""
    selector: Selector | None
    namespaces: tuple[str, ...]
    namespace_selector: Selector | None

    def is_about(self, pod: Labelled) -> bool:
        """Whether a pod is one of those that the term speaks of."""
        there = pod.namespace in self.namespaces or matches(
            self.namespace_selector, pod.namespace_labels
        )
        return there and matches(self.selector, pod.labels)


def pod_terms(spec: Mapping[str, Any], which: str, namespace: str) -> tuple[PodTerm, ...]:
    """The required terms of ``podAffinity`` or ``podAntiAffinity``."""
    affinity = (spec.get("affinity") or {}).get(which) or {}
    found = []
    for one in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        named = tuple(map(str, one.get("namespaces") or ()))
        by_labels = label_selector(one.get("namespaceSelector"))
        if not named and by_labels is None:
            named = (namespace,)
        selector = label_selector(one.get("labelSelector"))
        found.append(PodTerm(str(one["topologyKey"]), selector, named, by_labels))
    return tuple(found)


class Spread(NamedTuple):
    """A topology spread constraint with ``whenUnsatisfiable: DoNotSchedule``."""

    topology: str
    selector: Selector | None
    max_skew: int
    min_domains: int
    honours_affinity: bool
    """Whether only nodes that the pod's node affinity allows are counted."""
    honours_taints: bool
    """Whether only nodes whose taints the pod tolerates are counted."""


def spreads(spec: Mapping[str, Any], labels: Mapping[str, str]) -> tuple[Spread, ...]:
    """The spread constraints of a pod that keep it off nodes."""
    found = []
    for one in spec.get("topologySpreadConstraints") or ():
        if one.get("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        selector = label_selector(one.get("labelSelector"))
        if selector is not None:
            keys = [str(key) for key in one.get("matchLabelKeys") or ()]
            selector += tuple(
                Requirement(key, "In", (labels[key],)) for key in keys if key in labels
            )
        found.append(
            Spread(
                str(one["topologyKey"]),
                selector,
                int(one.get("maxSkew", 1)),
                int(one.get("minDomains") or 1),
                one.get("nodeAffinityPolicy", "Honor") != "Ignore",
                one.get("nodeTaintsPolicy", "Ignore") == "Honor",
            )
        )
    return tuple(found)
