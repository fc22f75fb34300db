"""What the built-in policies say they choose, written once more: a key for each node, lowest first.

Keys are tuples of fractions; the forecasts in them are those of the reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from .reference import HOUR, Question, exact

Key = tuple[Any, ...]


class Choice:
    """A decision, as a policy looks at it."""

    def __init__(self, spec: Any, question: Question) -> None:
        self.spec, self.question = spec, question

    def memory(self, place: int) -> int:
        """The smallest option that is enough, or the largest; at most what the node has."""
        needed, options = self.question.function.memory_req, self.spec.memory_options
        chosen = min([it for it in options if it >= needed], default=max(options))
        return min(chosen, self.question.nodes[place].memory)

    def left(self, place: int) -> int:
        """What the function would leave of the memory that nobody has, comes for, or waits for."""
        node = self.question.nodes[place]
        promised = sum(function.memory for function in [*node.coming, *node.queue])
        return node.free_memory() - promised - self.memory(place)

    def load(self, place: int) -> Fraction:
        """Threads for a core, of all that runs, comes or waits."""
        node = self.question.nodes[place]
        everything = [*node.left, *node.coming, *node.queue]
        return Fraction(sum(it.parallelism for it in everything), node.sharing.cores)

    def transfer(self, place: int) -> Fraction:
        return self.question.bandwidths.transfer(self.question.function, self.question.nodes[place])

    def finish(self, place: int) -> Fraction:
        """When the function would complete there, since it has its memory at once."""
        function, node, now = self.question.function, self.question.nodes[place], self.question.now
        function.memory = self.memory(place)
        begin = now + node.server.boot_left(now) + self.transfer(place)
        return node.forecast((function, begin))[function]

    def rent(self, place: int) -> Fraction:
        """What the hours would cost that the lease lacks to cover the completion."""
        server, now = self.question.nodes[place].server, self.question.now
        missing = self.finish(place) - max(now, server.expiry)
        return max(0, math.ceil(missing / HOUR)) * server.hourly_rate

    def full(self, place: int) -> bool:
        return self.left(place) < 0


def least_loaded(choice: Choice, place: int) -> Key:
    return (choice.load(place), place)


def first_fit(choice: Choice, place: int) -> Key:
    return (True, choice.load(place), place) if choice.full(place) else (False, place)


def best_fit(choice: Choice, place: int) -> Key:
    if choice.full(place):
        return (True, choice.load(place), place)
    return (False, choice.left(place), place)


def data_local(choice: Choice, place: int) -> Key:
    return (choice.transfer(place), choice.load(place))


def earliest_finish(choice: Choice, place: int) -> Key:
    if choice.full(place):
        return (True, choice.load(place), place)
    return (False, choice.finish(place))


def cheapest(choice: Choice, place: int) -> Key:
    if choice.full(place):
        return (True, choice.load(place), place)
    return (False, choice.rent(place), choice.finish(place))


def weighted(choice: Choice, place: int) -> Key:
    if choice.full(place):
        return (True, choice.load(place), place)
    objective = choice.spec.objective
    weight, scale = exact(objective.weight), exact(objective.rent_scale)
    time = choice.finish(place) - choice.question.now
    cost = weight * time + (1 - weight) * scale * choice.rent(place)
    return (False, cost, choice.finish(place))


def critical_path_first(choice: Choice, place: int) -> Key:
    question = choice.question
    elapsed = question.now - question.workflow.arrival
    slack = question.critical_path - elapsed - question.remaining_path
    return cheapest(choice, place) if slack > 0 else earliest_finish(choice, place)


KEYS: dict[str, Callable[[Choice, int], Key]] = {
    "least-loaded": least_loaded,
    "first-fit": first_fit,
    "best-fit": best_fit,
    "data-local": data_local,
    "earliest-finish": earliest_finish,
    "cheapest": cheapest,
    "weighted": weighted,
    "critical-path-first": critical_path_first,
}


def check_choice(name: str, spec: Any, question: Question, placement: tuple[int, ...]) -> None:
    """A policy chose what it says, but for the rounding of floats."""
    choice, (chosen, memory, *_) = Choice(spec, question), placement
    assert memory == choice.memory(chosen)
    if name not in KEYS:
        return
    keys = [KEYS[name](choice, place) for place in range(len(question.nodes))]
    for mine, best in zip(keys[chosen], min(keys), strict=False):
        assert abs(mine - best) <= 1e-9 * max(1, abs(best)), (name, chosen, keys)
        if mine != best:
            return
