"""Sentences as pages say them: ``profit`` for ``profit_usd``, ``unserved ≤ 0.001`` for a limit."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cloudarena.contract import Metric

NO_BREAK = "\N{NO-BREAK SPACE}"
"""What stands between a number and its unit."""
SIGNS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">"}
NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"


def name_of(metric: Metric) -> str:
    """What people call a metric, without its unit, such as ``Profit``."""
    return (metric.label or metric.name).removesuffix(f", {metric.unit}")


def spoken(sentence: str, metrics: Mapping[str, Metric]) -> str:
    """A sentence with the labels of metrics in place of identifiers, and units behind numbers.

    Words without an underscore, such as ``served``, are left as they are: they may be meant as
    words.
    """
    names = "|".join(sorted(map(re.escape, metrics), key=len, reverse=True))
    if not names:
        return sentence
    pattern = rf"(?<![\w.@/-])({names})\b(?![@=/-]|\.\w)(?: ?(<=|>=|<|>)? ?({NUMBER})(?![\w%]))?"

    def said(found: re.Match[str]) -> str:
        metric, (sign, number) = metrics[found[1]], found.group(2, 3)
        if "_" not in metric.name and sign is None:
            return found[0]
        words = name_of(metric)
        if words[1:2].islower() and not _begins(sentence, found.start()):
            words = words[0].lower() + words[1:]
        if number is None:
            return words
        amount = f"${number}" if metric.unit == "$" else f"{number} {metric.unit}".strip()
        return f"{words} {SIGNS.get(sign, '')} {amount}".replace("  ", " ").replace(" ", NO_BREAK)

    return re.sub(pattern, said, sentence)


def _begins(text: str, place: int) -> bool:
    """Whether a sentence begins there."""
    before = text[:place].rstrip()
    return not before or before[-1] in ".!?"
