"""JAX: the rules and the environments inside compiled functions, and compiled functions as agents.

The rules run on the host. `rules_of` is for searches, such as mctx: a pure function of states that travel as bytes, so
that JAX may repeat or drop a call. `step_of` is for learners that keep to one stream of games: its calls are ordered,
and none is repeated or dropped.

Needs `jax`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

from ttt_envs import Game, View
from ttt_envs.agents import Agent

__all__ = ["CompiledAgent", "Positions", "rules_of", "step_of"]


class Positions(NamedTuple):
    """n positions after a step, as arrays of JAX.

    Attributes:
        states: uint8 (n, bytes of a state), as `Game.to_bytes` gives them.
        observations: int8 (n, observation size), those of the player to move.
        masks: bool (n, num_actions), those of the player to move; all False after the end.
        rewards: float32 (n, players), what the step has paid; 0 where the game was over before.
        movers: int32 (n,), the players who moved.
        done: bool (n,).
    """

    states: Any
    observations: Any
    masks: Any
    rewards: Any
    movers: Any
    done: Any


def rules_of(game: Game) -> Callable[[Any, Any], Positions]:
    """Return the rules as a pure function for compiled code: states uint8 (n, bytes), actions int (n,) -> Positions.

    A finished game stays as it is. A state carries its random generator: a search foresees the dice of the states that
    it is given, and those of a View's `sample_worlds` are not the game's own.

    Raises ValueError for a game in which players choose at once; an action that is not legal ends the compiled function
    with an error that names it.
    """
    if game.simultaneous:
        raise ValueError(f"rules_of takes games in which one player acts at a time, and {game} is none")

    def on_host(carried: Any, actions: Any) -> Positions:
        states = game.from_bytes(np.asarray(carried))
        after = game.step(states, np.asarray(actions))
        paid, movers = after["rewards"] - states["rewards"], states["to_move"].astype(np.int32)
        seen, masks = game.observations(after), game.masks(after)
        return Positions(game.to_bytes(after), seen, masks, paid, movers, after["done"])

    def step(states: Any, actions: Any) -> Positions:
        n = len(actions)
        shapes = Positions(
            jax.ShapeDtypeStruct((n, game.state_dtype.itemsize), jnp.uint8),
            jax.ShapeDtypeStruct((n, game.observation_size), jnp.int8),
            jax.ShapeDtypeStruct((n, game.num_actions), jnp.bool_),
            jax.ShapeDtypeStruct((n, game.num_players), jnp.float32),
            jax.ShapeDtypeStruct((n,), jnp.int32),
            jax.ShapeDtypeStruct((n,), jnp.bool_),
        )
        results: Positions = jax.pure_callback(on_host, shapes, states, actions, vmap_method="sequential")
        return results

    return step


def step_of(envs: Any) -> Callable[[Any], tuple[Any, Any, Any, Any]]:
    """Return the step of environments from `make_vec` for compiled code.

    The function takes actions int (n,) and gives observations (n, ...) of the environments' dtype, masks int8
    (n, num_actions), rewards float32 (n,) and ends bool (n,), of games that are over or cut off.
    """
    n, actions = envs.num_envs, envs.game.num_actions
    space: Any = envs.single_observation_space
    seen_space = space["observation"] if hasattr(space, "spaces") else space
    shapes = (
        jax.ShapeDtypeStruct((n, *seen_space.shape), seen_space.dtype),
        jax.ShapeDtypeStruct((n, actions), jnp.int8),
        jax.ShapeDtypeStruct((n,), jnp.float32),
        jax.ShapeDtypeStruct((n,), jnp.bool_),
    )

    def on_host(actions: Any) -> tuple[Any, Any, Any, Any]:
        seen, rewards, over, cut_off, infos = envs.step(np.asarray(actions))
        seen = seen["observation"] if isinstance(seen, dict) else seen
        return seen, infos["action_mask"], rewards, over | cut_off

    def step(actions: Any) -> tuple[Any, Any, Any, Any]:
        results: tuple[Any, Any, Any, Any] = io_callback(on_host, shapes, actions, ordered=True)
        return results

    return step


class CompiledAgent(Agent):
    """Plays by a compiled function of many positions, always as many at once, so that it is compiled once."""

    def __init__(self, choose: Callable[[Any, Any, Any], Any], size: int = 128, name: str = "jax") -> None:
        """An agent that asks `choose(observations, masks, states) -> actions`.

        Args:
            choose: gets observations int8 (size, observation size), masks bool (size, num_actions) and states uint8
                (size, bytes), in which all that the player cannot know is drawn anew; gives int (size,), legal actions.
            size: positions at once; where there are fewer, some come several times.
            name: for reports.
        """
        self.choose, self.size, self.name = choose, size, name

    def act(self, view: View) -> np.ndarray:
        """Return int64 (n,); -1 where the player has no legal action."""
        out = np.full(len(view), -1)
        rows = np.flatnonzero(view.masks.any(axis=1))
        for start in range(0, len(rows), self.size):
            some = rows[start : start + self.size]
            part = view.take(np.resize(some, self.size))
            carried = part.game.to_bytes(part.sample_worlds())
            out[some] = np.asarray(self.choose(part.observations, part.masks, carried))[: len(some)]
        return out
