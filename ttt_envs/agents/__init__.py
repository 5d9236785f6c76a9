"""Agents choose moves with `act(view)`. `agents.load("mcts:simulations=400")` creates one.

To write your own agent, subclass `Agent` or write a function `f(observation, mask) -> action`. Wherever an agent is
expected, pass the object or the text "my_agent.py:name". `from_sb3`, `from_torch` and `from_text` wrap models.
"""

import copy
import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ttt_envs.agents.adapters import ActorAgent, FunctionAgent, from_sb3, from_text, from_torch
from ttt_envs.agents.base import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.options import parse_value, unknown
from ttt_envs.core.view import Actor, View
from ttt_envs.storage.files import existing
from ttt_envs.storage.untrusted import brief

__all__ = [
    "AGENTS",
    "Actor",
    "Agent",
    "View",
    "as_agent",
    "from_sb3",
    "from_text",
    "from_torch",
    "known",
    "load",
    "search_for",
]


def __dir__() -> list[str]:
    return __all__


#: Built-in agents: name -> "module:class". The keyword arguments of the class are the agent's parameters.
#: The order matters to `search_for`, which returns the first suitable tree search.
AGENTS: dict[str, str] = {
    "random": "ttt_envs.agents.random:RandomAgent",
    "greedy": "ttt_envs.agents.greedy:Greedy",
    "mcts": "ttt_envs.agents.search.mcts:MCTS",
    "ismcts": "ttt_envs.agents.search.ismcts:ISMCTS",
    "smmcts": "ttt_envs.agents.search.smmcts:SMMCTS",
    "alphabeta": "ttt_envs.agents.search.alphabeta:AlphaBeta",
    "expectimax": "ttt_envs.agents.expectimax:Expectimax",
    "oracle": "ttt_envs.agents.oracle:OracleAgent",
    "mixed": "ttt_envs.agents.epsilon_random:Mixed",
    "rounds": "ttt_envs.agents.per_round:Rounds",
    "trained": "ttt_envs.agents.pretrained:Trained",
    "network": "ttt_envs.agents.network_agents:NetworkAgent",
    "lookahead": "ttt_envs.agents.network_agents:Lookahead",
    "guided": "ttt_envs.agents.search.guided:Guided",
    "tabular": "ttt_envs.agents.tabular:TabularAgent",
    "solved": "ttt_envs.agents.solved:Solved",
    "program": "ttt_envs.agents.external.program:Program",
    "llm": "ttt_envs.agents.external.llm:LanguageModel",
    "open_spiel": "ttt_envs.agents.external.open_spiel:OpenSpiel",
    "human": "ttt_envs.agents.human:Human",
}

# `stranger` treats a longer spec, or one with more nested agents, as untrusted: parsing it would take too long.
_LONGEST, _MOST_INSIDE = 10_000, 100

# "NAME=SPEC": a spec with a name for the agent.
_LABEL = re.compile(r"([^\W_][\w .+-]{0,79})=(.+)", re.DOTALL)

# A quoted parameter, which may contain commas: name="value", or only "value".
_QUOTED = re.compile(r"((?:[^=,\"']*=)?)(\".*?\"|'.*?')(?=,|$)", re.DOTALL)

# "my_agent.py:Name" or "package.module:Name", optionally with parameters after another colon.
_PLACE = re.compile(r"(?P<module>.+?\.py|[A-Za-z_][\w.]*):(?P<name>[A-Za-z_]\w*)(?::(?P<rest>.*))?", re.DOTALL)


def load(spec: Any) -> Agent:
    """Return the agent for `spec`.

    Args:
        spec: an object that `as_agent` accepts, or a string. A string names a built-in agent, such as "random" or
            "mcts:simulations=400,exploration=1.2", or your own class, agent object or function: "my_agent.py:Mine",
            "package.module:Mine", with parameters "my_agent.py:Mine:depth=2". A value without a name, as in
            "network:runs/x", sets the first parameter. Quote values that contain commas. Parameters of a nested agent
            follow it: in "mixed:mcts:simulations=50,threads=2,random=0.1", `random` belongs to mixed. The agent's
            `name` is the string. To set a name, pass {"fast": "mcts:simulations=10"} or "fast=mcts:simulations=10". An
            agent object that gets a new name is copied.

    Raises:
        ValueError: the name or a parameter is unknown (the message lists the known ones), or a value is wrong.
        TypeError: `spec` is neither a string nor an object that can act.
        FileNotFoundError: a file that the agent needs does not exist.
        ImportError: a file or module cannot be imported, or the agent needs an extra that is not installed.
    """
    if isinstance(spec, Mapping):
        return _named(spec)
    if not isinstance(spec, str):
        return as_agent(spec)
    label, spec = labelled(spec)
    named, rest = find(spec)
    if inspect.isclass(named):
        try:
            arguments = _arguments(spec, named, rest)
            named = named(**arguments)
        except RecursionError:
            raise ValueError(f"agent {brief(spec)!r} has too many agents in one another") from None
    elif rest:
        raise ValueError(f"agent {spec!r}: only a class takes parameters, and this is a {type(named).__name__}")
    elif isinstance(named, Agent):
        named = copy.copy(named)  # a copy, so that the module's object keeps its name
    try:
        agent = as_agent(named)
    except TypeError as error:
        raise TypeError(f"agent {spec!r}: {error}") from error
    agent.name = label or spec
    return agent


