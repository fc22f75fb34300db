"""Speed beside peers in one run: ``cloudarena bench``."""
