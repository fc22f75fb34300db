"""What goes wrong, said so that the reader can mend it: field, value, what is allowed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

LONGEST_WORD = 160
"""The most characters of one value that a message repeats."""


class CloudarenaError(Exception):
    """Input that cannot be used. The command line prints it and exits with code 2."""

    def __str__(self) -> str:
        """The message, without the middle of values that are too long to read."""
        return elided(super().__str__())


class Ended(SystemExit):
    """A signal has asked the process to end."""


def elided(text: str) -> str:
    """A text without the middle of very long words in it."""
    return re.sub(
        rf"\S{{{LONGEST_WORD + 1},}}", lambda word: f"{word[0][:100]}...{word[0][-40:]}", text
    )


class SpecError(CloudarenaError):
    """A scenario description that is not valid."""


class TraceError(CloudarenaError):
    """A workload file that is not valid; the message names the file and the line."""


class PolicyError(CloudarenaError):
    """A policy that does not exist, cannot be loaded, does not fit the scenario, or fails."""

    details: str = ""
    """The traceback of what the policy raised, if it did."""


class InvalidAction(CloudarenaError, ValueError):
    """An action that is not allowed now. The state of the run has not changed."""


def nearest(word: str, known: Iterable[str], alike: float = 0.5) -> str:
    """Returns `` Did you mean 'x'?`` for the known word most like the given one, or nothing."""
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=alike)
    return f" Did you mean {matches[0]!r}?" if matches else ""


def check_choice(name: str, value: Any, allowed: Iterable[str]) -> None:
    """Raises unless the value is one of the allowed words; says which is the nearest."""
    words = list(allowed)
    if value not in words:
        raise SpecError(
            f"{name}: {value!r} is not allowed: one of {', '.join(words)}."
            + nearest(str(value), words)
        )


def field_path(location: Sequence[str | int]) -> str:
    """Writes a location in a spec as people do: ``machines[2].cores``."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if path else part
    return path


def _allowed(kind: str, context: dict[str, Any], message: str) -> str:
    """What a failed pydantic check would have allowed, in plain words."""
    words = {
        "greater_than_equal": "at least {ge}",
        "greater_than": "more than {gt}",
        "less_than_equal": "at most {le}",
        "less_than": "less than {lt}",
        "literal_error": "one of {expected}",
        "union_tag_invalid": "one of {expected_tags}",
        "too_short": "at least {min_length} entries",
        "int_type": "a whole number",
        "int_parsing": "a whole number",
        "int_from_float": "a whole number",
        "int_parsing_size": "a whole number of fewer digits",
        "float_type": "a number",
        "float_parsing": "a number",
        "finite_number": "a finite number",
        "bool_type": "true or false",
        "bool_parsing": "true or false",
        "string_type": "text",
        "list_type": "a list",
        "tuple_type": "a list",
        "path_type": "a path",
        "model_type": "a mapping of keys",
        "model_attributes_type": "a mapping of keys",
    }
    if kind in words:
        return words[kind].format(**context)
    return message[:1].lower() + message[1:]


def explain(problems: Sequence[Any]) -> str:
    """Turns pydantic's list of errors into one line each: field, value, what is allowed."""
    lines = []
    deeper = {tuple(problem["loc"][:-k]) for problem in problems for k in range(1, 9)}
    for problem in problems:
        if problem["type"] == "too_short" and tuple(problem["loc"]) in deeper:
            continue  # entries are missing only because they are wrong, which is said already
        kind, context = problem["type"], problem.get("ctx", {})
        path = field_path(_as_written(problem)) or "spec"
        if kind == "missing":
            lines.append(f"{path}: is required")
        elif kind == "union_tag_not_found":
            tag = str(context["discriminator"]).strip("'")
            lines.append(f"{path}.{tag}: is required")
        elif kind == "union_tag_invalid":
            tag = str(context["discriminator"]).strip("'")
            known = [word.strip(" '") for word in str(context["expected_tags"]).split(",")]
            lines.append(
                f"{path}.{tag}: {context['tag']!r} is not allowed: one of {', '.join(known)}."
                + nearest(str(context["tag"]), known)
            )
        elif kind in ("unknown_key", "not_allowed"):
            lines.append(problem["msg"] if path == "spec" else f"{path}: {problem['msg']}")
        else:
            value = _short(problem.get("input"))
            lines.append(
                f"{path}: {value} is not allowed: {_allowed(kind, context, problem['msg'])}"
            )
    return "\n".join(lines)


def _as_written(problem: dict[str, Any]) -> list[str | int]:
    """The location of a problem without what pydantic puts into it to name a branch of a union.

    That is the tag of a tagged union, once (a key may have the same name), and words in angle
    brackets, which name the form that something is written in.
    """
    location = [part for part in problem["loc"] if not str(part).startswith("<")]
    tags = [index for index, part in enumerate(location) if part in problem.get("branches", ())]
    if tags:
        del location[tags[0]]
    return location


def one_line(value: Any) -> str:
    """A value as Python writes it, on one line; whatever its class says of itself."""
    try:
        return " ".join(repr(value).split())
    except Exception:  # numbers of thousands of digits are not written either
        return f"a value of the type {type(value).__name__}"


def written(action: Any) -> str:
    """What a policy returned, short enough to read."""
    text = one_line(action)
    return text if len(text) <= LONGEST_WORD else f"{text[:100]}...{text[-40:]}"


def _short(value: Any) -> str:
    text = one_line(value)
    return text if len(text) <= 60 else text[:57] + "..."
