"""Who chooses moves. `agents.load("mcts:simulations=400")` gives an agent; an agent answers `act(view)`.

An agent sees a `View`, never a state, and draws its random numbers from the view's seeds, so that it
plays the same game whatever else is in the batch.
"""

import inspect
from importlib import import_module
from typing import Any

import numpy as np

from agents.cli import parse_value
from ttt_envs.core.game import Game
from ttt_envs.core.options import unknown
from ttt_envs.core.view import Agent, View

__all__ = ["AGENTS", "Agent", "View", "load"]

#: name -> "module:class". The class's keyword arguments are the parameters; its docstring says what they are.
AGENTS: dict[str, str] = {
    "random": "ttt_envs.core.view:RandomAgent",
    "greedy": "agents.greedy:Greedy",
    "mcts": "agents.mcts:MCTS",
    "ismcts": "agents.ismcts:ISMCTS",
    "smmcts": "agents.smmcts:SMMCTS",
    "expectimax": "agents.expectimax:Expectimax",
    "oracle": "agents.oracle:OracleAgent",
    "ppo": "agents.ppo:PPO",
    "human": "agents.human:Human",
}

# The tree search for games of which one of these facts is true.
_SEARCHES = {"simultaneous": "smmcts", "hidden_information": "ismcts"}


def load(spec: str) -> Agent:
    """The agent of a text such as "random", "mcts:simulations=400,exploration=1.2" or "ppo:runs/x".

    A value without a name belongs to the first parameter. The agent's `name` is `spec`.

    Raises:
        ValueError: an unknown name or parameter (the known ones are listed), or a wrong value.
        FileNotFoundError: a file that the agent needs is not there.
    """
    if not isinstance(spec, str):
        raise TypeError(f"an agent is given as text such as 'random', not as {type(spec).__name__}")
    name, _, rest = spec.partition(":")
    if name not in AGENTS:
        raise ValueError(unknown("agent", name, list(AGENTS)))
    module, cls = AGENTS[name].split(":")
    make = getattr(import_module(module), cls)
    parameters = inspect.signature(make).parameters
    arguments: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, text = part.partition("=")
        if not equals:
            if arguments or not parameters:
                known = ", ".join(parameters) or "none"
                raise ValueError(f"agent {spec!r}: {part!r} must be parameter=value; known: {known}")
            key, text = next(iter(parameters)), part
        if key not in parameters:
            raise ValueError(f"agent {name}: {unknown('parameter', key, list(parameters))}")
        if key in arguments:
            raise ValueError(f"agent {spec!r}: parameter {key!r} is given twice")
        arguments[key] = _convert(name, key, text, parameters[key])
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in arguments:
            raise ValueError(f"agent {name} needs {key}, such as '{name}:{key}=...'")
    agent = make(**arguments)
    agent.name = spec
    return agent


def require(agent: str, game: Game, wanted: dict[str, bool]) -> None:
    """Refuse a game by the name of the fact that does not fit: ValueError in words.

    `wanted` maps facts (`simultaneous`, `stochastic`, `hidden_information`) to the value that the agent can play with.
    """
    for fact, value in wanted.items():
        if getattr(game, fact) != value:
            need = "without" if not value else "with"
            search = search_for(game)
            hint = f"; agent {search} plays such games" if search not in (None, agent) else ""
            raise ValueError(
                f"agent {agent} plays only games {need} {fact.replace('_', ' ')}; {game!r} does not fit{hint}"
            )


def search_for(game: Game) -> str | None:
    """The name of the tree search that plays the game; None if none does."""
    found = [search for fact, search in _SEARCHES.items() if getattr(game, fact)]
    return found[0] if len(found) == 1 else None if found else "mcts"


def sample(policy: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """One action a row, drawn by the row's seed: int64 (n,); -1 where the row is all zeros.

    `policy` float64 (n, num_actions) needs no sum of 1; `seeds` uint64 (n,).
    """
    heights = policy.cumsum(axis=1)
    # A number from 0 up to, and without, the sum of the row falls on an action of positive probability.
    points = (seeds >> np.uint64(11)) * 2.0**-53 * heights[:, -1]
    return np.where(heights[:, -1] > 0, (heights > points[:, None]).argmax(axis=1), -1)


def _convert(agent: str, key: str, text: str, parameter: inspect.Parameter) -> Any:
    try:
        return parse_value(parameter.annotation, text)
    except ValueError as error:
        raise ValueError(f"agent {agent}: parameter {key}: {error}") from None
