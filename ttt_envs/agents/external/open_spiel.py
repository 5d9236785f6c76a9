"""OpenSpiel's C++ search as an agent, for games that OpenSpiel also has. The agent needs the extra `crosscheck`."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ttt_envs.agents.base import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.options import within
from ttt_envs.core.rng import Stream, stream_seeds
from ttt_envs.core.view import View
from ttt_envs.storage.extras import require

#: The most simulations for a decision; their tree takes gigabytes.
MOST_SIMULATIONS = 10**8

# The most memory for a tree, in MiB: enough for all useful numbers of simulations.
_MEMORY = 4096


class OpenSpiel(Agent):
    """Plays the MCTSBot of OpenSpiel, in C++, in games that OpenSpiel has with the same rules.

    OpenSpiel represents a position by the moves before it, so the agent follows each game from its start. Early in a
    game, the agent can also find moves that lead to the position. If a move consists of several actions in OpenSpiel,
    the agent searches for each action.
    """

    name = "open_spiel"
    plays: ClassVar[Mapping[str, bool]] = {"simultaneous": False, "hidden_information": False}
    reaches = {}

    def __init__(self, mcts: int = 1000, uct_c: float = 2.0, rollouts: int = 1, solve: bool = True) -> None:
        """Set up the bot's search.

        Args:
            mcts: simulations for each decision.
            uct_c: UCT's exploration constant for values from -1 to 1; half of it corresponds to `exploration` of mcts.
            rollouts: random playouts that value a position.
            solve: whether proven results are backed up in the tree.
        """
        within(1, MOST_SIMULATIONS, mcts=mcts)
        within(0.0, 1e6, uct_c=uct_c)
        within(1, 1_000_000, rollouts=rollouts)
        self.mcts, self.uct_c, self.rollouts, self.solve = mcts, uct_c, rollouts, solve
        self._histories: dict[int, list[int]] = {}

    def check(self, game: Game) -> None:
        """Raise ValueError if OpenSpiel lacks the game with these options; ImportError if it is not installed."""
        super().check(game)
        if game.extras.counterpart is None:
            raise ValueError(
                f"agent {self.name} plays only games that OpenSpiel has, with the same rules; it has none like {game}"
            )
        require("crosscheck", "pyspiel")

    def act(self, view: View) -> np.ndarray:
        """Return int64 (n,); -1 if the player has no legal action. All random numbers come from the view's seeds.

        Raises the errors of `check`, and ValueError if no order of moves is found for a position.
        """
        self.check(view.game)
        out, worlds = np.full(len(view), -1), view.sample_worlds()
        seeds = stream_seeds(view.seeds, Stream.SEARCH) & np.uint64(0x7FFFFFFF)
        for i in np.flatnonzero(view.masks.any(axis=1)):
            episode = None if view.episodes is None else int(view.episodes[i])
            out[i] = self._choose(view.game, worlds[i : i + 1], int(seeds[i]), episode)
        return out

    def episodes_over(self, episodes: np.ndarray, rewards: np.ndarray) -> None:
        """Forget these games; `episodes` is int64 (k,), `rewards` float32 (k,)."""
        for episode in episodes.tolist():
            self._histories.pop(episode, None)

    def _choose(self, game: Game, states: np.ndarray, seed: int, episode: int | None) -> int:
        import pyspiel

        other = game.extras.counterpart
        assert other is not None
        known = [] if episode is None else self._histories.get(episode, [])
        history = other.history(states, known)
        if episode is not None:
            self._histories[episode] = history
        theirs = pyspiel.load_game(other.name)
        position = theirs.new_initial_state()
        for action in history:
            position.apply_action(action)
        evaluator = pyspiel.RandomRolloutEvaluator(self.rollouts, seed)
        bot = pyspiel.MCTSBot(theirs, evaluator, self.uct_c, self.mcts, _MEMORY, self.solve, seed, False)
        chosen: list[int] = []
        player = position.current_player()
        while position.current_player() == player:
            chosen.append(bot.step(position))
            position.apply_action(chosen[-1])
        return other.action(states, chosen)
