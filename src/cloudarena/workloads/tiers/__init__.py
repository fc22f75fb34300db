"""Arrival rates over time, in requests a second."""
