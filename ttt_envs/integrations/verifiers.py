"""verifiers: a game as a `MultiTurnEnv`, paid by the regret of each move.

    def make():
        return ttt_envs.make_text("some_game", opponent="greedy")

    env = VerifiersGame(make, games=100)
    results = env.evaluate_sync(client, "some-model", num_examples=20)

A row of the data set is a game, named by its seed. The model is a user's conversation partner: the first message is the
prompt with the rules, each further one the next position. The reward is that of `JudgedGame`: minus the sum of what
the moves lose; each step of the trajectory has its own. Metrics are the game's result, the moves, and the share of
moves that the oracle has judged.

Needs `verifiers` from 0.2 on and below 0.4, which has no `MultiTurnEnv` any more.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import verifiers as vf
from datasets import Dataset

from ttt_envs.core.options import within
from ttt_envs.integrations.judged import JudgedGame
from ttt_envs.wrappers.text import TextGame

__all__ = ["VerifiersGame"]


class VerifiersGame(vf.MultiTurnEnv):
    """Games of a model against an agent, one a rollout."""

    def __init__(
        self, make: Callable[[], TextGame], *, games: int = 1000, seed: int = 0, simulations: int = 400, **settings: Any
    ) -> None:
        """Make the data set.

        Args:
            make: makes a game by `ttt_envs.make_text`, with an opponent; called for each rollout.
            games: rows of the data set, 1 to 10^6.
            seed: of the first game; those after it count on.
            simulations: as of `JudgedGame`.
            settings: of `vf.MultiTurnEnv`, such as `system_prompt` and `max_turns`.

        Raises TypeError or ValueError for a wrong value, and ValueError for a game without an opponent.
        """
        within(1, 10**6, games=games)
        self._make = make
        self._simulations = simulations
        asked = self._judged()
        if not asked.env.opponent_names:
            raise ValueError("verifiers asks one player: make the game with an opponent")
        rows = [{"question": asked.reset(seed + k), "info": {"seed": seed + k}} for k in range(games)]
        rubric = vf.Rubric(funcs=[minus_regret, game_result, moves, exact_share], weights=[1.0, 0.0, 0.0, 0.0])
        super().__init__(dataset=Dataset.from_list(rows), rubric=rubric, message_type="chat", **settings)

    def _judged(self) -> JudgedGame:
        return JudgedGame(self._make(), simulations=self._simulations)

    async def setup_state(self, state: vf.State) -> vf.State:
        """Begin the game of the row."""
        game = state["judged_game"] = await asyncio.to_thread(self._judged)
        await asyncio.to_thread(game.reset, state["info"]["seed"])
        return state

    async def env_response(self, messages: vf.Messages, state: vf.State, **_: Any) -> vf.Messages:
        """Play the model's answer; the next position, or how the game has ended."""
        game: JudgedGame = state["judged_game"]
        said, known = messages[-1], len(game.moves)
        content = said["content"] if isinstance(said, dict) else said.content
        asked = await asyncio.to_thread(game.answer, content if isinstance(content, str) else "")
        if len(game.moves) > known:
            state["trajectory"][-1]["reward"] = -(game.moves[-1].regret or 0.0)
        if not game.env.done:
            return [vf.UserMessage(content=asked)]
        over = [vf.UserMessage(content=f"The game is over. It has paid you {game.result():g}.")]
        state["final_env_response"] = over
        return over

    @vf.cleanup
    async def score_game(self, state: vf.State) -> None:
        """Keep what rewards are made of, in the place of the game; one that the model has left is lost.

        Where the server has failed, the game stays as it is: verifiers tells such rollouts by their error.
        """
        game: JudgedGame | None = state.pop("judged_game", None)
        if game is None:
            return
        if state.get("error") is None:
            await asyncio.to_thread(game.give_up)
        exact = [move.exact for move in game.moves]
        state["judged"] = {
            "reward": game.reward(),
            "result": game.result(),
            "judged_by": game.judged_by(),
            "moves": len(exact),
            "exact": sum(exact) / len(exact) if exact else 1.0,
        }


def _of(state: vf.State, name: str) -> float:
    return float(state.get("judged", {}).get(name, 0.0))


def minus_regret(state: vf.State) -> float:
    """Minus the sum of what the moves lose; the game's result where that is not known."""
    return _of(state, "reward")


def game_result(state: vf.State) -> float:
    """The sum of the game's rewards."""
    return _of(state, "result")


def moves(state: vf.State) -> float:
    """Decisions of the model."""
    return _of(state, "moves")


def exact_share(state: vf.State) -> float:
    """The share of them that the oracle has judged."""
    return _of(state, "exact")
