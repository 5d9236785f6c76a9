"""Options, settings and parameters: checks with helpful messages, conversion from and to text, and descriptions."""

import inspect
import re
import shlex
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from typing import Any, NamedTuple, Union, get_args, get_origin

import numpy as np

from ttt_envs.storage.untrusted import brief

_SCALARS = (int, float, bool, str)


def unknown(kind: str, name: object, known: Sequence[str], short: Mapping[str, str] | None = None) -> str:
    """Return the message for an unknown name: the closest known names first, then all.

    `short`: further names for some of the known ones.
    """
    names = {**{each: each for each in known}, **(short or {})}
    found = get_close_matches(str(name), names, n=3, cutoff=0.5)
    like = [SequenceMatcher(None, each, str(name)).ratio() for each in found]
    # Keep only names about as close as the closest one.
    close = dict.fromkeys(names[each] for each, ratio in zip(found, like, strict=True) if ratio > like[0] - 0.15)
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ";"
    return f"unknown {kind} {brief(repr(name))}{hint} known: {', '.join(known) or 'none'}"


class NotAllowed(ValueError):
    """Raised for a value that an option does not allow.

    Attributes:
        option: name of the option.
        allowed: the allowed values.
    """

    def __init__(self, option: str, value: Any, allowed: Sequence[Any]) -> None:
        super().__init__(f"option {option}={value!r} must be one of {', '.join(map(repr, allowed))}")
        self.option, self.allowed = option, tuple(allowed)


class OutOfRange(ValueError):
    """Raised for an option's number that is too small or too large.

    Attributes:
        option: name of the option.
        low, high: the least and the greatest number allowed.
    """

    def __init__(self, option: str, value: Any, low: int, high: int, unless: str = "") -> None:
        be = f"be {low}" if low == high else f"be from {low} to {high}"
        super().__init__(f"option {option}={value!r} must {be}{f'; {unless}' if unless else ''}")
        self.option, self.low, self.high = option, low, high


class Within(NamedTuple):
    """The lowest and the highest value of a setting, as metadata of its type; if both are int, so is the setting."""

    low: float
    high: float


def choice(option: str, value: Any, allowed: Sequence[Any]) -> Any:
    """Return `value` if it is one of `allowed` and of the same type; else raise NotAllowed, a ValueError."""
    if not any(type(value) is type(each) and value == each for each in allowed):
        raise NotAllowed(option, value, allowed)
    return value


def whole(option: str, value: Any, low: int, high: int, *, unless: str = "") -> int:
    """Return `value` if it is an int from low to high; else raise TypeError, or OutOfRange, a ValueError.

    `unless`: a way to allow the value, for the message, such as another option.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"option {option}={value!r} must be a whole number, not {type(value).__name__}")
    if not low <= value <= high:
        raise OutOfRange(option, value, low, high, unless)
    return int(value)


#: Limit of all counts, such as the number of games: more would fill any memory, or take years.
MOST = 10**9


def within(low: float, high: float, **values: Any) -> None:
    """Raise ValueError, naming the value, unless each value is a number from `low` to `high`.

    If `low` and `high` are whole numbers, the values must be, too.
    """
    whole = isinstance(low, int) and isinstance(high, int)
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    for name, value in values.items():
        if isinstance(value, kinds) and not isinstance(value, bool) and low <= value <= high:
            continue
        raise ValueError(
            f"{name} must be a {'whole ' if whole else ''}number from {low:,.12g} to {high:,.12g}, not {value!r}"
        )


def as_text(value: Any) -> str:
    """Return a value as text that `parse_value` or the game can read: tuples as "a,b", nested tuples as "a+b"."""
    if isinstance(value, tuple):
        return ",".join("+".join(map(as_text, each)) if isinstance(each, tuple) else as_text(each) for each in value)
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def parse_value(annotation: Any, text: str) -> Any:
    """Return `text` as a value of the annotated type: int, float, bool, str, None, or a union of these.

    A union takes the first of int, float, bool, None, str that fits. Another annotation, or a missing one, is
    treated as a union of all five. Raises ValueError that names the types.
    """
    kinds = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    if not any(kind in _SCALARS for kind in kinds):
        kinds = (*_SCALARS, types.NoneType)
    word = text.strip().lower()
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                pass
    if bool in kinds and word in ("true", "false"):
        return word == "true"
    if types.NoneType in kinds and word == "none":
        return None
    if str in kinds:
        return text
    names = ["None" if kind is types.NoneType else kind.__name__ for kind in kinds]
    raise ValueError(f"{brief(text)!r} is not of type {' or '.join(names)}")


@dataclass(frozen=True)
class Parameter:
    """The declaration of an option of a game or a parameter of an agent.

    Attributes:
        name: its name.
        annotation: its type.
        default: its default value; `inspect.Parameter.empty` if it is required.
        meaning: its description from the docstring; empty if there is none.
    """

    name: str
    annotation: Any
    default: Any
    meaning: str

    @property
    def type_name(self) -> str:
        """The type in readable form, such as "int or None"."""
        kinds = get_args(self.annotation) if get_origin(self.annotation) in (Union, types.UnionType) else ()
        names = ["None" if kind is types.NoneType else getattr(kind, "__name__", str(kind)) for kind in kinds]
        if names:
            return " or ".join(dict.fromkeys(names))
        return "" if self.annotation is inspect.Parameter.empty else getattr(self.annotation, "__name__", "")


def parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Return the named parameters of a function or class, with their meanings from its docstring's "Args:".

    For a class, these are the parameters of `__init__`.
    """
    documented = function.__init__ if inspect.isclass(function) else function
    if documented is object.__init__:
        return []
    meanings = _meanings(inspect.getdoc(documented) or "")
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError:  # an annotation imported only for type checkers
        signature = inspect.signature(function)
    return [
        Parameter(each.name, each.annotation, each.default, meanings.get(each.name, ""))
        for each in signature.parameters.values()
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]


def _meanings(docstring: str) -> dict[str, str]:
    """Return name -> meaning from the lines `name: meaning` below "Args:"; continuation lines are indented."""
    _, heading, section = docstring.partition("Args:\n")
    meanings: dict[str, str] = {}
    name = ""
    for line in section.splitlines() if heading else []:
        if not line.startswith("    "):
            break
        entry = re.fullmatch(r"    (\w+): (.+)", line)
        if entry:
            name = entry[1]
            meanings[name] = entry[2].strip()
        elif name:
            meanings[name] += f" {line.strip()}"
    return meanings


def command_line(program: Sequence[str], settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Return the command line for these settings: `program`, then each setting that differs from its default.

    Names become options (`max_games` becomes `--max-games`); True becomes a flag, a sequence several values, and a
    mapping several `name=value`. An empty option without a default is left out.
    """
    words = list(program)
    for name, value in settings.items():
        if value == defaults[name] if name in defaults else value in ((), [], {}):
            continue
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{name.replace('_', '-')}")
        elif isinstance(value, Mapping):
            words += [flag, *(f"{key}={each}" for key, each in value.items())]
        elif isinstance(value, (list, tuple)):
            words += [flag, *map(str, value)]
        else:
            words += [flag, str(value)]
    return shlex.join(words)
