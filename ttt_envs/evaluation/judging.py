"""The loss of decisions compared with optimal play, by the game's oracle."""

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.oracle import Oracle
from ttt_envs.evaluation.arena.play import play_games

#: A decision that loses more than this, in reward units, is a mistake.
MISTAKE = 0.05

#: Smaller losses are rounding errors.
ROUNDING = 1e-9


def oracle_of(game: Game) -> Oracle:
    """Return the oracle that measures regret; raise ValueError without an oracle or with hidden information."""
    if game.hidden_information:
        raise ValueError(
            f"regret is undefined for {game} because of hidden information: use `ttt exploitability` or `ttt exploit`"
        )
    try:
        return game.oracle()
    except NotImplementedError as error:
        raise ValueError(f"regret cannot be measured in {game}: {error}") from None


def knows_most(game: Game) -> bool:
    """Return whether the oracle knows more than half of the positions in the first plies of random games.

    False for a game without an oracle or with hidden information.
    """
    try:
        oracle = oracle_of(game)
    except ValueError:
        return False
    games = play_games(game, "random", games=16, record=range(16))
    states = np.concatenate([each.states[:-1][:12] for each in games.records.values()])
    return 2 * int(oracle.covers(states).sum()) > len(states)


def judge(
    game: Game, oracle: Oracle, states: np.ndarray, players: np.ndarray, actions: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the regret of n decisions.

    Args:
        game: the game of the states.
        oracle: the game's oracle.
        states: structured (n,), none of them finished.
        players: int64 (n,), the deciding players.
        actions: int64 (n,), legal actions.

    Returns:
        covered bool (n,); regret float64 (n,), nan if unknown; a best action int64 (n,), -1 if unknown; the oracle's
        action values float64 (n, num_actions), nan if illegal or unknown.
    """
    n = len(states)
    if not n:
        return np.zeros(0, np.bool_), np.zeros(0), np.zeros(0, np.int64), np.zeros((0, game.num_actions))
    masks = game.masks(states, players, check=False)
    covered = np.asarray(oracle.covers(states))
    values = np.where(masks & covered[:, None], oracle.action_values(states, players), np.nan)
    known = np.where(np.isnan(values), -np.inf, values)
    best, top = known.argmax(axis=1), known.max(axis=1)
    # Compare with the position's value, not the best known action: an action of unknown value may be the best.
    partly = np.flatnonzero(covered & (masks & np.isnan(values)).any(axis=1))
    if len(partly):
        value = np.asarray(oracle.value(states[partly], players[partly]))
        best[partly[~(top[partly] >= value - ROUNDING)]] = -1
        top[partly] = np.fmax(top[partly], value)
    best[~covered] = -1
    return covered, top - values[np.arange(n), actions], best, values
