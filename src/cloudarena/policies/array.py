"""One policy at two speeds.

A policy is one plain function of arrays. It is kept as it is, for stepping and debugging, and is
compiled when a whole run asks for speed. Both give the same result to the last bit.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from multiprocessing import current_process
from typing import Any

from numpy.typing import NDArray

from cloudarena.policies.blame import asked, is_built_in
from cloudarena.policies.entry import as_called, has_parameters
from cloudarena.policies.parameters import as_array, named
from cloudarena.policies.policy import Policy


class SteppedPolicyWarning(UserWarning):
    """A policy that cannot be compiled runs stepped: the same result, more slowly."""


class ArrayPolicy:
    """A policy that is one function of the arrays of a decision.

    Args:
        name: what users call it.
        function: takes the arrays of a decision, then ``p`` if it likes, then ``rng``.
        signature: gives the Numba signature that kernels call it by, with ``p`` as an array.
        order: for kinds with a queue, gives the key by which it is kept, lowest first.
        needs: what the spec must let be known, such as ``durations``.
        parameters: the numbers that it is tuned by.
        early: whether it is asked as soon as work waits, also where none of it could start now.
        ranks_by: the columns by which it ranks what it may choose, if it takes the first of a
            ranking: a kernel may then keep an index in which it finds the same choice.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        signature: Callable[[], Any],
        order: Callable[[Any], Any] | None = None,
        needs: str = "",
        parameters: Mapping[str, float] | None = None,
        early: bool = False,
        ranks_by: tuple[str, ...] = (),
    ):
        self.name = name
        self.function = function
        self.order = order
        self.needs = needs
        self.early = early
        self.ranks_by = ranks_by
        self.parameters = dict(parameters or {})
        self.__doc__ = function.__doc__
        self._signature = signature

    def __call__(self, decision: Any) -> Any:
        """Decides in plain Python."""
        arguments = decision.arguments(self)
        if self.takes_parameters:
            return self._plain(*arguments, self._named, decision.rng)
        return self._plain(*arguments, decision.rng)

    @cached_property
    def takes_parameters(self) -> bool:
        """Whether the function has an argument for its parameters."""
        return has_parameters(self.function)

    @cached_property
    def values(self) -> NDArray[Any]:
        """The parameters as a kernel hands them on."""
        return as_array(self.parameters)

    @cached_property
    def _named(self) -> Any:
        return named(self.parameters)

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
        from cloudarena.policies.machine_code import built_in_code, users_code

        if not inspect.isfunction(self.function):
            return None  # a method, whose object may hold anything: it is meant to run stepped
        signature = self._signature()
        entry = as_called(self.function, len(signature.args), tuple(self.parameters))
        if is_built_in(self):
            return built_in_code(entry, signature)
        try:
            return users_code(self.name, self.function, entry, signature)
        except CannotCompile as why:
            if current_process().name == "MainProcess":  # which has told, where there are workers
                warnings.warn(
                    f"policy {self.name} runs stepped, with the same result but more slowly: {why}",
                    SteppedPolicyWarning,
                    stacklevel=2,
                )
            return None

    def compile(self) -> None:
        """Compiles the policy now, so that whoever runs it later finds its machine code."""
        self.machine_code  # noqa: B018


class Bundle(ArrayPolicy):
    """A policy for each kind of decision of a scenario.

    It runs compiled if all of them are functions of arrays that Numba can compile.
    """

    def __init__(self, name: str, parts: Mapping[str, Policy]) -> None:
        self.name = name
        self.parts = dict(parts)
        self.order, self.needs, self.early, self.parameters = None, "", False, {}
        self.ranks_by = ()
        self.__doc__ = next(iter(self.parts.values())).__doc__

    def __call__(self, decision: Any) -> Any:
        """Lets the policy for this kind of decision decide."""
        return asked(self.parts[decision.kind], decision)

    def start(self, scenario: Any, seed: int) -> None:
        """Prepares those parts that keep state."""
        from cloudarena.policies.book import begin

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
