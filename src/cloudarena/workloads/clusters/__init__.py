"""Batches of tasks of several classes."""
