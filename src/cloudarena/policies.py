"""Policies by name, and one policy at two speeds.

A placement policy is one plain function of arrays. Its scenario's ``policy`` decorator keeps the
function as it is, for stepping and debugging, and compiles it when a whole run asks for speed.
Both give the same result to the last bit.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from multiprocessing import current_process
from pathlib import Path
from typing import Any, TypeVar

from cloudarena.blame import asked, blamed, is_built_in, name_of
from cloudarena.contract import Policy
from cloudarena.errors import PolicyError, SpecError, nearest
from cloudarena.policy_files import load_function, settings_of

Factory = TypeVar("Factory", bound=Callable[[], Policy])


class SteppedPolicyWarning(UserWarning):
    """A policy that cannot be compiled runs stepped: the same result, more slowly."""


class ArrayPolicy:
    """A policy that is one function of the arrays of a decision."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        signature: Callable[[], Any],
        order: Callable[[Any], Any] | None = None,
        needs: str = "",
        parameters: Mapping[str, float] | None = None,
    ):
        self.name = name
        self.function = function
        self.order = order
        self.needs = needs
        self.parameters = dict(parameters or {})
        self.__doc__ = function.__doc__
        self._signature = signature

    def __call__(self, decision: Any) -> Any:
        """Decides in plain Python."""
        return self._plain(*decision.arguments(self))

    @cached_property
    def _plain(self) -> Callable[..., Any]:
        """The function as it is, but for what is compiled of what it calls, which is checked."""
        if is_built_in(self) or not inspect.isfunction(self.function):
            return self.function
        from cloudarena.engine.checked import guarded

        plain: Callable[..., Any] = guarded(self.function)
        return plain

    def __repr__(self) -> str:
        return f"<policy {self.name}>"

    @cached_property
    def machine_code(self) -> Any:
        """The compiled function, or None, with a warning, when it cannot be compiled.

        Functions of users are compiled with checks: see ``engine.checked``.
        """
        from cloudarena.engine.checked import CannotCompile
        from cloudarena.machine_code import built_in_code, users_code

        if not inspect.isfunction(self.function):
            return None  # a method, whose object may hold anything: it is meant to run stepped
        if is_built_in(self):
            return built_in_code(self.function, self._signature())
        try:
            return users_code(self.name, self.function, self._signature())
        except CannotCompile as why:
            if current_process().name == "MainProcess":  # which has told, where there are workers
                warnings.warn(
                    f"policy {self.name} runs stepped, with the same result but more slowly: {why}",
                    SteppedPolicyWarning,
                    stacklevel=2,
                )
            return None


class Bundle(ArrayPolicy):
    """A policy for each kind of decision of a scenario.

    It runs compiled if all of them are functions of arrays that Numba can compile.
    """

    def __init__(self, name: str, parts: Mapping[str, Policy]) -> None:
        self.name = name
        self.parts = dict(parts)
        self.order, self.needs, self.parameters = None, "", {}
        self.__doc__ = next(iter(self.parts.values())).__doc__

    def __call__(self, decision: Any) -> Any:
        """Lets the policy for this kind of decision decide."""
        return asked(self.parts[decision.kind], decision)

    def start(self, scenario: Any, seed: int) -> None:
        """Prepares those parts that keep state."""
        for part in self.parts.values():
            begin(part, scenario, seed)

    @cached_property
    def machine_code(self) -> tuple[Any, ...] | None:
        """The compiled functions in the order of the parts; None if one cannot be compiled."""
        codes = []
        for part in self.parts.values():
            code = part.machine_code if isinstance(part, ArrayPolicy) else None
            if code is None:
                return None
            codes.append(code)
        return tuple(codes)


