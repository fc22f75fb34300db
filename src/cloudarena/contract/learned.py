"""Learned policies: a folder with two files, which runs compiled as any policy does.

``policy.json`` says what it is for (the kind, what is decided, the features by name and their
version), how it was trained and with what result; ``weights.npz`` holds the weights and biases of
its score over candidates. Nothing is pickled, and no path of a machine is kept.

``learned:NAME`` is one that comes with the package, ``learned:FOLDER`` one of the user's.
"""

from __future__ import annotations

import importlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import PolicyError, nearest
from cloudarena.base.files import written_folder
from cloudarena.contract.candidates import FEWEST, MOST, Candidates
from cloudarena.contract.kind import Kind
from cloudarena.engine.compiled import NO_C, jit_for_signature, jit_inline_uncached
from cloudarena.engine.references import held
from cloudarena.engine.scoring import (
    ACTIVATIONS,
    LARGEST_WEIGHT,
    LINEAR,
    MOST_HIDDEN,
    MOST_LAYERS,
    Shape,
    choose,
)
from cloudarena.engine.status import DECIDE
from cloudarena.engine.worlds import type_of
from cloudarena.policies.array import ArrayPolicy
from cloudarena.policies.parameters import check_value
from cloudarena.policies.parse import settings_of

SCHEME = "learned"
POLICY, WEIGHTS = "policy.json", "weights.npz"
FORMAT = 1
"""Raised when the files of a learned policy change."""
SHIPPED = Path(__file__).parents[1] / "learned"
"""Where the policies are that come with the package."""
DAMAGED = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile)
"""What it means to read a file that is not there, or in which something is wrong."""


