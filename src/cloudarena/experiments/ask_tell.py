"""Ask and tell: the methods of ``optimize`` for a simulator, or an experiment, of one's own.

The method runs in a thread of its own and waits whenever it needs values; ``ask`` says which, and
``tell`` brings them. Evaluations that were told are in a store, if a folder is named, so that a
study goes on where it was stopped: the method is begun again and finds them there.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, Self

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import CloudarenaError, SpecError, check_choice
from cloudarena.base.limits import parse_limit
from cloudarena.experiments.evaluations import (
    STUDY,
    Row,
    digest_of,
    evaluation_key,
    open_evaluations,
)
from cloudarena.experiments.study import levels_of
from cloudarena.optimizers import METHODS, Encoding, Grid, MemoizedProblem, Problem, Selection
from cloudarena.optimizers.problem import Objectives, read_objectives
from cloudarena.optimizers.spaces.regions import Region


class Evaluation(NamedTuple):
    """What is to be evaluated: a design, in a replication."""

    number: int
    """The number of the design."""
    design: Any
    replication: int
    seed: int
    """A seed for it: the same for all designs in a replication, so that all see the same work."""


class AskTell:
    """A study whose evaluations are made elsewhere.

    ::

        study = AskTell({"rate": {"from": 0, "to": 1}}, "cost", evaluations=100, store="my-study")
        while asked := study.ask():
            for one in asked:                      # in any order, or all at the same time
                study.tell(one, my_simulator(one.design, one.seed))
        study.winner, study.selection

    Args:
        designs: the levels of each key, as a study has them (a list, or ``{"from", "to"}``, which
            is continuous without ``steps`` or ``step``), or any sequence of designs.
        objectives: the name of what is minimised, several, or names with directions.
        evaluations: how many there are in all; another time more may be asked for.
        method: one of ``cloudarena.optimizers.METHODS``.
        limits: what means must keep, such as ``["latency_s <= 2"]``.
        seed: of replication 0; also of what the method draws.
        store: a folder that keeps what is told, and has what was told before.
        name: of the simulator: evaluations of another name are others.
        options: of the method.
    """

    def __init__(
        self,
        designs: Mapping[str, Any] | Sequence[Any],
        objectives: Objectives = "loss",
        *,
        evaluations: int,
        method: str = "auto",
        limits: Sequence[str] = (),
        seed: int = 0,
        store: str | Path | None = None,
        name: str = STUDY,
        **options: Any,
    ) -> None:
        check_choice("method", method, METHODS)
        own = METHODS[method].option_names
        given = {"evaluations": evaluations, "seed": seed, **options}
        self._options = {key: value for key, value in given.items() if key in own or key in options}
        METHODS[method].read(self._options)
        self._method = METHODS[method]
        self.problem = _Asking(designs, objectives, limits, seed)
        self.selection: Selection | None = None
        """What was chosen, when the study has ended."""
        self._name = name
        self._open = ExitStack()
        self._kept = self._open.enter_context(open_evaluations(store, STUDY))
        self._error: BaseException | None = None
        self._asked: dict[tuple[int, int], Floats | None] = {}
        self._thread = threading.Thread(target=self._run, name="cloudarena study", daemon=True)
        self._has_begun = False

    @property
    def winner(self) -> Any:
        """The chosen design."""
        if self.selection is None:
            raise CloudarenaError("winner: is not known before ask() returns nothing")
        return self.problem.design(self.selection.best)

    def ask(self) -> list[Evaluation]:
        """All evaluations that the method waits for and that were not told; none at the end."""
        if not self._has_begun:
            self._has_begun = True
            self._thread.start()
            self._take()
        while self._asked:
            open_pairs = [pair for pair, values in self._asked.items() if values is None]
            if open_pairs:
                return [self._evaluation(*pair) for pair in open_pairs]
            self.problem.answers.put(dict(self._asked))
            self._take()
        if self._error is not None:
            raise self._error
        return []

    def tell(self, asked: Evaluation, values: float | Sequence[float]) -> None:
        """The values of an evaluation: a number for each objective, then for each limit."""
        pair = (asked.number, asked.replication)
        if pair not in self._asked:
            raise SpecError(
                f"tell: replication {asked.replication} of design {asked.number} is not allowed: "
                "it was not asked for"
            )
        told = np.atleast_1d(np.asarray(values, np.float64)).ravel()
        columns = self.problem.columns
        if len(told) != len(columns) or not np.isfinite(told).all():
            raise SpecError(
                f"tell: {values!r} is not allowed: a finite number for each of {', '.join(columns)}"
            )
        self._asked[pair] = told
        if self._kept is not None:
            self._kept.add([self._row(asked, told)])
            self._kept.write()

    def close(self) -> None:
        """Closes the store; what was told is in it."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        try:
            self.selection = self._method(MemoizedProblem(self.problem), **self._options)
        except BaseException as error:  # who asks is told
            self._error = error
        self.problem.questions.put([])

    def _take(self) -> None:
        """Waits for what the method asks next, and fills in what is in the store."""
        pairs = self.problem.questions.get()
        self._asked = {pair: self._known(*pair) for pair in pairs}
        if not pairs:
            self._thread.join()
            self.close()

    def _evaluation(self, number: int, replication: int) -> Evaluation:
        seed = self.problem.seed + replication
        return Evaluation(number, self.problem.design(number), replication, seed)

    def _known(self, number: int, replication: int) -> Floats | None:
        found = None if self._kept is None else self._kept.values(self._key(number, replication))
        if found is None:
            return None
        return np.array([found.get(name, np.nan) for name in self.problem.columns])

    def _digest(self, number: int) -> bytes:
        told = [self._name, self.problem.columns, self.problem.design(number)]
        return digest_of(json.dumps(told, sort_keys=True, default=str))

    def _key(self, number: int, replication: int) -> str:
        return evaluation_key(self._digest(number), self.problem.seed + replication)

    def _row(self, asked: Evaluation, told: Floats) -> Row:
        design = asked.design if isinstance(asked.design, Mapping) else {"design": asked.design}
        cell = self._digest(asked.number).hex()
        columns = {"cell": cell, "scenario": self._name, "case": "", "policy": "", **design}
        values = dict(zip(self.problem.columns, told.tolist(), strict=True))
        return Row(self._key(asked.number, asked.replication), columns, asked.seed, values, 0.0)


