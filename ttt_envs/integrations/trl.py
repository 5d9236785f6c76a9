"""TRL: a game as the environment of `GRPOTrainer`, paid by the regret of each move.

    def make():
        return TRLGame(ttt_envs.make_text("some_game", opponent="greedy"))

    rows = [{"prompt": [{"role": "user", "content": "Play."}], "seed": seed} for seed in range(1000)]
    GRPOTrainer(model, train_dataset=Dataset.from_list(rows), environment_factory=make)

A rollout is a game. The first prompt stands behind the row's last message, and the tool `play` answers with the next
one. All generations of a row play the game of its `seed`. The reward is that of `JudgedGame`: minus the sum of what
the moves lose. `game_results` as a reward function of weight 0 logs the games' results beside it.

Nothing of TRL is imported. Tested with TRL 1.16, which wants Transformers 5.2 or newer for it.
"""

from typing import Any

from ttt_envs.integrations.judged import JudgedGame
from ttt_envs.wrappers.text import TextGame

__all__ = ["TRLGame", "game_results"]


class TRLGame:
    """A game for a model that calls the tool `play`. TRL takes each public method as a tool, so there are no others.

    Attributes:
        judged: the game and its judged moves.
    """

    def __init__(self, env: TextGame, *, simulations: int = 400) -> None:
        """Take a game from `ttt_envs.make_text`, with an opponent.

        Args:
            env: the game.
            simulations: as of `JudgedGame`.

        Raises TypeError or ValueError for a wrong value, and ValueError for a game without an opponent.
        """
        self.judged = JudgedGame(env, simulations=simulations, answers="tool")
        if not env.opponent_names:
            raise ValueError("TRL asks one player: make the game with an opponent")

    def reset(self, **row: Any) -> str:
        """Start the game of the row's `seed`, or the next one; returns the first prompt."""
        return self.judged.reset(row.get("seed"))

    def play(self, action: str) -> str:
        """Play one of your legal actions.

        Args:
            action: The name of a legal action.

        Returns:
            The next position, or how the game has ended.
        """
        if self.judged.env.done:
            raise ValueError("The game is over.")
        asked = self.judged.answer(f"[{action}]")
        return asked or f"The game is over. It has paid you {self.judged.result():g}."

    def get_reward(self) -> float:
        """The reward of the game; one that the model has left loses as by answers that cannot be used."""
        self.judged.give_up()
        return self.judged.reward()


def game_results(environments: list[TRLGame], **_: Any) -> list[float]:
    """The results of the games, as a reward function of TRL; one that the model has left is lost."""
    for each in environments:
        each.judged.give_up()
    return [each.judged.result() for each in environments]