@dataclass(frozen=True, eq=False)
class Learned:
    """A learned policy: what it is for, and its weights."""

    kind: str
    decides: str
    """Which decision of the kind, such as ``faas-place``."""
    features: tuple[str, ...]
    """The features of a candidate, by name."""
    context: tuple[str, ...]
    """The context of a decision, by name."""
    version: int
    """The version of the features."""
    most: int
    """How many candidates it looks at."""
    hidden: tuple[int, ...]
    activation: str
    weights: NDArray[np.float32]
    """The weights and biases of all layers, as ``Shape`` lays them out."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """How it was trained: command, seeds."""
    results: Mapping[str, Any] = field(default_factory=dict)
    """What it reached."""

    @classmethod
    def of(
        cls,
        kind: str,
        candidates: Candidates,
        shape: Shape,
        weights: NDArray[Any],
        most: int | None = None,
        training: Mapping[str, Any] | None = None,
        results: Mapping[str, Any] | None = None,
    ) -> Learned:
        """A policy with these weights for the candidates of a kind."""
        return cls(
            kind,
            candidates.decides,
            tuple(one.name for one in candidates.features),
            tuple(one.name for one in candidates.context),
            candidates.version,
            candidates.most if most is None else most,
            shape.hidden,
            shape.activation if shape.hidden else ACTIVATIONS[LINEAR],
            np.asarray(weights, np.float32),
            training or {},
            results or {},
        )

    @property
    def shape(self) -> Shape:
        """The shape of its network."""
        return Shape(len(self.features), len(self.context), self.hidden, self.activation)

    @property
    def description(self) -> str:
        """A line that says what it is."""
        network = f"hidden layers {'x'.join(map(str, self.hidden))}" if self.hidden else "linear"
        trained = self.training.get("scenario", "")
        reward = self.training.get("reward", "")
        how = f", trained on {trained} for {reward}" if trained and reward else ""
        return f"Learned: the candidate with the highest score ({network}{how})."

    def save(self, folder: str | Path) -> Path:
        """Writes both files; the same policy gives the same bytes."""
        with written_folder(folder) as draft:
            (draft / POLICY).write_text(self._json(), encoding="utf-8", newline="\n")
            (draft / WEIGHTS).write_bytes(self._npz())
        return Path(folder)

    def _json(self) -> str:
        said = {
            "format": FORMAT,
            "kind": self.kind,
            "decides": self.decides,
            "version": self.version,
            "features": list(self.features),
            "context": list(self.context),
            "most": self.most,
            "hidden": list(self.hidden),
            "activation": self.activation,
            "training": dict(self.training),
            "results": dict(self.results),
        }
        return json.dumps(said, indent=2, allow_nan=False) + "\n"

    def _npz(self) -> bytes:
        file, at, arrays = io.BytesIO(), 0, {}
        for place, (rows, columns) in enumerate(self.shape.layers):
            end = at + rows * columns
            arrays[f"weights_{place}"] = self.weights[at:end].reshape(rows, columns)
            arrays[f"biases_{place}"] = self.weights[end : end + columns]
            at = end + columns
        np.savez(file, allow_pickle=False, **arrays)
        return file.getvalue()

    @classmethod
    def load(cls, folder: str | Path) -> Learned:
        """Reads a policy; an error of one line says what is wrong with it."""
        home = Path(folder)
        said = _read_json(home / POLICY)
        try:
            if said["format"] != FORMAT:
                raise PolicyError(
                    f"{home / POLICY}: format: {said['format']!r} is not allowed: {FORMAT}"
                )
            policy = cls(
                kind=str(said["kind"]),
                decides=str(said["decides"]),
                features=tuple(map(str, said["features"])),
                context=tuple(map(str, said["context"])),
                version=_whole(said["version"], 1, 2**31),
                most=_whole(said["most"], FEWEST, MOST),
                hidden=tuple(_whole(size, 1, MOST_HIDDEN) for size in said["hidden"]),
                activation=str(said["activation"]),
                weights=np.zeros(0, np.float32),
                training=dict(said["training"]),
                results=dict(said["results"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise PolicyError(f"{home / POLICY}: cannot be used: {_reason(error)}") from None
        allowed = ACTIVATIONS[1:] if policy.hidden else ACTIVATIONS[:1]
        if policy.activation not in allowed or len(policy.hidden) > MOST_LAYERS:
            raise PolicyError(
                f"{home / POLICY}: {policy.activation!r} with {len(policy.hidden)} hidden layers "
                f"is not allowed: {' or '.join(ACTIVATIONS[1:])}, with at most {MOST_LAYERS}"
            )
        object.__setattr__(policy, "weights", _read_weights(home / WEIGHTS, policy.shape))
        return policy


class LearnedPolicy(ArrayPolicy):
    """A learned policy as a kernel plays it, or as it is stepped, with the same choices.

    Args:
        learned: what was learned.
        candidates: how the kind shows the decision.
        signature: gives the Numba signature that kernels call policies by.
        name: what users call it.
        chosen: its options, where they are not the default.
    """

    def __init__(
        self,
        learned: Learned,
        candidates: Candidates,
        signature: Callable[[], Any],
        name: str = SCHEME,
        chosen: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        function = _function(candidates, len(signature().args) - 2)
        super().__init__(name, function, signature, early=candidates.early)
        self.learned, self.candidates = learned, candidates
        self.chosen = {key: chosen.get(key, words[0]) for key, words in candidates.options}
        self.decides = learned.decides
        self.__doc__ = learned.description

    def __reduce__(self) -> Any:
        return policy_of, (self.learned, self.name, self.chosen)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The options as numbers."""
        words = dict(self.candidates.options)
        return np.array([words[key].index(word) for key, word in self.chosen.items()], np.float64)

    @cached_property
    def values(self) -> NDArray[Any]:
        """The network as a kernel hands it on, and its options behind."""
        return self.values_of(self.learned.weights)

    def values_of(self, weights: NDArray[Any]) -> NDArray[np.float64]:
        """Parameters with other weights: one row of parameters, for who tries many."""
        packed = self.learned.shape.packed(self.learned.most, weights.astype(np.float32))
        values = np.concatenate((packed, self.numbers))
        values.flags.writeable = False
        return values

    @cached_property
    def machine_code(self) -> Any:
        """The compiled function: one for all learned policies of a decision."""
        return _code(self.function, self._signature())

    @cached_property
    def fill(self) -> Any:
        """Writes the candidates of what a decision shows: compiled, its types found once."""
        arrays = self.candidates.make_arrays(self.learned.most)
        shown = map(held, self._signature().args[:-2])
        types = (*shown, *(numba.typeof(array) for array in arrays))
        return _filler(self.candidates, types)

    def __call__(self, decision: Any) -> Any:
        """Decides by the same compiled parts."""
        width = self.candidates.numbers_of(decision)
        features, context, actions = self.candidates.make_arrays(self.learned.most, width)
        context[: len(self.numbers)] = self.numbers
        count = self.fill(*decision.arguments(self), features, context, actions)
        best = choose(self.values, features, context, count)
        return self.candidates.action(actions[best])