class PolicyBook:
    """The policies of one kind of scenario.

    Args:
        kind: the name of the scenario.
        signature: gives the Numba signature of its array policies; None when it has none.
        arguments: how many arguments an array policy takes.
        has_queue: whether an array policy may have an order of its queue.
        knowable: what a spec may let be known, so what an array policy may need.
        parameters: how many parameters an array policy may have.
    """

    def __init__(
        self,
        kind: str,
        signature: Callable[[], Any] | None = None,
        arguments: int = 0,
        has_queue: bool = False,
        knowable: Collection[str] = (),
        parameters: int = 0,
    ) -> None:
        self.kind = kind
        self._has_queue, self._knowable, self._room = has_queue, knowable, parameters
        self._signature = signature
        self._arguments = arguments
        self._policies: dict[str, ArrayPolicy] = {}
        self._factories: dict[str, Callable[[], Policy]] = {}
        self._replay: Callable[[Path], Policy] | None = None

    def __iter__(self) -> Iterator[str]:
        return iter([*self._policies, *self._factories])

    def __call__(
        self,
        name: str,
        order: Callable[[Any], Any] | None = None,
        needs: str = "",
        parameters: Mapping[str, float] | None = None,
    ) -> Callable[[Callable[..., Any]], ArrayPolicy]:
        """The decorator for a policy that is one function of arrays.

        Args:
            name: what users call it.
            order: for scenarios with a queue, gives the key by which it is kept, lowest first.
            needs: what the spec must let be known, such as ``durations``.
            parameters: numbers that may follow its name, with what they are by default.

        What the kind of scenario has no use for is refused.
        """

        def register(function: Callable[..., Any]) -> ArrayPolicy:
            self._check(name, order, needs, parameters or {})
            policy = self._array_policy(name, function, order, needs, parameters)
            self._policies[name] = policy
            return policy

        return register

    def _check(
        self,
        name: str,
        order: Callable[[Any], Any] | None,
        needs: str,
        parameters: Mapping[str, float],
    ) -> None:
        """Raises if a policy is given what this kind of scenario does not use."""
        if order is not None and not self._has_queue:
            raise PolicyError(f"policy {name}: order is not allowed: {self.kind} has no queue")
        if needs and needs not in self._knowable:
            allowed = ", ".join(self._knowable) or f"nothing: {self.kind} shows all to all"
            raise PolicyError(f"policy {name}: needs: {needs!r} is not allowed: {allowed}")
        if len(parameters) > self._room:
            most = f"at most {self._room}" if self._room else f"none in {self.kind}"
            raise PolicyError(
                f"policy {name}: parameters: {', '.join(parameters)} are not allowed: {most}"
            )
        for key, value in parameters.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise PolicyError(
                    f"policy {name}: parameters: {key}: {value!r} is not allowed: a number"
                )

    def stepped(self, name: str) -> Callable[[Factory], Factory]:
        """The decorator for a class whose objects are policies in plain Python."""

        def register(factory: Factory) -> Factory:
            self._factories[name] = factory
            return factory

        return register

    def replay(self, factory: Callable[[Path], Policy]) -> Callable[[Path], Policy]:
        """The decorator for the class that takes decisions from a file."""
        self._replay = factory
        return factory

    def array_names(self) -> list[str]:
        """The names of the policies that are functions of arrays, and so run compiled."""
        return list(self._policies)

    def compared_names(self, known: Collection[str] = ()) -> list[str]:
        """What is compared when nobody names policies.

        The compiled ones that need no more than is ``known``, or all where none is compiled; none
        that looks into the future.
        """
        names = [
            name for name, one in self._policies.items() if not one.needs or one.needs in known
        ]
        return names or [name for name in self._factories if "oracle" not in name]

    def parameters(self, name: str) -> list[str]:
        """The parameters of a built-in policy, which may follow its name."""
        if name in self._policies:
            return list(self._policies[name].parameters)
        factory = self._factories.get(name)
        return [] if factory is None else list(inspect.signature(factory).parameters)

    def describe(self, name: str) -> str:
        """The first line of what a policy says about itself."""
        holder = self._policies.get(name) or self._factories[name]
        return inspect.cleandoc(holder.__doc__ or "").splitlines()[0]

    def resolve(self, policy: str | Policy) -> Policy:
        """A policy from its name, ``replay:FILE``, ``FILE.py:FUNCTION``, or a callable.

        Parameters may follow the name of a policy that has some: ``NAME:key=value:key=value``.
        """
        if not isinstance(policy, str):
            return self._adopt(policy, policy_name(policy))
        if policy in self._policies:
            return self._policies[policy]
        if policy in self._factories:
            return self._factories[policy]()
        scheme, _, rest = policy.partition(":")
        if scheme == "replay" and rest and self._replay is not None:
            return self._replay(Path(rest))
        if scheme in self._factories:
            return self._with_settings(scheme, rest.split(":"))
        if scheme in self._policies:
            return self._with_parameters(scheme, policy, rest.split(":"))
        path, separator, function = policy.rpartition(":")
        if separator and path.endswith(".py"):
            return self._adopt(load_function(Path(path), function), function)
        raise PolicyError(
            f"policy: {policy!r} is not allowed: one of {', '.join(self)}, replay:FILE, or "
            f"FILE.py:FUNCTION.{nearest(policy, self)}"
        )

    def signature(self) -> Any:
        """The Numba signature of the array policies."""
        if self._signature is None:
            raise PolicyError(f"scenario {self.kind} has no policies that are functions of arrays")
        return self._signature()

    def signatures(self) -> tuple[Any, ...]:
        """The Numba signatures of what a kernel takes: one for each kind of decision."""
        return (self.signature(),)

    def _with_parameters(self, name: str, words: str, settings: list[str]) -> Policy:
        """An array policy with its parameters set."""
        policy = self._policies[name]
        values = settings_of(name, settings, list(policy.parameters))
        for key, value in values.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise PolicyError(f"policy {name}: {key}: {value!r} is not allowed: a number")
        chosen = {**policy.parameters, **values}
        return self._array_policy(
            words, policy.function, policy.order, policy.needs, parameters=chosen
        )

    def _with_settings(self, name: str, settings: list[str]) -> Policy:
        """A policy with its parameters set, from texts such as ``margin=1.3``."""
        factory = self._factories[name]
        values = settings_of(name, settings, self.parameters(name))
        try:
            return factory(**values)
        except SpecError as error:
            raise PolicyError(str(error)) from None
        except TypeError as error:
            raise PolicyError(f"policy {name}: {values} is not allowed: {error}") from None

    def _array_policy(
        self,
        name: str,
        function: Callable[..., Any],
        order: Callable[[Any], Any] | None = None,
        needs: str = "",
        parameters: Mapping[str, float] | None = None,
    ) -> ArrayPolicy:
        return ArrayPolicy(name, function, self.signature, order, needs, parameters)

    def _adopt(self, policy: Any, name: str) -> Policy:
        """Takes a user's class, function of arrays, or function of a decision."""
        policy = made(getattr(policy, "py_func", policy))  # what Numba compiles is compiled anew
        if self._arguments > 1 and takes(policy, self._arguments):
            return self._array_policy(name, policy)
        if not callable(policy):
            raise PolicyError(f"policy: {name!r} is not allowed: it cannot be called")
        if inspect.isfunction(policy) or inspect.ismethod(policy):
            try:
                inspect.signature(policy).bind(None)
            except TypeError:
                more = f", or of {self._arguments}: arrays" if self._arguments > 1 else ""
                raise PolicyError(
                    f"policy: {name}{inspect.signature(policy)} is not allowed: "
                    f"a function of 1 argument: the decision{more}"
                ) from None
        adopted: Policy = policy
        return adopted


def made(policy: Any) -> Any:
    """An object of a user's class; anything else as it is."""
    if not inspect.isclass(policy):
        return policy
    with blamed(policy):
        return policy()


def begin(policy: Policy, scenario: Any, seed: int) -> None:
    """Lets a policy that keeps state prepare for a run."""
    start = getattr(policy, "start", None)
    if start is not None:
        with blamed(policy):
            start(scenario, seed)


def takes(policy: Any, arguments: int) -> bool:
    """Whether something is called with so many arguments: a function, a method, an object.

    An object that is to be started keeps its state by itself, and takes decisions.
    """
    if not callable(policy) or inspect.isclass(policy) or hasattr(policy, "start"):
        return False
    try:
        signature = inspect.signature(policy)
        signature.bind(*range(arguments))
    except (TypeError, ValueError):
        return False
    is_plain = inspect.isfunction(policy) or inspect.ismethod(policy)
    by_default = [one for one in signature.parameters.values() if one.default is not one.empty]
    return len(signature.parameters) == arguments and (is_plain or not by_default)


def policy_name(policy: str | Policy) -> str:
    """What to call a policy in tables."""
    return policy if isinstance(policy, str) else name_of(policy)
