"""Mechanisms that scenarios share; none of them knows a scenario."""