class StatePolicy(LearnedPolicy):
    """A learned policy of a kind without policies of arrays: it looks at the state of a run.

    Whole runs are played by a loop of the same compiled parts that step them: candidates, score,
    action.
    """

    machine_code = None  # it is no function of arrays that a kernel could call

    def __init__(self, learned: Learned, candidates: Candidates, name: str = SCHEME) -> None:
        ArrayPolicy.__init__(self, name, candidates.fill, _no_signature)
        self.learned, self.candidates, self.chosen = learned, candidates, {}
        self.decides = learned.decides
        self.__doc__ = learned.description

    def fill(self, world: Any, features: Any, context: Any, actions: Any) -> int:
        """Writes the candidates of the decision that a state is at."""
        types = (type_of(world), *(numba.typeof(array) for array in (features, context, actions)))
        return int(_filler(self.candidates, types)(world, features, context, actions))

    def player(self, run: Any) -> Callable[..., int]:
        """Plays a run on, from its state and a flag to stop: see ``engine.status``."""
        width = self.candidates.numbers_of(run.scenario)
        arrays = self.candidates.make_arrays(self.learned.most, width)
        flag = numba.int64[::1]
        types = (*(numba.typeof(one) for one in (self.values, *arrays)), flag)

        def play(world: Any, stop: Any) -> int:
            code = _player(self.candidates, type_of(world), types)
            return int(code(world, self.values, *arrays, stop))

        return play


def _no_signature() -> Any:
    raise PolicyError("a policy of states has no signature")


@cache
def _player(candidates: Candidates, world: Any, types: tuple[Any, ...]) -> Any:
    """Compiled code that plays a run by the candidates with the highest scores."""
    parts = [one for one in (candidates.look, candidates.take) if one is not None]
    fill, take = (jit_inline_uncached(one) for one in parts)

    def play(world, p, features, context, actions, stop):  # type: ignore[no-untyped-def]
        status = DECIDE
        while status == DECIDE and stop[0] == 0:
            count = fill(world, features, context, actions)
            status = take(world, actions[choose(p, features, context, count)])
        return status

    play.__name__ = play.__qualname__ = f"play_{candidates.decides}"
    return jit_for_signature(play, (world, *types), nogil=True, **NO_C)


@cache
def _function(candidates: Candidates, arguments: int) -> Callable[..., Any]:
    """A function of what array policies are shown: fills in candidates, and takes the best."""
    shown = ", ".join(f"a{k}" for k in range(arguments))
    name = f"learned_{candidates.decides.replace('-', '_')}"
    numbers = ", ".join(f"actions[best, {k}]" for k in range(candidates.numbers))
    options = len(candidates.options)
    given = f"    context[:{options}] = p[len(p) - {options}:]\n" if options else ""
    source = (
        f"def {name}({shown}, p, rng):\n"
        f"    features = np.zeros((int(p[0]), int(p[1])), np.float32)\n"
        f"    context = np.zeros(int(p[2]), np.float32)\n"
        f"    actions = np.zeros((int(p[0]), {candidates.numbers}), np.int64)\n"
        f"{given}"
        f"    count = fill({shown}, features, context, actions)\n"
        f"    best = choose(p, features, context, count)\n"
        f"    return {numbers}\n"
    )
    space: dict[str, Any] = {
        "np": np,
        "fill": jit_inline_uncached(candidates.fill),
        "choose": choose,
        "__name__": __name__,
    }
    exec(compile(source, __file__, "exec"), space)
    function: Callable[..., Any] = space[name]
    return function


@cache
def _filler(candidates: Candidates, types: tuple[Any, ...]) -> Any:
    return candidates.compiled.compile(types)


@cache
def _code(function: Callable[..., Any], signature: Any) -> Any:
    return jit_for_signature(function, signature)


@cache
def _signature(kind: Kind, decides: str) -> Any:
    """The Numba signature of a kind's policies: found once, for training makes many policies."""
    return kind.policies.signature_of(decides)


