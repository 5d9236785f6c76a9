"""The decisions of recorded games as arrays: what was seen, what was chosen, what came of it, and what was best.

The data sets of `ttt_envs.evaluation.records.dataset` are made of these.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.oracle import Oracle
from ttt_envs.core.view import View
from ttt_envs.evaluation.arena.play import game_seeds
from ttt_envs.evaluation.judging import judge, oracle_of
from ttt_envs.evaluation.records.replaying import ReplayedGame
from ttt_envs.evaluation.thoughts import weigh_all


@dataclass(frozen=True)
class Decisions:
    """The n decisions of some games, game after game, in each game in the order of play.

    Attributes:
        played: int64 (n,), which of the games.
        ply: int64 (n,), plies played before.
        player: int64 (n,), the player who decided.
        observation: int8 (n, observation size), what they saw.
        mask: bool (n, num_actions), their legal actions.
        action: int64 (n,), what they chose.
        result: float32 (n,), their reward at the end of the game.
        last: bool (n,), whether it was their last decision in the game.
        values: float64 (n, num_actions), the values of the actions, nan where illegal or not known.
        estimated: bool (n, num_actions), whether a value is a search's estimate and not the oracle's.
        regret: float64 (n,), nan where it is not known; see `ttt_envs.evaluation.best_play`. The regret of an estimated
            action is that against the search's own choice.
        covered: bool (n,), whether the oracle answers for the position.
    """

    played: np.ndarray
    ply: np.ndarray
    player: np.ndarray
    observation: np.ndarray
    mask: np.ndarray
    action: np.ndarray
    result: np.ndarray
    last: np.ndarray
    values: np.ndarray
    estimated: np.ndarray
    regret: np.ndarray
    covered: np.ndarray

    def __len__(self) -> int:
        return len(self.action)


def decisions_of(games: Sequence[ReplayedGame], oracle: Oracle | None = None, simulations: int = 0) -> Decisions:
    """The decisions of replayed games, at least one and all of one Game.

    Args:
        games: the games.
        oracle: values the actions; without one their values are not known.
        simulations: values that the oracle does not know are estimated by the tree search that plays the game, with so
            many simulations a decision, from what the player knows; 0 leaves them unknown.
    """
    game = games[0].game
    joint = np.concatenate([each.actions for each in games])
    row, player = np.nonzero(joint >= 0)
    lengths = [len(each.actions) for each in games]
    played = np.repeat(np.arange(len(games)), lengths)[row]
    ply = np.concatenate([np.arange(length) for length in lengths])[row]
    states = np.concatenate([each.states[:-1] for each in games])[row]
    action = joint[row, player]
    n = len(action)
    observation, mask = np.empty((n, game.observation_size), np.int8), np.empty((n, game.num_actions), np.bool_)
    game.loops.observe_rows(states, player, observation)
    game.loops.mask_rows(states, player, mask)
    seat = played * game.num_players + player
    last = np.zeros(n, np.bool_)
    last[n - 1 - np.unique(seat[::-1], return_index=True)[1]] = True
    covered, regret, values = np.zeros(n, np.bool_), np.full(n, np.nan), np.full((n, game.num_actions), np.nan)
    if oracle is not None:
        covered, regret, _, values = judge(game, oracle, states, player, action)
    estimated = np.zeros(values.shape, np.bool_)
    if simulations:
        rows = np.flatnonzero((np.isnan(values) & mask).any(axis=1))
        view = View(game, states[rows], player[rows], game_seeds(0, n)[rows])
        for k, weighed in zip(rows, weigh_all(view, simulations), strict=True):
            values[k], estimated[k], regret[k] = weighed.values, weighed.estimated, weighed.lost[action[k]]
    rewards = np.stack([each.states[-1]["rewards"] for each in games])
    return Decisions(
        played=played,
        ply=ply,
        player=player,
        observation=observation,
        mask=mask,
        action=action,
        result=rewards[played, player],
        last=last,
        values=values,
        estimated=estimated,
        regret=regret,
        covered=covered,
    )


def oracle_for(game: Game) -> Oracle | None:
    """The oracle that judges decisions; None where there is none, and in games with hidden information."""
    try:
        return oracle_of(game)
    except ValueError:
        return None


def in_groups(games: Iterable[ReplayedGame], plies: int) -> Iterator[list[ReplayedGame]]:
    """Games in groups of about so many plies, which are not more than fit into memory.

    Raises ValueError, naming the line, where a record is of another game than the first, or of other options.
    """
    waiting: list[ReplayedGame] = []
    first: Game | None = None
    room = plies
    for each in games:
        first = first or each.game
        if each.game != first:
            raise ValueError(
                f"{each.record.place}: a game of {each.game} among those of {first}: a data set is of one game "
                "with one set of options"
            )
        waiting.append(each)
        room -= len(each.actions)
        if room <= 0:
            yield waiting
            waiting, room = [], plies
    if waiting:
        yield waiting
