"""A run whose state is a NamedTuple of arrays and whose time is moved by a compiled kernel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from types import ModuleType
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import is_whole
from cloudarena.base.errors import CloudarenaError, InvalidAction
from cloudarena.base.notices import tell
from cloudarena.contract.candidates import Candidates
from cloudarena.contract.kind import Kind
from cloudarena.contract.result import RecordLevel
from cloudarena.contract.run import DecisionT, Run
from cloudarena.contract.scenario import Scenario
from cloudarena.engine.compiled import NO_C, jit_for_signature
from cloudarena.engine.interrupts import Interrupted, make_flag, run_interruptibly
from cloudarena.engine.references import held
from cloudarena.engine.status import DECIDE, ENDED, FULL
from cloudarena.engine.streams import stream
from cloudarena.engine.worlds import type_of
from cloudarena.policies.array import ArrayPolicy, Bundle
from cloudarena.policies.blame import asked, fault_of
from cloudarena.policies.policy import Policy


class KernelRun(Run[DecisionT]):
    """What the runs of all kinds with array policies share: stepping, and playing compiled.

    A kind says what is decided (``show``), what an action is to its kernel (``encode``), why an
    action is not allowed (``why_not``), and what to do when something is full (``grow``).

    The kernel is a module with two functions, which return where the run stands (``engine.status``,
    or a reason why the action is not allowed, which then has changed nothing):

    - ``act(world, *action)``, compiled: takes an action if something is to be decided, else
      ignores it, and moves on. What is full it can take up again with the same action.
    - ``play(world, *shown, stop, *parameters, *policies, rng)``, not yet compiled: lets compiled
      policies decide. It comes back, deciding, when ``stop[0]`` is not 0.
    """

    kernel: ClassVar[ModuleType]
    action_types: ClassVar[tuple[Any, ...]] = (numba.int64,)
    """The Numba types of what ``encode`` gives."""

    def __init__(self, scenario: Scenario, seed: int, record: RecordLevel, world: Any) -> None:
        super().__init__(scenario, seed, record)
        self.world = world
        self.rng = stream(seed, "policy")
        self._status: int | None = None
        self._lost = False
        self._looks: dict[str, Any] = {}
        self._fields: dict[str, NDArray[Any]] = {}

    @abstractmethod
    def encode(self, action: Any) -> tuple[Any, ...]:
        """An action as the kernel takes it; raises InvalidAction if it is none."""

    @abstractmethod
    def why_not(self, reason: int) -> str:
        """Why the last action is not allowed, with the numbers that say so."""

    @abstractmethod
    def grow(self) -> None:
        """Makes room for what is full."""

    @property
    def room(self) -> int:
        """How much there is room for of what ``widen`` makes room for; 0 where it does nothing."""
        return 0

    def widen(self, room: int) -> None:
        """Makes as much room as another run was found to need, before it is full.

        What happens then is the same, but for the calls of ``grow``.
        """

    def no_action(self) -> tuple[Any, ...]:
        """What ``act`` is given before the first decision: it ignores it."""
        return tuple(0 for _ in self.action_types)

    def shown(self) -> tuple[Any, ...]:
        """What the kernel hands to array policies, read-only."""
        return ()

    def prepare(self, policy: ArrayPolicy) -> None:
        """Gets the state ready for a policy, where the policy asks for more than arrays."""

    @property
    def is_deciding(self) -> bool:
        """Whether something is to be decided; moves to the first decision if need be."""
        if self._lost:
            raise CloudarenaError("the run was interrupted within its policy and cannot go on")
        if self._status is None:
            self._status = self._act(self.no_action())
            self.parts.clear()
        return self._status == DECIDE

    def take(self, action: Any) -> None:
        """Takes an action and moves on to the next decision or the end."""
        self._settle(self._act(self.encode(action)))

    def apply_numbers(self, numbers: list[int]) -> bool:
        """Applies a candidate; returns whether something is to be decided then."""
        self._settle(self._act(numbers))
        self._moved()
        return self._status == DECIDE

    def _act(self, action: Sequence[Any]) -> int:
        """Takes an action, and goes on as often as something is full."""
        while (status := int(self._compiled_act(self.world, *action))) == FULL:
            self.grow()
        return status

    @cached_property
    def _compiled_act(self) -> Any:
        known = (self.kernel.act, id(self._world_type))  # the hash of the type of a world is slow
        if known not in _ACTS:
            _ACTS[known] = compiled_step(self.kernel.act, self._world_type, *self.action_types)
        return _ACTS[known]

    @cached_property
    def _world_type(self) -> Any:
        return type_of(self.world)

    def totals(self) -> Any:
        """A copy of the kernel's totals."""
        totals = getattr(self.world, "totals", None)
        return None if totals is None else totals.copy()

    def total(self, name: str) -> Any:
        """One of the kernel's totals; rewards ask for it at every step."""
        view = self._fields.get(name)
        if view is None:
            view = self._fields[name] = self.world.totals[name]
        return view.item()

    def fill(self, candidates: Candidates, features: Any, context: Any, actions: Any) -> int:
        """Writes the candidates of the decision, without building the decision."""
        if candidates.look is None:
            return super().fill(candidates, features, context, actions)
        look = self._looks.get(candidates.decides)
        if look is None:
            types = (self._world_type, *map(numba.typeof, (features, context, actions)))
            look = self._looks[candidates.decides] = compiled_step(candidates.compiled_look, *types)
        return int(look(self.world, features, context, actions))

    def move_to(self, world: Any) -> None:
        """Makes another state of the same type that of this run."""
        self.world = world
        self._fields = {}
        self.parts = {}
        self._decision = None

    def stands(self, status: int) -> None:
        """Takes note that compiled code has moved the state, and where it stands."""
        self._status = status
        self._moved()

    def _settle(self, status: int) -> None:
        """Takes note of where the kernel stands, or says why an action is not allowed."""
        if status not in (ENDED, DECIDE):
            self._status = DECIDE
            raise InvalidAction(self.why_not(status))
        self._status = status

    def play(self, policy: Policy) -> None:
        """Runs to the end: compiled if the policy is a function of arrays, else stepped.

        A policy that fails, fails here as it does stepped: the decision at which compiled code
        raised something is put once more to the plain function.
        """
        player = getattr(policy, "player", None)
        if player is not None:
            self._play_by_state(player(self))
            return
        code = policy.machine_code if isinstance(policy, ArrayPolicy) else None
        if not isinstance(policy, ArrayPolicy) or code is None:
            super().play(policy)
            return
        parts = tuple(policy.parts.values()) if isinstance(policy, Bundle) else (policy,)
        codes = code if isinstance(code, tuple) else (code,)
        values = tuple(part.values for part in parts if isinstance(part, ArrayPolicy))
        self.prepare(policy)
        run_on = self._compiled_play()
        raised: BaseException | None = None
        status = DECIDE
        try:
            while (status := self._play_on(run_on, (*values, *codes))) == FULL:
                self.grow()
        except _PolicyRaised as fault:
            raised = fault.error
        if raised is not None:
            self._repeat(policy, raised)
        elif status in (DECIDE, ENDED):
            self._status = status
        else:
            self._refuse(policy, status)

    def _compiled_play(self) -> Any:
        """The kernel for a whole run of this type of state."""
        types = tuple(type_of(part) for part in (self.world, *self.shown()))
        known = (self.kernel.play, *map(id, types))  # the hash of the type of a world is slow
        if known not in _PLAYS:
            kind = self.scenario.kind
            dispatcher = _compiled_play(self.kernel.play, types, kind.policies.signatures(), kind)
            (compiled,) = dispatcher.overloads.values()
            _PLAYS[known] = compiled.entry_point  # a dispatcher asks for the types at each call
        return _PLAYS[known]

    def _repeat(self, policy: ArrayPolicy, raised: BaseException) -> None:
        """Puts the decision at which compiled code raised something to the plain function.

        It raises the same in Python's words, with its line; if not, for it has drawn another number
        since, what was raised is told.
        """
        self._status = DECIDE
        raise fault_of(self._ask_plain(policy), raised) from raised

    def _refuse(self, policy: ArrayPolicy, status: int) -> None:
        """Says why the last action of a compiled policy is not allowed."""
        self._status = DECIDE
        why = self.why_not(status)
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

    def _play_by_state(self, player: Callable[..., int]) -> None:
        """Runs to the end by a policy that looks at the state."""
        if not self.is_deciding:
            return
        while (status := self._interruptibly(lambda stop: player(self.world, stop))) == FULL:
            self.grow()
        self._status = status

    def _play_on(self, run_on: Any, policies: tuple[Any, ...]) -> int:
        """Lets the kernel decide by compiled policies."""
        state = (self.world, *self.shown())
        return self._interruptibly(lambda stop: run_on(*state, stop, *policies, self.rng))

    def _interruptibly(self, call: Callable[[Any], Any]) -> int:
        """Lets compiled code play; signals are heard meanwhile."""
        stop = make_flag()
        self._status = None
        self._moved()
        try:
            return int(run_interruptibly(lambda: call(stop), stop))
        except Interrupted as interrupt:
            self._lost = not interrupt.ended or interrupt.value not in (DECIDE, ENDED)
            self._status = None if self._lost else int(interrupt.value)
            raise interrupt.signal from None
        except Exception as error:
            raise _PolicyRaised(error) from error