class _Asking(Problem):
    """A problem whose values somebody else brings."""

    def __init__(
        self,
        designs: Mapping[str, Any] | Sequence[Any],
        objectives: Objectives,
        limits: Sequence[str],
        seed: int,
    ) -> None:
        self._continuous: list[str] = []
        if isinstance(designs, Mapping):
            self._continuous = [
                key
                for key, value in designs.items()
                if isinstance(value, Mapping) and not {"steps", "step"} & set(value)
            ]
            designs = Grid({key: levels_of(value, key) for key, value in designs.items()})
        if not len(designs):
            raise SpecError("designs: an empty sequence is not allowed: at least one design")
        self.designs = designs
        self.size = len(designs)
        self.objectives = read_objectives(objectives)
        self.limits = tuple(parse_limit(text, "limits") for text in limits)
        self.seed = seed
        self.questions: SimpleQueue[list[tuple[int, int]]] = SimpleQueue()
        self.answers: SimpleQueue[dict[tuple[int, int], Floats | None]] = SimpleQueue()

    def design(self, index: int) -> Any:
        """The design of a number."""
        return self.designs[int(index)]

    @property
    def encoding(self) -> Encoding:
        """A gene for each key, if there are keys."""
        return self.designs.encoding if isinstance(self.designs, Grid) else super().encoding

    @property
    def regions(self) -> tuple[Region, ...]:
        """The one region of the keys, if there are keys."""
        if isinstance(self.designs, Grid):
            return (self.designs.region(self._continuous),)
        return super().regions

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """Asks for each design in each replication, and waits."""
        pairs = [(d, r) for d in designs.tolist() for r in replications.tolist()]
        if not pairs:
            return np.empty((len(designs), len(replications), len(self.columns)))
        self.questions.put(pairs)
        told = self.answers.get()
        return np.array([told[pair] for pair in pairs], np.float64).reshape(
            len(designs), len(replications), len(self.columns)
        )