def _named(given: Mapping[str, Any]) -> Agent:
    if len(given) != 1 or not all(isinstance(name, str) and name for name in given):
        raise ValueError(f"an agent with a name is given as {{name: agent}}, not {brief(repr(given))}")
    ((name, spec),) = given.items()
    agent = load(spec)
    if agent is spec:
        agent = copy.copy(agent)  # a copy, so that the caller's object keeps its name
    agent.name = name
    return agent


def labelled(text: str) -> tuple[str, str]:
    """Split a text such as "fast=mcts:simulations=10" into the name ("" if there is none) and the agent's spec."""
    found = _LABEL.fullmatch(text)
    return (found[1], found[2]) if found else ("", text)


def several(given: Any) -> list[Any]:
    """Convert a list of agents, a mapping {name: agent} or a single agent to a list of values that `load` accepts."""
    if isinstance(given, Mapping):
        return [{name: each} for name, each in given.items()]
    return list(given) if isinstance(given, (list, tuple)) else [given]


def stranger(text: str, own: Collection[str] = ()) -> str | None:
    """Return an untrusted agent named in a spec, or None. An untrusted agent may use more than the library's own data.

    The result is the spec itself or an agent nested in its parameters. A trusted agent starts no process, imports only
    the library and its dependencies, opens only bundled files and the library's caches, and contacts no server. This
    check imports and opens nothing that the spec names. The library's classes declare their access in `Agent.reaches`.
    Everything else is untrusted, including a spec that cannot be parsed.

    Args:
        text: the spec of an agent, as for `load`.
        own: values of file parameters that are trusted, because the library ships these files.
    """
    waiting, number = [labelled(text)[1]], 0
    while waiting:
        each = waiting.pop()
        name, _, rest = each.partition(":")
        number += 1
        if name not in AGENTS or len(each) > _LONGEST or number > _MOST_INSIDE:
            return each
        named, _ = find(each)
        reaches = vars(named).get("reaches")  # an inherited value does not count
        try:
            arguments = _arguments(each, named, rest)
        except ValueError:
            return each
        if reaches is None or any(reaches.get(key) == "file" and arguments[key] not in own for key in arguments):
            return each
        waiting += [arguments[key] for key in arguments if reaches.get(key) == "agent"]
    return None


def check_named(texts: Iterable[str], where: str, how: str, named: Collection[str] = ()) -> None:
    """Raise ValueError if a file names an untrusted agent (see `stranger`) that the user has not named as well.

    Call this before you load agents that a file names, because the file may come from someone else.

    Args:
        texts: the agents named in the file.
        where: the file's name, for the message.
        how: what the user must do to name an agent, for the message.
        named: the agents that the user has named.
    """
    for text in texts:
        if text not in named and (unsafe := stranger(text)) is not None:
            inside = f" with {brief(unsafe)!r} inside it" if unsafe != text else ""
            raise ValueError(
                f"{where} names the agent {brief(text)!r}{inside}, which may run programs or open files: if you want "
                f"it to be run, {how}"
            )


def as_agent(given: Any) -> Agent:
    """Convert an `Agent`, an object with a method `act(view)`, or a function `f(observation, mask)` to an agent.

    Raises TypeError for anything else, such as a class or a model; the message gives advice.
    """
    if isinstance(given, Agent):
        return given
    if inspect.isclass(given):
        raise TypeError(f"an agent is an object, not the class {given.__name__}: write {given.__name__}()")
    if callable(getattr(given, "act", None)):
        return ActorAgent(given)
    if hasattr(given, "forward"):
        raise TypeError("a torch module becomes an agent by ttt_envs.agents.from_torch(module)")
    if hasattr(given, "predict"):
        raise TypeError("a Stable-Baselines3 model becomes an agent by ttt_envs.agents.from_sb3(model)")
    if callable(given):
        return FunctionAgent(given)
    raise TypeError(
        "an agent is a text such as 'random', an object with act(view), or a function f(observation, mask), "
        f"not {given!r} of type {type(given).__name__}"
    )


def known() -> dict[str, type[Agent]]:
    """Return name -> class for all agents of the library."""
    return {name: find(name)[0] for name in AGENTS}


def search_for(game: Game) -> str | None:
    """Return the first tree search in `AGENTS` that can give hints in this game; None if there is none."""
    for name in AGENTS:
        kind, _ = find(name)
        if kind.hint_simulations and all(getattr(game, fact) == value for fact, value in kind.plays.items()):
            return name
    return None


