"""Devices, networks and functions with measured figures, and requests for them."""
