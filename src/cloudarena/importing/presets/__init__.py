"""Formats of well-known tools: each module has a line in ``PRESETS``.

A module has ``DESCRIPTION``, ``recognises(file)`` and ``read(files)``.
"""

from __future__ import annotations

from types import ModuleType

from cloudarena.importing.presets import (
    access,
    cloudwatch,
    ec2,
    invocations,
    kubectl,
    openstack,
    prometheus,
    requests,
    sacct,
    swf,
    tabular,
)

PRESETS: dict[str, ModuleType] = {
    "sacct": sacct,
    "kubectl": kubectl,
    "prometheus": prometheus,
    "openstack": openstack,
    "ec2": ec2,
    "cloudwatch": cloudwatch,
    "swf": swf,
    "invocations": invocations,
    "access": access,
    "requests": requests,
    "tabular": tabular,
}
"""The presets by name, in the order in which they are asked whether they know a file."""