def policy_of(
    learned: Learned, name: str = SCHEME, chosen: Mapping[str, str] = MappingProxyType({})
) -> LearnedPolicy:
    """A learned policy, ready to play its kind; raises where its features are not those of today.

    The kind is asked of ``cloudarena.scenarios``, which is above this layer and is imported now.
    """
    kind = importlib.import_module("cloudarena.scenarios").kind_named(learned.kind)
    learnable = {**kind.candidates, **kind.rankings}
    candidates: Candidates | None = learnable.get(learned.decides)
    if candidates is None:
        known = ", ".join(learnable) or "nothing"
        raise PolicyError(
            f"policy {name}: it decides {learned.decides}, which is not allowed: "
            f"{learned.kind} has {known} to learn"
        )
    own = learned.version, learned.features, learned.context
    today = (
        candidates.version,
        tuple(one.name for one in candidates.features),
        tuple(one.name for one in candidates.context),
    )
    if own[0] != today[0]:
        raise PolicyError(
            f"policy {name}: it was trained on version {own[0]} of the features of "
            f"{learned.decides}, which have version {today[0]} now: train it again"
        )
    for what, mine, theirs in zip(("features", "context"), own[1:], today[1:], strict=True):
        if mine != theirs:
            differing = sorted(set(mine) ^ set(theirs)) or ["their order"]
            raise PolicyError(
                f"policy {name}: {what}: {', '.join(differing)} differ from those of "
                f"{learned.decides} now: train it again"
            )
    if candidates.of_state:
        settings_of(name, list(map("=".join, chosen.items())), [])
        return StatePolicy(learned, candidates, name)
    signature = lambda: _signature(kind, learned.decides)  # noqa: E731
    words = dict(candidates.options)
    for key, value in settings_of(name, list(map("=".join, chosen.items())), list(words)).items():
        check_value(name, key, words[key], value)
    return LearnedPolicy(learned, candidates, signature, name, chosen)


def shipped() -> dict[str, Path]:
    """The policies that come with the package, by name."""
    if not SHIPPED.is_dir():
        return {}
    return {home.name: home for home in sorted(SHIPPED.iterdir()) if (home / POLICY).is_file()}


def described(kind: str) -> dict[str, str]:
    """The policies of a kind that come with the package, each with a line."""
    found = {f"{SCHEME}:{name}": Learned.load(home) for name, home in shipped().items()}
    return {name: one.description for name, one in found.items() if one.kind == kind}


def resolve(kind: str, words: str) -> LearnedPolicy:
    """The policy of ``learned:NAME`` or ``learned:FOLDER``, for a kind."""
    place, settings = _without_options(words.removeprefix(f"{SCHEME}:"))
    known = shipped()
    home = known.get(place) or Path(place)
    if not (home / POLICY).is_file():
        hint = nearest(place, known)
        names = f"one of {', '.join(known)}, or " if known else ""
        raise PolicyError(
            f"policy: {words!r} is not allowed: {names}a folder with {POLICY} and {WEIGHTS}.{hint}"
        )
    learned = Learned.load(home)
    if learned.kind != kind:
        raise PolicyError(f"policy {words}: it is for {learned.kind}, not for {kind}")
    return policy_of(learned, words, settings)


def _without_options(words: str) -> tuple[str, dict[str, str]]:
    """A name or folder, and the options behind it: ``NAME:backfill=strict``."""
    parts, options = words.split(":"), {}
    while len(parts) > 1 and "=" in parts[-1]:
        key, _, word = parts.pop().partition("=")
        options[key] = word
    return ":".join(parts), options


def _whole(value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{value!r} is not allowed: a whole number from {low} to {high}")
    return value


def _read_json(file: Path) -> dict[str, Any]:
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
    except DAMAGED as error:
        raise PolicyError(f"{file}: cannot be read: {_reason(error)}") from None
    if not isinstance(said, dict):
        raise PolicyError(f"{file}: cannot be read: it is no mapping")
    return said


def _read_weights(file: Path, shape: Shape) -> NDArray[np.float32]:
    """The weights of all layers in one array, checked."""
    if file.is_file() and not zipfile.is_zipfile(file):
        raise PolicyError(f"{file}: cannot be read: it is no npz archive of arrays")
    try:
        with np.load(file, allow_pickle=False) as arrays:
            parts = [
                np.asarray(arrays[f"{part}_{place}"])
                for place in range(len(shape.layers))
                for part in ("weights", "biases")
            ]
    except DAMAGED as error:
        raise PolicyError(f"{file}: cannot be read: {_reason(error)}") from None
    sizes = [size for rows, columns in shape.layers for size in ((rows, columns), (columns,))]
    for place, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        name = f"{('weights', 'biases')[place % 2]}_{place // 2}"
        if part.shape != size or part.dtype != np.float32:
            raise PolicyError(
                f"{file}: {name}: {part.dtype} of {part.shape} is not allowed: float32 of {size}"
            )
        if not (np.abs(part) <= LARGEST_WEIGHT).all():
            raise PolicyError(
                f"{file}: {name}: not all are numbers of at most {LARGEST_WEIGHT:,.0f}"
            )
    return np.concatenate([part.ravel() for part in parts])


def _reason(error: BaseException) -> str:
    """What went wrong, on one line."""
    if isinstance(error, FileNotFoundError):
        return "it does not exist"
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    return (str(error).splitlines() or [type(error).__name__])[0]
