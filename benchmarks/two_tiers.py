"""A service of two tiers that is simulated in milliseconds: all but its length and its load."""

TWO_TIERS = {
    "scenario": "tiers",
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
