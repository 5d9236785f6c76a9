"""Full-width lookahead: play every legal action, then evaluate the successor from the view of its player to move."""

from collections.abc import Callable

import numpy as np

from ttt_envs.agents.networks import for_all_players
from ttt_envs.core.chance import chance_of
from ttt_envs.core.game import Game
from ttt_envs.core.rng import Stream, stream_seeds

#: A value function. Arguments: observations int8 (n, size), masks bool (n, num_actions), players to move int64 (n,).
#: The result is each player's expected reward, float (n, num_players).
Worth = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def check_full_width(game: Game, name: str) -> None:
    """Raise ValueError unless one player moves at a time."""
    if game.simultaneous:
        raise ValueError(f"{name} needs a game in which one player moves at a time; {game} does not fit")


def action_values(
    game: Game,
    states: np.ndarray,
    masks: np.ndarray,
    seeds: np.ndarray,
    worth: Worth,
    *,
    outcomes: int = 1,
    depth: int = 1,
) -> np.ndarray:
    """Return the value of every legal action to the player to move, in one sampled world.

    Args:
        game: a game that passes `check_full_width`.
        states: structured (n,), none finished. They are not changed.
        masks: bool (n, num_actions), the legal actions of the players to move.
        seeds: uint64 (n,), seeds that redraw chance and hidden information. All actions of a position share a seed, so
            that they are compared in the same world.
        worth: the value function for the successors.
        outcomes: enumerate the first random draws of each action, as long as they have at most this many outcomes
            together, see `core.chance.Chance.stratified`; 1 enumerates none.
        depth: plies to look ahead. Above 1, which requires a game of two sides, a successor's value is that of the next
            player's best action, found by this function with `depth` - 1.

    Returns:
        float64 (n, num_actions): the reward if the action ends the game, otherwise the successor's value to the player,
        averaged over the outcomes; NaN for illegal actions.
    """
    parents, actions = np.nonzero(masks)
    children = states[parents]
    movers = children["to_move"].astype(np.int64)
    if game.stochastic or game.hidden_information:
        game.loops.resample_rows(children, movers, seeds[parents])
    owners, chances = np.arange(len(children)), np.ones(len(children))
    if outcomes > 1 and len(children):
        joint = np.zeros((len(children), game.num_players), np.int64)
        joint[owners, movers] = actions
        owners, chances, children = chance_of(game).stratified(children, joint, outcomes)
        movers = movers[owners]
    else:
        game.loops.step_rows(children, owners, actions[:, None])
    results = children["rewards"][np.arange(len(children)), movers].astype(np.float64)
    going = np.flatnonzero(~children["done"])
    if len(going):
        children = children[going]
        answering = children["to_move"].astype(np.int64)
        observations = np.empty((len(going), game.observation_size), np.int8)
        answers = np.empty((len(going), game.num_actions), np.bool_)
        game.loops.observe_rows(children, answering, observations)
        game.loops.mask_rows(children, answering, answers)
        if depth > 1:
            below = stream_seeds(seeds[parents[owners[going]]], Stream.FUTURE, depth)
            deeper = action_values(game, children, answers, below, worth, outcomes=outcomes, depth=depth - 1)
            expected = for_all_players(game, np.nanmax(deeper, axis=1, keepdims=True), answering)
        elif outcomes > 1:
            # Evaluate equal successors once: different draws may lead to the same position.
            rows = np.concatenate([answering[:, None].astype(np.int8), observations], axis=1)
            _, once, which = np.unique(rows.view(f"V{rows.shape[1]}").ravel(), return_index=True, return_inverse=True)
            expected = worth(observations[once], answers[once], answering[once])[which]
        else:
            expected = worth(observations, answers, answering)
        results[going] = expected[np.arange(len(going)), movers[going]]
    values = np.full(masks.shape, np.nan)
    values[parents, actions] = np.bincount(owners, chances * results, minlength=len(parents))
    return values
