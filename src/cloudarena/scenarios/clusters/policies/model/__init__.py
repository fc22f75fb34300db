"""The closed-form model of VM clusters, by which policies judge shares without simulating them.

``ClusterModel`` is the model as a problem of ``cloudarena.optimizers``, ``Compositions`` are all
shares there are, ``JointCompositions`` those of several virtual clusters, ``designed_sample`` takes
some of too many, and ``stages`` says where stages begin and end.
"""

from cloudarena.scenarios.clusters.policies.model.cluster_model import ClusterModel
from cloudarena.scenarios.clusters.policies.model.compositions import Compositions
from cloudarena.scenarios.clusters.policies.model.joint import JointCompositions
from cloudarena.scenarios.clusters.policies.model.large_spaces import (
    designed_sample,
    mean_model_seeds,
)

__all__ = [
    "ClusterModel",
    "Compositions",
    "JointCompositions",
    "designed_sample",
    "mean_model_seeds",
]
