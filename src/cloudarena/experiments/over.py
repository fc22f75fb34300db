"""One comparison for each value of a key of the spec, and whether the ranking depends on it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

from cloudarena.base.errors import SpecError
from cloudarena.base.yaml import parse_yaml
from cloudarena.experiments.comparison import Comparison
from cloudarena.experiments.conclusion import listed


@dataclass(frozen=True)
class Over:
    """Comparisons of policies under several values of a key."""

    key: str
    comparisons: Mapping[str, Comparison]
    """Comparisons by the value as it was written, in order."""

    @cached_property
    def policies(self) -> tuple[str, ...]:
        """The policies that were compared."""
        return next(iter(self.comparisons.values())).policies

    def ranks(self, value: str) -> dict[str, float]:
        """The rank of each policy by its mean of the headline; NaN for who is out of the running.

        Equal means share their ranks.
        """
        found = self.comparisons[value]
        metric = found.scenario.kind.metric[found.headline]
        sign = -1.0 if metric.better == "higher" else 1.0
        means = {
            one: sign * found.estimate(one, metric.name).mean
            for one in self.policies
            if one not in found.out_of_the_running
        }
        known = [mean for mean in means.values() if not math.isnan(mean)]
        ranks = dict.fromkeys(self.policies, math.nan)
        for one, mean in means.items():
            if not math.isnan(mean):
                below, equal = sum(m < mean for m in known), sum(m == mean for m in known)
                ranks[one] = 1.0 + below + (equal - 1) / 2.0
        return ranks

    def agreement(self, value: str) -> float:
        """Kendall's tau of the ranks under a value and under the first; NaN without two pairs.

        Policies that are out of the running under either are left out.
        """
        first, other = self.ranks(next(iter(self.comparisons))), self.ranks(value)
        both = [one for one in self.policies if not math.isnan(first[one] + other[one])]
        signs = [
            _sign(first[a] - first[b]) * _sign(other[a] - other[b])
            for a, b in combinations(both, 2)
        ]
        return sum(signs) / len(signs) if signs else math.nan

    def conclusion(self) -> str:
        """Whether the answer depends on the key, in a sentence.

        It does if nobody is among the best under all values. Each value has its own comparison, at
        95 %, and the answer would be called dependent by chance if two of them were wrong.
        """
        leaders: dict[tuple[str, ...], list[str]] = {}
        for value, found in self.comparisons.items():
            metric = found.scenario.kind.metric[found.headline]
            leaders.setdefault(tuple(sorted(found.leaders(metric))), []).append(value)
        headline = next(iter(self.comparisons.values())).headline
        if len(leaders) == 1:
            (best,) = leaders
            words = (
                f"{listed(best)} {'leads' if len(best) == 1 else 'lead'}" if best else "no leader"
            )
            return f"The answer does not depend on {self.key}: {words} by {headline} under all."
        parts = [
            f"{listed(best) if best else 'nobody'} under {listed(values)}"
            for best, values in leaders.items()
        ]
        told = f"The best by {headline}, with what cannot be told from it: {'; '.join(parts)}."
        common = set.intersection(*(set(best) for best in leaders))
        if common:
            # A pair that is told apart under one value and not under another is no change of mind.
            always = [one for one in self.policies if one in common]
            verb = "is" if len(always) == 1 else "are"
            words = f"{listed(always)} {verb} among the best under all"
            return f"Nothing shows that the answer depends on {self.key}: {words}. {told}"
        return f"The answer depends on {self.key}. {told}"

    def summary(self) -> dict[str, Any]:
        """All figures as plain values for JSON."""
        return {
            "over": self.key,
            "conclusion": self.conclusion(),
            "ranks": {value: self.ranks(value) for value in self.comparisons},
            "agreement": {value: self.agreement(value) for value in self.comparisons},
            "comparisons": {value: one.summary() for value, one in self.comparisons.items()},
        }

    def save(self, folder: Path) -> list[Path]:
        """Writes each comparison to a folder of its own, called by its value."""
        names = [
            re.sub(r"[^\w.+-]+", "-", value).strip("-") or "value" for value in self.comparisons
        ]
        return [
            one.save(folder / (name if names.count(name) == 1 else f"{name}-{k}"))
            for k, (name, one) in enumerate(zip(names, self.comparisons.values(), strict=True))
        ]


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def parse_over(text: str) -> tuple[str, list[tuple[str, Any]]]:
    """The key and the values of ``KEY=A,B``; commas in brackets do not separate."""
    key, separator, rest = text.partition("=")
    if not separator or not key or not rest:
        raise SpecError(f"--over {text!r} is not allowed: KEY=A,B")
    words = [word.strip() for word in re.split(r",(?![^\[{]*[\]}])", rest)]
    if len(words) < 2 or len(set(words)) < len(words) or "" in words:
        raise SpecError(f"--over {text!r} is not allowed: at least two values, each once")
    try:
        return key, [(word, parse_yaml(word)) for word in words]
    except ValueError:
        raise SpecError(f"--over {text!r} is not allowed: a value is not YAML") from None


def compare_over(key: str, values: Sequence[str], compared: Callable[[str], Comparison]) -> Over:
    """Compares under each value of a key.

    Args:
        key: such as ``power.table``.
        values: as they are written.
        compared: the comparison under a value.
    """
    return Over(key, {word: compared(word) for word in values})
