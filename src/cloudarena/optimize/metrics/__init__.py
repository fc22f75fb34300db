"""Which metrics to measure: a few from which the score of a strategy follows well enough."""

from cloudarena.optimize.metrics.information import (
    both_above,
    correlation_of,
    information_bits,
    metric_alignment,
)
from cloudarena.optimize.metrics.reduce import Reduction, Step, reduce_metrics
from cloudarena.optimize.metrics.synthetic import synthetic_metrics

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
