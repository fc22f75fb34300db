"""What stands after a policy's name, and policies in files of users."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import cloudpickle

from cloudarena.base.errors import Ended, PolicyError, nearest
from cloudarena.base.names import USERS
from cloudarena.base.yaml import parse_yaml
from cloudarena.policies.blame import FAULTS, words_of


def settings_of(name: str, settings: list[str], known: list[str]) -> dict[str, Any]:
    """The values of texts such as ``margin=1.3``, for the parameters that a policy has."""
    values = {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or key not in known:
            allowed = ", ".join(f"{one}=..." for one in known) or "none"
            raise PolicyError(
                f"policy {name}: {setting!r} is not allowed: {allowed}.{nearest(key, known)}"
            )
        try:
            values[key] = parse_yaml(value)
        except ValueError:
            raise PolicyError(
                f"policy {name}: {setting!r} is not allowed: the value is not YAML"
            ) from None
    return values


class SourceLoader(SourceFileLoader):
    """Loads what a file says now, and leaves nothing beside it.

    Python's bytecode is taken for current where an edit keeps the second and the size of a file.
    """

    def get_code(self, fullname: str) -> CodeType:
        """The code of the file, compiled from its source."""
        return self.source_to_code(self.get_data(self.path), self.path)


def load_function(path: Path, name: str) -> Any:
    """A name from a Python file of the user's."""
    if not path.is_file():
        raise PolicyError(
            f"policy: {path} {'is not a file' if path.exists() else 'does not exist'}"
        )
    if path.suffix != ".py":
        raise PolicyError(f"policy: {path} is not a Python file")
    module_name = f"{USERS}{path.stem}"
    spec = importlib.util.spec_from_loader(
        module_name, SourceLoader(module_name, str(path.absolute()))
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except (KeyboardInterrupt, Ended):
        raise
    except FAULTS as error:
        raise _not_loaded(path, error) from error
    cloudpickle.register_pickle_by_value(module)  # workers do not know its file
    if not hasattr(module, name):
        names = [key for key, value in vars(module).items() if callable(value)]
        raise PolicyError(f"policy: {path} has no {name!r}.{nearest(name, names)}")
    return getattr(module, name)


def _not_loaded(path: Path, error: BaseException) -> PolicyError:
    """What is wrong with a file, and in which line of it."""
    lines = [
        at
        for frame, at in traceback.walk_tb(error.__traceback__)
        if Path(frame.f_code.co_filename).absolute() == path.absolute()
    ]
    location = f"{path}:{lines[-1]}" if lines else str(path)
    fault = PolicyError(f"policy: {location} cannot be loaded: {words_of(error)}")
    fault.details = "".join(traceback.format_exception(error))
    return fault