_ACTS: dict[tuple[Any, int], Any] = {}
_PLAYS: dict[tuple[Any, ...], Any] = {}


class _PolicyRaised(Exception):
    """Compiled code raised something: that of a policy, for kernels raise nothing."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


@cache
def _compiled_play(
    play: Callable[..., Any], state: tuple[Any, ...], policies: tuple[Any, ...], kind: Kind
) -> Any:
    """The kernel for a whole run, compiled for policies as first-class functions."""

    def before() -> None:
        seconds = f", about {kind.compile_s:g} s" if kind.compile_s else ""
        tell(f"compiling {kind.name} (once{seconds}) ...")

    functions = [_function_type(policy) for policy in policies]
    flag, (values, rng) = numba.int64[::1], policies[0].args[-2:]
    values = [values] * len(policies)
    signature = numba.int64(*state, flag, *values, *functions, rng)
    return jit_for_signature(play, signature, before, nogil=True, **NO_C)


def _function_type(signature: Any) -> Any:
    """The type of a policy. Numba tells such types apart by the names of their tuples alone."""
    function = numba.types.FunctionType(signature)
    for mine, known in zip(signature.args, function.signature.args, strict=True):
        if mine != known:
            this, other = (held(one).instance_class for one in (mine, known))
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


def doubled(values: NDArray[Any]) -> NDArray[Any]:
    """An array with as many zeros again behind it."""
    return np.concatenate((values, np.zeros_like(values)))
