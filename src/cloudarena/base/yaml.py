"""YAML as specs are written: nothing in it is lost or taken for something else without a word."""

from __future__ import annotations

import re
from typing import Any

import yaml


class _SpecLoader(yaml.SafeLoader):
    """YAML whose keys are plain and stand once, and in which ``1e9`` is a number.

    YAML 1.1, which PyYAML reads, takes ``1e9`` for text since it has neither point nor sign.
    """

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _problem("a key is not allowed to be a list or a mapping", key)
            if key.value in seen:
                raise _problem(f"key {key.value!r} is a duplicate", key)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_SpecLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def parse_yaml(text: str) -> Any:
    """What a text in YAML says; a ValueError of one line, with the line of the text, if nothing."""
    try:
        return yaml.load(text, _SpecLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"line {line}: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise ValueError(f"line {line}: {error.reason}") from None
    except RecursionError:
        raise ValueError("line 1: there are too many lists in lists") from None


def write_yaml(plain: Any) -> str:
    """Plain values as a text in YAML, keys in their order."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the same text, sooner
    text: str = yaml.dump(plain, Dumper=dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def _problem(words: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, words, node.start_mark)
