"""Who chooses moves. `agents.load("mcts:simulations=400")` gives an agent; an agent answers `act(view)`.

Agents of your own: subclass `Agent`, or write a function `f(observation, mask) -> action`, and name it wherever an
agent is named, as "my_agent.py:name" or as the object itself. `from_sb3` and `from_torch` adapt trained models.
"""

import importlib.util
import inspect
import re
import sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ttt_envs.agents.adapters import ActorAgent, FunctionAgent, from_sb3, from_torch
from ttt_envs.agents.base import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.options import parse_value, unknown
from ttt_envs.core.view import Actor, View

__all__ = ["AGENTS", "Actor", "Agent", "View", "as_agent", "from_sb3", "from_torch", "known", "load", "search_for"]

#: Built-in agents: name -> "module:class". The class's keyword arguments are the parameters; its docstring describes
#: them.
AGENTS: dict[str, str] = {
    "random": "ttt_envs.agents.random:RandomAgent",
    "greedy": "ttt_envs.agents.greedy:Greedy",
    "mcts": "ttt_envs.agents.search.mcts:MCTS",
    "ismcts": "ttt_envs.agents.search.ismcts:ISMCTS",
    "smmcts": "ttt_envs.agents.search.smmcts:SMMCTS",
    "expectimax": "ttt_envs.agents.expectimax:Expectimax",
    "oracle": "ttt_envs.agents.oracle:OracleAgent",
    "ppo": "ttt_envs.agents.ppo:PPO",
    "human": "ttt_envs.agents.human:Human",
}

#: Installed packages name agents of theirs in this group of entry points: name = "module:class".
ENTRY_POINTS = "ttt_envs.agents"

# The tree searches, the one for the simplest games first.
_SEARCHES = ("mcts", "ismcts", "smmcts")

# "my_agent.py:Name", "package.module:Name", with parameters behind another colon.
_PLACE = re.compile(r"(?P<module>.+?\.py|[A-Za-z_][\w.]*):(?P<name>[A-Za-z_]\w*)(?::(?P<rest>.*))?", re.DOTALL)


def load(spec: Any) -> Agent:
    """The agent that `spec` names.

    Args:
        spec: a text such as "random", "mcts:simulations=400,exploration=1.2" or "ppo:runs/x" (a value without a name
            belongs to the first parameter); "my_agent.py:Mine" or "package.module:Mine", with parameters as in
            "my_agent.py:Mine:depth=2"; a name that an installed package registers under the entry point group
            `ttt_envs.agents`; or what `as_agent` takes. The agent of a text gets the text as its `name`.

    Raises:
        ValueError: an unknown name or parameter (the known ones are listed), or a wrong value.
        TypeError: neither text nor anything that can act.
        FileNotFoundError: a file that the agent needs does not exist.
    """
    if not isinstance(spec, str):
        return as_agent(spec)
    found, rest = _find(spec)
    if inspect.isclass(found):
        found = found(**_arguments(spec, found, rest))
    elif rest:
        raise ValueError(f"agent {spec!r}: only classes take parameters, and this is a {type(found).__name__}")
    agent = as_agent(found)
    agent.name = spec
    return agent


def as_agent(given: Any) -> Agent:
    """An agent of an `Agent`, of an object with a method `act(view)`, or of a function `f(observation, mask)`.

    Raises TypeError for anything else, such as a class or a model, saying what to do.
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
    """All agents that have a name: the built-in ones, and those of installed packages."""
    found = {name: _import(place) for name, place in AGENTS.items()}
    return {**found, **{each.name: each.load() for each in entry_points(group=ENTRY_POINTS) if each.name not in found}}


def search_for(game: Game) -> str | None:
    """The name of the tree search that plays the game; None if none does."""
    for name in _SEARCHES:
        try:
            load(name).check(game)
        except ValueError:
            continue
        return name
    return None


def _import(place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(module), name)


def _find(spec: str) -> tuple[Any, str]:
    """What a text names, a class or an object, and its parameters as text."""
    name, _, rest = spec.partition(":")
    if name in AGENTS:
        return _import(AGENTS[name]), rest
    for each in entry_points(group=ENTRY_POINTS):
        if each.name == name:
            return each.load(), rest
    place = _PLACE.fullmatch(spec)
    if place is None or (not place["module"].endswith(".py") and not _importable(place["module"])):
        names = [*AGENTS, *(each.name for each in entry_points(group=ENTRY_POINTS))]
        raise ValueError(f"{unknown('agent', name, names)}; or my_agent.py:Name, or package.module:Name")
    module = _module_of(place["module"])
    if not hasattr(module, place["name"]):
        names = [each for each in vars(module) if not each.startswith("_")]
        raise ValueError(f"agent {spec!r}: {unknown('name in ' + place['module'], place['name'], names)}")
    return getattr(module, place["name"]), place["rest"] or ""


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _module_of(place: str) -> Any:
    """The module of a path that ends in .py, or of a dotted name."""
    if not place.endswith(".py"):
        return import_module(place)
    path = Path(place).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"no agent file at {place}")
    # Under the path, so that two files of one name are two modules, and one file is run once.
    name = "ttt_envs_agent_" + re.sub(r"\W", "_", str(path))
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _arguments(spec: str, make: Any, rest: str) -> dict[str, Any]:
    """The parameters of a text, as keyword arguments of the agent's class."""
    name = spec.removesuffix(f":{rest}") if rest else spec
    # A class without an __init__ of its own takes no arguments.
    parameters = dict(inspect.signature(make).parameters) if make.__init__ is not object.__init__ else {}
    arguments: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, text = part.partition("=")
        if not equals:
            if arguments or not parameters:
                names = ", ".join(parameters) or "none"
                raise ValueError(f"agent {spec!r}: {part!r} must be parameter=value; known: {names}")
            key, text = next(iter(parameters)), part
        if key not in parameters:
            raise ValueError(f"agent {name}: {unknown('parameter', key, list(parameters))}")
        if key in arguments:
            raise ValueError(f"agent {spec!r}: parameter {key!r} is given twice")
        try:
            arguments[key] = parse_value(parameters[key].annotation, text)
        except ValueError as error:
            raise ValueError(f"agent {name}: parameter {key}: {error}") from None
    for key, parameter in parameters.items():
        if (
            parameter.default is parameter.empty
            and parameter.kind is not parameter.VAR_KEYWORD
            and key not in arguments
        ):
            raise ValueError(f"agent {name} needs {key}, such as '{name}:{key}=...'")
    return arguments
