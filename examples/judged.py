"""A game by prompts and answers in which each move of a model is judged: what frameworks of language models share.

::

    game = JudgedGame(ttt_envs.make_text("some_game", opponent="greedy"))
    prompt = game.reset(seed=0)
    while not game.env.done:
        prompt = game.answer(model(prompt))
    print(game.reward(), game.result(), game.judged_by())

The reward is minus the sum of what a player's moves lose against optimal play, so that a good move in a lost game costs
nothing, and a bad one in a won game does. It is exact where the game's oracle knows the position and the move.
Elsewhere the tree search that plays the game estimates it, see `ttt_envs.evaluation.analysis`, or, with
`simulations=0`, the game's result is the reward. `judged_by` says which of these it was.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache

import numpy as np

from ttt_envs.agents import Agent, load
from ttt_envs.core.options import MOST, choice, within
from ttt_envs.core.prompts import ANSWERS, again, prompt
from ttt_envs.core.view import View
from ttt_envs.evaluation.analysis import ORACLE, BestPlay, NoAnswer, review
from ttt_envs.wrappers.text import TextGame

__all__ = ["JudgedGame", "Move"]

#: The sources of a player's reward: exact regrets only, or some estimates, or the game's result.
JUDGES = ("oracle", "estimate", "result")


@dataclass(frozen=True)
class Move:
    """A decision that a player was asked for.

    Attributes:
        player: who decided.
        action: the action's name; None where no answer named a legal one.
        regret: what it loses against optimal play, in units of reward; None if nobody knows.
        exact: whether the regret is the oracle's, and not a search's estimate.
    """

    player: int
    action: str | None
    regret: float | None
    exact: bool


def _kept(spec: str) -> AbstractContextManager[Agent]:
    return nullcontext(load(spec))


def _refused(spec: str) -> AbstractContextManager[Agent]:
    raise NoAnswer(f"{spec} is not asked")


def _silent(view: View) -> BestPlay:
    raise NoAnswer("The oracle is not asked.")


class JudgedGame:
    """One game by prompts and answers, whose moves are judged.

    Attributes:
        env: the game as text.
        moves: the decisions of the game so far.
    """

    def __init__(self, env: TextGame, *, simulations: int = 400, answers: str = "text") -> None:
        """Call `reset` first.

        Args:
            env: from `ttt_envs.make_text`.
            simulations: of the search that estimates what the oracle does not know; 0: the result is the reward there.
            answers: the form of answers that prompts ask for: "text", "json" or "tool".

        Raises TypeError or ValueError for a wrong value.
        """
        if not isinstance(env, TextGame):
            raise TypeError(f"env must be a game from ttt_envs.make_text, not {type(env).__name__}")
        within(0, MOST, simulations=simulations)
        self.env, self._simulations = env, simulations
        self._answers = choice("answers", answers, ANSWERS)
        self.moves: list[Move] = []
        self._take = cache(_kept) if simulations else _refused  # a search is made once

    def reset(self, seed: int | None = None) -> str:
        """Start a game, see `TextGame.reset`; returns the first prompt.

        It has the rules, unless the game was made with `rules=False`.
        """
        self.env.reset(seed=seed)
        self.moves = []
        return self._prompt(rules=self.env.rules)

    def answer(self, text: str) -> str:
        """Take an answer; returns the next prompt, without the rules, "" after the end.

        Raises RuntimeError after the end.
        """
        view = self.env.view()
        *_, info = self.env.step(text)
        failed = info["illegal"] is not None
        if not failed or info["lost"] or info["action"] is not None:
            self.moves.append(self._judged(view, info["player"], None if failed else info["action"]))
        return again(self._prompt(rules=False), info["illegal"] or "") if not self.env.done else ""

    def give_up(self) -> None:
        """Answer nothing more: where that loses, the game is lost."""
        while not self.env.done:
            self.answer("")

    def reward(self, player: int | None = None) -> float:
        """Minus the sum of the regrets of a player, by default the one who is asked; or their result, see above."""
        player = self.env.player if player is None else player
        if self.judged_by(player) == "result":
            return self.result(player)
        return 0.0 - sum(move.regret or 0.0 for move in self._of(player))

    def result(self, player: int | None = None) -> float:
        """Return the sum of the player's rewards so far."""
        return self.env.rewards[self.env.player if player is None else player]

    def judged_by(self, player: int | None = None) -> str:
        """Return the source of the player's reward: "oracle" (exact regrets), "estimate" (some by search), "result"."""
        moves = self._of(self.env.player if player is None else player)
        return JUDGES[max((2 if move.regret is None else int(not move.exact) for move in moves), default=0)]

    def _of(self, player: int) -> list[Move]:
        return [move for move in self.moves if move.player == player]

    def _prompt(self, *, rules: bool) -> str:
        return "" if self.env.done else prompt(self.env.view(), rules=rules, answer=self._answers)

    def _judged(self, view: View, player: int, name: str | None) -> Move:
        """`name` None: no answer could be used, which loses what a lost game does."""
        game, legal = self.env.game, np.flatnonzero(view.masks[0])
        if name is not None and len(legal) == 1:
            return Move(player, name, 0.0, True)
        action = int(legal[0]) if name is None else game.action_names.index(name)
        try:
            (found,) = review([(0, view, action)], take=self._take, simulations=self._simulations)
            if found.regret is None and found.source == ORACLE:  # it knows the position, and not the action
                (found,) = review([(0, view, action)], take=self._take, oracle=_silent, simulations=self._simulations)
        except NoAnswer:
            return Move(player, name, None, False)
        regret = found.regret
        if name is None:
            team = next(team for team in game.teams if player in team)
            regret = None if found.value is None else found.value + 1 / len(team)
        return Move(player, name, regret, found.source == ORACLE)
