"""A service that is simulated in a few milliseconds, and a space of designs for it."""

SCENARIO = {
    "scenario": "tiers",
    "duration_s": 240,
    "arrivals": {"source": "constant", "rate": 4},
    "routing": {"kind": "depth", "forward": [0.8]},
    "tiers": [
        {
            "name": "web",
            "fat": {"rate": 14, "max": 2, "start": 0},
            "thin": {"rate": 8, "max": 3, "start": 1},
        },
        {
            "name": "db",
            "fat": {"rate": 12, "max": 2, "start": 1},
            "thin": {"rate": 6, "max": 2, "start": 0},
        },
    ],
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
