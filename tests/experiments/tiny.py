"""A service that is simulated in a few milliseconds, and a space of designs for it."""

from benchmarks.two_tiers import TWO_TIERS

SCENARIO = {
    **TWO_TIERS,
    "duration_s": 240,
    "arrivals": {"source": "constant", "rate": 4},
}
STUDY = {
    "spec": SCENARIO,
    "designs": {
        "policy": ["utilisation", "static"],
        "utilisation.high": [0.8, 0.95],
        "utilisation.low": [0.2, 0.5],
        "boot_s": [0, 30],
    },
    "objectives": ["response_mean_s", "cost_usd"],
}
