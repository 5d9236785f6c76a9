"""verifiers: a scripted model behind a server plays games, and the reward is minus what its answers lose, exactly.

    python examples/verifiers_eval.py [games]  # 0.605 (0.565 to 0.645) against random

The server speaks OpenAI's chat completions protocol, as vLLM does. Trainers such as prime-rl take the same environment.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "verifiers==0.3.1"]
# ///

import asyncio
import json
import re
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import verifiers as vf
from datasets import Dataset
from judged import JudgedGame
from openai import AsyncOpenAI

import ttt_envs
from ttt_envs import agents, evaluation


class VerifiersGame(vf.MultiTurnEnv):
    """Games of a model against an agent, one a rollout."""

    def __init__(
        self, make: Callable[[], Any], *, games: int = 1000, seed: int = 0, simulations: int = 400, **settings: Any
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
        self._make = make
        self._simulations = simulations
        asked = self._judged()
        if not asked.env.opponent_names:
            raise ValueError("verifiers asks one player: make the game with an opponent")
        rows = [{"question": asked.reset(seed + k), "info": {"seed": seed + k}} for k in range(games)]
        rubric = vf.Rubric(funcs=[minus_regret, game_result], weights=[1.0, 0.0])
        super().__init__(dataset=Dataset.from_list(rows), rubric=rubric, message_type="chat", **settings)

    def _judged(self) -> JudgedGame:
        return JudgedGame(self._make(), simulations=self._simulations)

    async def setup_state(self, state: vf.State) -> vf.State:
        """Begin the game of the row."""
        game = state["judged_game"] = await asyncio.to_thread(self._judged)
        await asyncio.to_thread(game.reset, state["info"]["seed"])
        state["moved_at"] = []  # the step of the trajectory of each move
        return state

    async def env_response(self, messages: vf.Messages, state: vf.State, **_: Any) -> vf.Messages:
        """Play the model's answer; the next position, or how the game has ended."""
        game: JudgedGame = state["judged_game"]
        said, known = messages[-1], len(game.moves)
        content = said["content"] if isinstance(said, dict) else said.content
        asked = await asyncio.to_thread(game.answer, content if isinstance(content, str) else "")
        state["moved_at"] += [len(state["trajectory"]) - 1] * (len(game.moves) - known)
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
            pay_steps(state["trajectory"], game, state["moved_at"])
        state["judged"] = {"reward": game.reward(), "result": game.result(), "judged_by": game.judged_by()}


def pay_steps(trajectory, game, moved_at):
    """Share the reward of a game out to the steps: what a move loses is paid where it was made, the rest at the end."""
    paid = [0.0] * len(trajectory)
    if trajectory and game.judged_by() == "result":
        paid[-1] = game.result()
    elif trajectory:
        mine = [move for move in game.moves if move.player == game.env.player]
        for k, move in enumerate(mine):
            paid[moved_at[k] if k < len(moved_at) else -1] -= move.regret
    for step, reward in zip(trajectory, paid, strict=True):
        step["reward"] = reward


def _of(state: vf.State, name: str) -> float:
    return float(state.get("judged", {}).get(name, 0.0))


def minus_regret(state: vf.State) -> float:
    """Minus the sum of what the moves lose; the game's result where that is not known."""
    return _of(state, "reward")


def game_result(state: vf.State) -> float:
    """Return the sum of the game's rewards."""
    return _of(state, "result")


class Server(BaseHTTPRequestHandler):
    """The model claims the centre, then corners, then edges."""

    def do_GET(self):
        self.send({"object": "list", "data": []})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = asked["messages"][-1]["content"]
        legal = re.search(r"YOUR LEGAL ACTIONS.*?\n\n(.*?)\n\n", prompt, re.DOTALL)[1].split("\n")
        message = {"role": "assistant", "content": f"I play [{min(legal, key='EACGIBDFH'.index)}]"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        facts = {"id": "1", "object": "chat.completion", "created": 0, "model": asked["model"]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self.send({**facts, "choices": [choice], "usage": usage})

    def send(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def make():
    return ttt_envs.make_text("tic_tac_dice", rounds="single", opponent="random")


if __name__ == "__main__":
    games = int(sys.argv[1]) if sys.argv[1:] else 200
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    client = vf.OpenAIChatCompletionsClient(AsyncOpenAI(base_url=url, api_key="none"))
    found = VerifiersGame(make, games=games).evaluate_sync(client, "scripted", num_examples=games, max_concurrent=16)
    for name, value in found["metadata"]["avg_metrics"].items():
        print(f"{name}: {value:.3f} a game")

    agent = agents.load(f"scripted=llm:model=scripted,url={url}")
    report = evaluation.tournament(make().game, [agent, "random"], games=400 if games > 1 else 20, strict=True)
    print(report.comparison("scripted", "random"))
