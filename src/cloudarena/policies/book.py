"""The policies of a kind by name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from cloudarena.base.errors import PolicyError, SpecError, nearest
from cloudarena.policies.array import ArrayPolicy
from cloudarena.policies.blame import blamed, name_of
from cloudarena.policies.entry import has_parameters
from cloudarena.policies.parameters import Declared, check_declared, check_value, default_of
from cloudarena.policies.parse import load_function, settings_of
from cloudarena.policies.policy import Policy

MOST_KEYS = 2
"""The most columns that a policy may rank by."""
LEARNED = "learned"
"""The scheme of learned policies, as in ``learned:FOLDER``."""
Factory = TypeVar("Factory", bound=Callable[[], Policy])


class PolicyBook:
    """The policies of one kind of scenario, and what such a policy may have.

    Args:
        kind: the name of the kind.
        shown: gives an example of what array policies are shown, for its types; None when the kind
            has no array policies.
        returns: how many whole numbers an array policy returns.
        has_queue: whether an array policy may have an order of its queue, and be asked early.
        knowable: what a spec may let be known, so what an array policy may need.
        rankable: the columns by which an array policy may say that it ranks.
        orders: what it may say in their place, alone.
        drawable: what else one that is registered may say, of which no run can check whether it is
            so: a policy of a user's may not.
        lends: whether kernels hand the tuples of arrays on by reference. One that makes such tuples
            for each decision is faster if it does not.
    """

    def __init__(
        self,
        kind: str,
        shown: Callable[[], tuple[Any, ...]] | None = None,
        returns: int = 1,
        has_queue: bool = False,
        knowable: Collection[str] = (),
        rankable: Collection[str] = (),
        orders: Collection[str] = (),
        drawable: Collection[str] = (),
        lends: bool = False,
    ) -> None:
        self.kind = kind
        self._lends = lends
        self._shown, self._returns = shown, returns
        self._has_queue, self._knowable = has_queue, knowable
        self._rankable, self._orders, self._drawable = rankable, orders, drawable
        self._policies: dict[str, ArrayPolicy] = {}
        self._declared: dict[str, dict[str, Declared]] = {}
        self._factories: dict[str, Callable[[], Policy]] = {}
        self._replay: Callable[[Path], Policy] | None = None
        self._signature: Any = None

    def __iter__(self) -> Iterator[str]:
        return iter([*self._policies, *self._factories])

    def __contains__(self, name: object) -> bool:
        return name in self._policies or name in self._factories

    def register(
        self,
        name: str,
        order: Callable[[Any], Any] | None = None,
        needs: str = "",
        parameters: Mapping[str, Declared] | None = None,
        early: bool = False,
        ranks_by: str | tuple[str, ...] = (),
    ) -> Callable[[Callable[..., Any]], ArrayPolicy]:
        """The decorator for a policy that is one function of arrays.

        Args:
            name: what users call it.
            order: for kinds with a queue, gives the key by which it is kept, lowest first.
            needs: what the spec must let be known, such as ``durations``.
            parameters: what may follow its name, with what it is by default: a number, or a tuple
                of words, the default first. The function has them as ``p``, before ``rng``.
            early: for kinds with a queue, asks it as soon as something waits, not only when
                something could start.
            ranks_by: the columns by which it ranks what it may choose, lowest first, highest first
                after a ``-``; ties go to the lowest index. The kernel then finds its choice in an
                index, whatever their number, instead of calling the function.

        What the kind has no use for is refused.
        """

        def add(function: Callable[..., Any]) -> ArrayPolicy:
            of_queue = [word for word, used in (("order", order), ("early", early)) if used]
            self._check(name, function, of_queue, needs, parameters or {})
            drawn = ranks_by in self._drawable
            ranking = (str(ranks_by),) if drawn else self._ranking(name, ranks_by)
            policy = self._array_policy(name, function, order, needs, parameters, early, ranking)
            self._policies[name] = policy
            self._declared[name] = dict(parameters or {})
            return policy

        return add

    def _check(
        self,
        name: str,
        function: Callable[..., Any],
        of_queue: list[str],
        needs: str,
        parameters: Mapping[str, Any],
    ) -> None:
        """Raises if a policy is given what this kind of scenario does not use."""
        if self._shown is None:
            raise PolicyError(f"policy {name}: {self.kind} has no policies of arrays: use stepped")
        if of_queue and not self._has_queue:
            raise PolicyError(
                f"policy {name}: {of_queue[0]} is not allowed: {self.kind} has no queue"
            )
        if needs and needs not in self._knowable:
            allowed = ", ".join(self._knowable) or f"nothing: {self.kind} shows all to all"
            raise PolicyError(f"policy {name}: needs: {needs!r} is not allowed: {allowed}")
        check_declared(name, parameters)
        if parameters and not has_parameters(function):
            raise PolicyError(
                f"policy {name}: parameters: {', '.join(parameters)} are not allowed: "
                "the function has no argument p before its last"
            )

    def _ranking(self, name: str, ranks_by: str | tuple[str, ...]) -> tuple[str, ...]:
        """The columns by which a policy ranks; raises if the kind keeps no index by them."""
        ranking = (ranks_by,) if isinstance(ranks_by, str) else tuple(ranks_by)
        if len(ranking) == 1 and ranking[0] in self._orders:
            return ranking
        known = all(
            isinstance(column, str) and column.removeprefix("-") in self._rankable
            for column in ranking
        )
        if not known or len(ranking) > MOST_KEYS:
            given = ", ".join(map(str, ranking))
            allowed = f"at most {MOST_KEYS} of {', '.join(self._rankable)}, after a - the highest"
            if self._orders:
                allowed = f"{', '.join(self._orders)}, or {allowed}"
            if not self._rankable:
                allowed = f"nothing: {self.kind} keeps no index"
            raise PolicyError(f"policy {name}: ranks_by: {given!r} is not allowed: {allowed}")
        return ranking

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
            return list(self._declared[name])
        factory = self._factories.get(name)
        return [] if factory is None else list(inspect.signature(factory).parameters)

    def declared(self, name: str) -> dict[str, Declared]:
        """The parameters of an array policy with their defaults; none for others."""
        return dict(self._declared.get(name, {}))

    @property
    def can_replay(self) -> bool:
        """Whether decisions can be taken from a file."""
        return self._replay is not None

    def describe(self, name: str) -> str:
        """The first line of what a policy says about itself."""
        holder = self._policies.get(name) or self._factories[name]
        return inspect.cleandoc(holder.__doc__ or "").splitlines()[0]

    def resolve(self, policy: str | Policy) -> Policy:
        """A policy from a name, ``replay:FILE``, ``learned:FOLDER``, ``FILE.py:NAME``, a callable.

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
        if scheme == LEARNED and rest:
            # It needs the features of the kind, so it is in a layer above, and is imported now.
            learned: Policy = importlib.import_module("cloudarena.contract.learned").resolve(
                self.kind, policy
            )
            return learned
        if scheme in self._factories:
            return self._with_settings(scheme, rest.split(":"))
        if scheme in self._policies:
            return self._with_parameters(scheme, policy, rest.split(":"))
        if ".py:" in policy:
            path, _, rest = policy.partition(".py:")
            function, *settings = rest.split(":")
            found = load_function(Path(f"{path}.py"), function)
            return self._adopt(found, ":".join([function, *settings]), settings)
        raise PolicyError(
            f"policy: {policy!r} is not allowed: one of {', '.join(self)}, replay:FILE, "
            f"learned:FOLDER, or FILE.py:FUNCTION.{nearest(policy, self)}"
        )

    def signature(self) -> Any:
        """The Numba signature of the array policies."""
        if self._shown is None:
            raise PolicyError(f"scenario {self.kind} has no policies that are functions of arrays")
        if self._signature is None:  # to make it takes as long as a short run
            self._signature = policy_signature(self._shown(), self._returns, self._lends)
        return self._signature

    def signature_of(self, decides: str) -> Any:
        """The Numba signature of a learned policy, by what it decides."""
        return self.signature()

    def signatures(self) -> tuple[Any, ...]:
        """The Numba signatures of what a kernel takes: one for each kind of decision."""
        return (self.signature(),)

    def _with_parameters(self, name: str, words: str, settings: list[str]) -> Policy:
        """An array policy with its parameters set."""
        policy, declared = self._policies[name], self._declared[name]
        chosen = {**policy.parameters, **_values(name, declared, settings)}
        return ArrayPolicy(
            words,
            policy.function,
            self.signature,
            policy.order,
            policy.needs,
            chosen,
            policy.early,
            policy.ranks_by,
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
        parameters: Mapping[str, Declared] | None = None,
        early: bool = False,
        ranking: tuple[str, ...] = (),
    ) -> ArrayPolicy:
        values = {key: default_of(default) for key, default in (parameters or {}).items()}
        return ArrayPolicy(name, function, self.signature, order, needs, values, early, ranking)

    def _adopt(self, policy: Any, name: str, settings: list[str] | None = None) -> Policy:
        """Takes a user's class, function of arrays, or function of a decision."""
        if isinstance(policy, ArrayPolicy) and not settings:
            return policy
        policy = made(getattr(policy, "py_func", policy))  # what Numba compiles is compiled again
        if self._is_array_policy(policy):
            return self._adopt_array_policy(policy, name, settings or [])
        if settings:
            raise PolicyError(
                f"policy {name}: {settings[0]!r} is not allowed: it has no parameters"
            )
        if not callable(policy):
            raise PolicyError(f"policy: {name!r} is not allowed: it cannot be called")
        if inspect.isfunction(policy) or inspect.ismethod(policy):
            try:
                inspect.signature(policy).bind(None)
            except TypeError:
                count = self._arguments
                more = f", or of {count} or {count + 1}: arrays" if count else ""
                raise PolicyError(
                    f"policy: {name}{inspect.signature(policy)} is not allowed: "
                    f"a function of 1 argument: the decision{more}"
                ) from None
        adopted: Policy = policy
        return adopted

    @property
    def _arguments(self) -> int:
        """How many arguments an array policy without parameters has; 0 if there are none."""
        return 0 if self._shown is None else len(self._shown()) + 1

    def _is_array_policy(self, policy: Any) -> bool:
        """Whether something takes the arrays of a decision, with or without parameters."""
        count = self._arguments
        return count > 0 and (
            takes(policy, count) or (takes(policy, count + 1) and has_parameters(policy))
        )

    def _adopt_array_policy(self, function: Any, name: str, settings: list[str]) -> ArrayPolicy:
        """A user's function of arrays; what it declares as ``function.parameters`` may be set."""
        declared = dict(getattr(function, "parameters", {}))
        check_declared(name, declared)
        early = bool(getattr(function, "early", False))
        ranking = self._ranking(name, getattr(function, "ranks_by", ()))
        policy = self._array_policy(
            name, function, parameters=declared, early=early, ranking=ranking
        )
        policy.parameters.update(_values(name, declared, settings))
        return policy


