"""Which metrics to measure: a few from which the score of a strategy follows well enough."""

from cloudarena.reduction.information import (
    both_above,
    correlation_of,
    information_bits,
    metric_alignment,
)
from cloudarena.reduction.reduce import Reduction, Step, reduce_metrics
from cloudarena.reduction.synthetic import synthetic_metrics

__all__ = [
    "Reduction",
    "Step",
    "both_above",
    "correlation_of",
    "information_bits",
    "metric_alignment",
    "reduce_metrics",
    "synthetic_metrics",
]
