"""Which metrics to measure: a few from which the score of a strategy follows well enough."""

from cloudarena.reduction.information import (
    both_above,
    correlation_of,
    information_bits,
    metric_alignment,
)
from cloudarena.reduction.priorities import CONSISTENT, Priorities, priorities
from cloudarena.reduction.reduce import Reduction, Step, reduce_metrics
from cloudarena.reduction.synthetic import synthetic_metrics

__all__ = [
    "CONSISTENT",
    "Priorities",
    "Reduction",
    "Step",
    "both_above",
    "correlation_of",
    "information_bits",
    "metric_alignment",
    "priorities",
    "reduce_metrics",
    "synthetic_metrics",
]