def find(spec: str) -> tuple[Any, str]:
    """Return the class, function or object that a spec names, and the spec's parameters as text."""
    name, _, rest = spec.partition(":")
    if name in AGENTS:
        module, attribute = AGENTS[name].split(":")
        return getattr(import_module(module), attribute), rest
    place = _PLACE.fullmatch(spec)
    if place is None:
        if name.endswith(".py"):
            raise ValueError(f"agent {spec!r}: a file needs the name of what to take from it, such as {name}:Name")
        raise ValueError(_unknown(name))
    module = _module_of(place["module"])
    if not hasattr(module, place["name"]):
        # Suggest possible agents that the module itself defines, not its imports.
        names = [
            each
            for each, thing in vars(module).items()
            if not each.startswith("_")
            and (callable(thing) or hasattr(thing, "act"))
            and getattr(thing, "__module__", None) == module.__name__
        ]
        raise ValueError(f"agent {spec!r}: {unknown('name', place['name'], names)}")
    return getattr(module, place["name"]), place["rest"] or ""


def _names_agent(text: str) -> bool:
    name, colon, _ = text.partition(":")
    if not colon:
        return False
    return name in AGENTS or _PLACE.fullmatch(text.partition("=")[0]) is not None


def _unknown(name: str) -> str:
    return f"{unknown('agent', name, list(AGENTS))}; or my_agent.py:Name, or package.module:Name"


def _module_of(place: str) -> Any:
    if place.endswith(".py"):
        return _file_module(place)
    try:
        return _run(f"the module {place}", lambda: import_module(place))
    except ModuleNotFoundError as error:
        # The module itself is missing, not one of its imports.
        if error.name is not None and f"{place}.".startswith(f"{error.name}."):
            wrong = f"no module {place!r} can be found" if "." in place else _unknown(place)
            raise ValueError(wrong) from None
        raise


def _file_module(place: str) -> Any:
    path = existing(Path(place).expanduser(), "agent file").resolve()
    if not path.is_file():
        raise FileNotFoundError(f"no agent file at {place}")
    # The module's name contains a digest of the file's path and time. So files with equal names stay distinct, and an
    # edited file is loaded again.
    digest = hashlib.sha256(f"{path} {path.stat().st_mtime_ns}".encode()).hexdigest()[:16]
    name = f"ttt_envs_agent_{digest}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        execute = partial(spec.loader.exec_module, module)
        # Like a script, the file may import modules from its folder; installed modules take precedence.
        sys.path.append(str(path.parent))
        try:
            _run(f"the agent file {place}", execute, path)
        except BaseException:
            del sys.modules[name]
            raise
        finally:
            sys.path.remove(str(path.parent))
    return sys.modules[name]


def _run(what: str, importing: Callable[[], Any], path: Path | None = None) -> Any:
    """Import a user's code; convert any exception to an ImportError with the message and the line of the error.

    If possible, report the line in the file at `path`, because the error may arise deep inside other packages.
    """
    try:
        return importing()
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{what} cannot be imported: {error}", name=error.name) from error
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = ([frame for frame in frames if frame.filename == str(path)] or frames)[-1]
        place = f"{Path(where.filename).name}, line {where.lineno}"
        if isinstance(error, SyntaxError):
            place = f"{Path(error.filename or '?').name}, line {error.lineno}"
        raise ImportError(f"{what} cannot be imported: {type(error).__name__}: {error} ({place})") from error


def _arguments(spec: str, make: Any, rest: str) -> dict[str, Any]:
    name = spec.removesuffix(f":{rest}") if rest else spec
    try:
        signature = inspect.signature(make, eval_str=True)
    except Exception:  # an annotation cannot be evaluated at run time
        signature = inspect.signature(make)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = {each.name: each for each in signature.parameters.values() if each.kind not in variadic}
    arguments: dict[str, Any] = {}
    last, first = getattr(make, "takes_rest", ""), next(iter(parameters), None)
    while rest:
        if (quoted := _QUOTED.match(rest)) is None:
            part, _, after = rest.partition(",")
            key, equals, text = part.partition("=")
        else:
            part, after = quoted[0], rest[quoted.end() + 1 :]
            key, equals, text = quoted[1][:-1], quoted[1][-1:], quoted[2][1:-1]
        if (equals and key == last) or (last and last == first and not (equals and key in parameters)):
            key, equals, text, after = last, "=", rest.removeprefix(f"{last}="), ""
        rest = after
        if not part:
            continue
        value = next(reversed(arguments.values()), None)
        if key not in parameters and isinstance(value, str) and ":" in value and _names_agent(value):
            arguments[next(reversed(arguments))] = f"{value},{part}"  # a parameter of the agent inside the value
            continue
        if not equals or _names_agent(key):
            if arguments or not parameters:
                names = ", ".join(parameters) or "none"
                raise ValueError(f"agent {spec!r}: {part!r} must be parameter=value; known: {names}")
            key, text = next(iter(parameters)), part if equals or quoted is None else text
        if key not in parameters:
            raise ValueError(f"agent {name}: {unknown('parameter', key, list(parameters))}")
        if key in arguments:
            raise ValueError(f"agent {spec!r}: parameter {key!r} is given twice")
        try:
            arguments[key] = parse_value(parameters[key].annotation, text)
        except ValueError as error:
            raise ValueError(f"agent {name}: parameter {key}: {error}") from None
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in arguments:
            raise ValueError(f"agent {name} needs {key}, such as '{name.rstrip(':')}:{key}=...'")
    return arguments
