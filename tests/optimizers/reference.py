"""Slow and obvious versions in plain Python, written from the definitions alone."""

from __future__ import annotations


def dominates(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True)) and any(
        x < y for x, y in zip(a, b, strict=True)
    )


def peeled_layers(points):
    """Takes away those that nobody left dominates, again and again."""
    layer = [None] * len(points)
    left = set(range(len(points)))
    number = 0
    while left:
        front = {i for i in left if not any(dominates(points[j], points[i]) for j in left)}
        for i in front:
            layer[i] = number
        left -= front
        number += 1
    return layer
