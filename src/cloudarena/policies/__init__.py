"""Policies by name, and one policy at two speeds."""

from cloudarena.policies.array import ArrayPolicy, Bundle, SteppedPolicyWarning
from cloudarena.policies.book import (
    PolicyBook,
    begin,
    made,
    parameters,
    policy_name,
    policy_signature,
    ranks_by,
    takes,
)
from cloudarena.policies.entry import has_parameters
from cloudarena.policies.parameters import Declared
from cloudarena.policies.policy import Parameters, Policy

__all__ = [
    "ArrayPolicy",
    "Bundle",
    "Declared",
    "Parameters",
    "Policy",
    "PolicyBook",
    "SteppedPolicyWarning",
    "begin",
    "has_parameters",
    "made",
    "parameters",
    "policy_name",
    "policy_signature",
    "ranks_by",
    "takes",
]
