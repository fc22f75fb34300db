"""A run whose state is a NamedTuple of arrays and whose time is moved by a compiled kernel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np

from cloudarena.blame import asked, fault_of
from cloudarena.contract import Policy, RecordLevel, Scenario, Simulation
from cloudarena.engine.compiled import compiled_as
from cloudarena.engine.interrupts import Interrupted, apart, make_flag
from cloudarena.engine.streams import stream
from cloudarena.errors import CloudarenaError, InvalidAction
from cloudarena.policies import ArrayPolicy, Bundle, PolicyBook


class CompiledRun(Simulation):
    """What the runs of all scenarios with array policies share: stepping, and playing compiled.

    A scenario says what its kernel calls the states of a run, and how to make room when the
    kernel comes back because something is full.
    """

    ended: int
    deciding: int
    full: int
    """The kernel's statuses; any other is an action that is not allowed."""
    kernel_play: Callable[..., Any]
    """``play(world, shown, stop, policy, rng) -> status``, not yet compiled.

    What policies are shown is read-only. It comes back, deciding, when ``stop[0]`` is not 0. With
    bundles it takes all policies.
    """
    book: PolicyBook

    def __init__(self, scenario: Scenario, seed: int, record: RecordLevel, world: Any) -> None:
        super().__init__(scenario, seed, record)
        self.world = world
        self.rng = stream(seed, "policy")
        self._status: int | None = None
        self._lost = False

    @abstractmethod
    def _first_decision(self) -> int:
        """Moves to the first decision; returns the status."""

    @abstractmethod
    def _make_room(self) -> None:
        """Makes room for what is full."""

    @abstractmethod
    def _why_not(self, status: int) -> str:
        """Why the last action is not allowed."""

    @property
    def is_deciding(self) -> bool:
        """Whether something is to be decided; moves to the first decision if need be."""
        if self._lost:
            raise CloudarenaError("the run was interrupted within its policy and cannot go on")
        if self._status is None:
            self._status = self._first_decision()
        return self._status == self.deciding

    def _step(self, act: Callable[..., int], *action: int) -> int:
        """Takes an action; makes room and tries again if something is full."""
        status = act(self.world, *action)
        if status == self.full:
            self._make_room()
            status = act(self.world, *action)
        return status

    def _go_on(self, status: int) -> None:
        """Takes note of where the kernel stands, or says why an action is not allowed."""
        if status not in (self.ended, self.deciding):
            self._status = self.deciding
            raise InvalidAction(self._why_not(status))
        self._status = status

    def play(self, policy: Policy) -> None:
        """Runs to the end: compiled if the policy is a function of arrays, else stepped.

        A policy that fails, fails here as it does stepped: the decision at which compiled code
        raised something is put once more to the plain function.
        """
        code = policy.machine_code if isinstance(policy, ArrayPolicy) else None
        if not isinstance(policy, ArrayPolicy) or code is None:
            super().play(policy)
            return
        codes = code if isinstance(code, tuple) else (code,)
        self._prepare(policy)
        types = tuple(numba.typeof(part) for part in self._state())
        run_on = _compiled_play(self.kernel_play, types, self.book.signatures())
        raised: BaseException | None = None
        try:
            status = self._play_on(run_on, codes)
            while status == self.full:
                self._make_room()
                status = self._play_on(run_on, codes)
        except _PolicyRaised as fault:
            raised = fault.error
        if raised is not None:
            self._repeat(policy, raised)
        elif status in (self.ended, self.deciding):
            self._status = status
        else:
            self._refuse(policy, status)

    def _repeat(self, policy: ArrayPolicy, raised: BaseException) -> None:
        """Puts the decision at which compiled code raised something to the plain function.

        It raises the same in Python's words, with its line; if not, for it has drawn another number
        since, what was raised is told.
        """
        self._status = self.deciding
        raise fault_of(self._ask_plain(policy), raised) from raised

    def _refuse(self, policy: ArrayPolicy, status: int) -> None:
        """Says why the last action of a compiled policy is not allowed."""
        self._status = self.deciding
        why = self._why_not(status)
        self._ask_plain(policy)
        raise InvalidAction(why)

    def _ask_plain(self, policy: ArrayPolicy) -> Policy:
        """Puts a decision to the plain function of the policy that decides now.

        What it raises is told in its words. So is what it returns if that is no whole number:
        compiled code cuts numbers to 64 bits.
        """
        decision: Any = self.decision
        part = policy.parts[decision.kind] if isinstance(policy, Bundle) else policy
        action = asked(part, decision)
        if not all(is_whole(one) for one in (action if isinstance(action, tuple) else (action,))):
            self.apply(action)
        return part

    def _play_on(self, run_on: Any, codes: tuple[Any, ...]) -> int:
        """Lets the kernel decide by compiled policies; signals are heard meanwhile."""
        state, stop = self._state(), make_flag()
        self._status = None
        try:
            return int(apart(lambda: run_on(*state, stop, *codes, self.rng), stop))
        except Interrupted as interrupt:
            self._lost = not interrupt.ended or interrupt.value not in (self.deciding, self.ended)
            self._status = None if self._lost else int(interrupt.value)
            raise interrupt.signal from None
        except Exception as error:
            raise _PolicyRaised(error) from error

    def _state(self) -> tuple[Any, ...]:
        """What the kernel takes before the policies: the world, and what policies are shown."""
        return (self.world,)

    def _prepare(self, policy: ArrayPolicy) -> None:
        """Gets the state ready for a policy, where the policy asks for more than arrays."""


class _PolicyRaised(Exception):
    """Compiled code raised something: that of a policy, for kernels raise nothing."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


@cache
def _compiled_play(
    play: Callable[..., Any], state: tuple[Any, ...], policies: tuple[Any, ...]
) -> Any:
    """The kernel for a whole run, compiled for policies as first-class functions."""
    functions = [_function_type(policy) for policy in policies]
    flag, rng = numba.int64[::1], policies[0].args[-1]
    return compiled_as(play, numba.int64(*state, flag, *functions, rng), nogil=True)


def _function_type(signature: Any) -> Any:
    """The type of a policy. Numba tells such types apart by the names of their tuples alone."""
    function = numba.types.FunctionType(signature)
    for mine, known in zip(signature.args, function.signature.args, strict=True):
        if mine != known:
            this, other = (one.instance_class for one in (mine, known))
            raise CloudarenaError(
                f"{this.__module__}.{this.__qualname__}: the name is not allowed: "
                f"{other.__module__} has a tuple of the same name and fields for its policies"
            )
    return function


@cache
def compiled_step(function: Any, *types: Any) -> Any:
    """A compiled function for these types of arguments.

    A plain call would find out the types of a world's many arrays each time, which takes longer
    than a step.
    """
    return function.compile(types)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number that a kernel can take."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return -(2**63) <= int(value) < 2**63
    return False


def read_only(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written to, nor be made writable."""
    view = np.asarray(memoryview(array).toreadonly())  # type: ignore[arg-type]
    return view if array.dtype.names is None else view.view(array.dtype)


def locked(value: Any) -> Any:
    """A NamedTuple with all its arrays read-only."""
    if isinstance(value, np.ndarray):
        return read_only(value)
    if isinstance(value, tuple):
        return type(value)(*(locked(part) for part in value))
    return value


def whole_millionths(values: np.ndarray) -> np.ndarray:
    """Sizes as whole numbers of a millionth, in which kernels count."""
    return np.round(values * 1_000_000).astype(np.int64)