def _values(name: str, declared: Mapping[str, Declared], settings: list[str]) -> dict[str, float]:
    """The numbers of texts such as ``n=3``, for the parameters that a policy declares."""
    values = settings_of(name, settings, list(declared))
    return {key: check_value(name, key, declared[key], value) for key, value in values.items()}


def policy_signature(shown: tuple[Any, ...], returns: int = 1, lends: bool = False) -> Any:
    """The Numba signature of a policy: whole numbers of (what it is shown, parameters, rng)."""
    import numba
    import numpy as np

    from cloudarena.engine.references import lent

    values = numba.types.Array(numba.float64, 1, "C", readonly=True)
    generator = numba.typeof(np.random.default_rng(0))
    action = numba.int64 if returns == 1 else numba.types.UniTuple(numba.int64, returns)
    signature = action(*(numba.typeof(part) for part in shown), values, generator)
    return lent(signature) if lends else signature


def parameters(**declared: Declared) -> Callable[[Factory], Factory]:
    """The decorator by which a policy of a user's declares its parameters.

    @cloudarena.parameters(n=3, ties=("first", "random"))
    def at_most(pms, vm, p, rng): ...
    """

    def declare(function: Factory) -> Factory:
        function.parameters = declared  # type: ignore[attr-defined]
        return function

    return declare


def ranks_by(*columns: str) -> Callable[[Factory], Factory]:
    """The decorator by which a policy of a user's says that it takes the first of a ranking.

    @cloudarena.ranks_by("vms")
    def emptiest(pms, vm, rng): ...

    It must choose what is valid and lowest in the columns, ties to the lowest index; highest after
    a ``-``. Its runs on many machines then find that in an index, and the function is asked now and
    then: the run ends with a PolicyError where it says another. ``testing.check_policy`` compares
    whole runs.
    """

    def declare(function: Factory) -> Factory:
        function.ranks_by = columns  # type: ignore[attr-defined]
        return function

    return declare


def made(policy: Any) -> Any:
    """An object of a user's class; anything else as it is."""
    if not inspect.isclass(policy):
        return policy
    with blamed(policy):
        return policy()


def begin(policy: Policy, scenario: Any, seed: int) -> None:
    """Lets a policy that keeps state prepare for a run; of a scenario a user's has a copy."""
    start = getattr(policy, "start", None)
    if start is not None:
        is_ours = type(policy).__module__.startswith("cloudarena.")
        given = scenario if is_ours else scenario.apart()
        with blamed(policy):
            start(given, seed)


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
