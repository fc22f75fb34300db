"""What a user writes of many runs: scenarios, policies, keys of the spec, replications.

::

    spec: vm/azure-like-10k           # a name, a file, the spec itself, or a list of them
    policies: [best-fit, first-fit, "mine.py:emptiest"]
    set:
      oversubscription.cpu: [1.0, 1.15, 1.3]
      machines[0].count: {from: 80, to: 120, step: 10}
    replications: 10

``set`` is a grid. With ``design: random`` and ``sample: 200`` so many of its points are drawn; with
``one-at-a-time`` each key leaves the spec alone; ``sobol`` draws what Sobol's indices need.
``points`` is a list of points instead. ``cases`` are alternatives with a name, such as traces, or
windows of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError, explain
from cloudarena.catalogue import read_yaml
from cloudarena.contract import Spec
from cloudarena.contract.spec import SPEC_VERSION, SpecVersion

MOST_REPLICATIONS = 1_000_000
Design = Literal["grid", "random", "one-at-a-time", "sobol"]


class Experiment(Spec):
    """The file; all keys but ``spec`` may be left out."""

    spec: str | dict[str, Any] | tuple[str | dict[str, Any], ...]
    """One scenario, or several."""
    version: SpecVersion = SPEC_VERSION
    """The version of specs that the file is written for."""
    description: str = ""
    policies: tuple[str, ...] = ()
    """Policies; by default the one that the spec names, else that of its kind."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Values for each key of the spec, or ``NAME.parameter`` of a policy, its levels."""
    points: tuple[dict[str, Any], ...] = ()
    """Points one by one instead of ``set``: for each the keys and their values."""
    cases: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Alternatives with a name, each of which sets some keys of the spec."""
    where: tuple[str, ...] = ()
    """Rules such as ``low < high`` that points must keep."""
    design: Design = "grid"
    sample: int | None = Field(None, ge=1, le=10_000_000)
    """How many points are drawn; for ``sobol`` the size of the base sample, a power of two."""
    replications: int = Field(10, ge=1, le=MOST_REPLICATIONS)
    seed: int = Field(0, ge=0)
    """The seed of the first replication; replication r has ``seed + r``, in all cells."""
    metrics: tuple[str, ...] = ()
    """Metrics of one's own besides those of the kind: ``FILE.py:NAME``."""

    @model_validator(mode="after")
    def _fits_together(self) -> Experiment:
        def refuse(words: str) -> PydanticCustomError:
            return PydanticCustomError("not_allowed", words)

        if self.points and (self.set or self.design != "grid" or self.sample or self.where):
            raise refuse("points: is not allowed together with set, where, design or sample")
        if self.design in ("random", "sobol") and self.sample is None:
            raise refuse(f"sample: is required for design: {self.design}")
        if self.design == "sobol" and self.sample is not None and self.sample & (self.sample - 1):
            raise refuse(f"sample: {self.sample} is not allowed: a power of two for sobol")
        if self.design in ("grid", "one-at-a-time") and self.sample is not None:
            raise refuse(f"sample: is not allowed for design: {self.design}: random or sobol")
        if self.design in ("sobol", "one-at-a-time") and (not self.set or self.where):
            raise refuse(f"design: {self.design} is not allowed without set, or with where")
        if isinstance(self.spec, tuple) and not self.spec:
            raise refuse("spec: an empty list is not allowed: at least one scenario")
        for key, value in self.set.items():
            if isinstance(value, list | tuple) and not value:
                raise refuse(f"set.{key}: an empty list is not allowed: at least one level")
        return self

    @property
    def specs(self) -> tuple[str | dict[str, Any], ...]:
        """The scenarios of the experiment."""
        return self.spec if isinstance(self.spec, tuple) else (self.spec,)


def read_experiment(
    source: str | Path | Mapping[str, Any],
) -> tuple[Experiment, str, Path]:
    """An experiment from a file or a dict, its name, and where its relative paths start."""
    if isinstance(source, Mapping):
        data, name, folder = dict(source), "", Path.cwd()
    else:
        path = Path(source)
        if not path.is_file():
            why = "is not a file" if path.exists() else "does not exist"
            raise SpecError(f"{source}: {why}: a YAML file of an experiment is needed")
        data, name, folder = read_yaml(path, str(source)), str(source), path.absolute().parent
    prefix = f"{name}: " if name else ""
    if "scenario" in data:
        raise SpecError(
            f"{prefix}is a scenario, not an experiment: write spec: {name or 'it'} in a file "
            "of its own, with what is varied"
        )
    try:
        experiment = Experiment.model_validate(data)
    except ValidationError as error:
        lines = explain(error.errors(include_url=False)).splitlines()
        raise SpecError("\n".join(dict.fromkeys(prefix + line for line in lines))) from None
    return experiment, name, folder
