"""Runs an agent for `isolated`: `python -m ttt_envs.agents.external.runner`, on the standard input and output.

The messages are those of docs/programs.md but for these: `hello` has the text of an agent and a game as a pickle, which
comes from the process that started this one; a question has `players` and `states`, the bytes of one state each in
base64; an answer has `actions`, and in the place of one that the agent did not give, the reason as a text.
"""

import base64
import json
import os
import pickle
import secrets
import sys
from typing import IO, Any

import numpy as np

from ttt_envs.agents import load
from ttt_envs.agents.base import Agent
from ttt_envs.agents.external.agent import PROTOCOL
from ttt_envs.core.answers import illegal_answers, numbers_of
from ttt_envs.core.game import Game
from ttt_envs.core.illegal import IllegalAction
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.core.view import View
from ttt_envs.storage.outside import brief


def main() -> None:
    """Answer until the input ends."""
    # The agent's own prints go to the standard error, and it has no input.
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    hello = json.loads(questions.readline())
    try:
        game = pickle.loads(base64.b64decode(hello["game"]))
        agent = _loaded(hello["agent"], game)
    except Exception as error:
        _tell(answers, {"type": "refuse", "kind": type(error).__name__, "reason": str(error)})
        return
    _tell(answers, {"type": "ready", "protocol": PROTOCOL})
    for line in questions:
        question = json.loads(line)
        if question["type"] == "question":
            states = np.frombuffer(base64.b64decode(question["states"]), game.state_dtype).copy()
            actions = _actions(agent, _view(game, states, question["players"]))
            _tell(answers, {"type": "answer", "id": question["id"], "actions": actions})
        elif question["type"] == "quit":
            return


def _loaded(spec: str, game: Game) -> Agent:
    """The agent, which plays the game, and has compiled what it needs."""
    agent = load(spec)
    if agent.interactive:
        raise ValueError(f"agent {spec!r} waits for a person, and a process of its own has no terminal")
    agent.check(game)
    state = game.new_state()
    player = max(int(state["to_move"][0]), 0) if state["to_move"][0] != SIMULTANEOUS else 0
    try:
        agent.act(_view(game, state, [player]))
    except Exception as error:  # it will say so again when it counts
        print(f"on trial: {type(error).__name__}: {error}", file=sys.stderr)
    return agent


def _actions(agent: Agent, view: View) -> list[int | str]:
    """A legal action for each position, or the reason why there is none.

    If the agent fails on several positions together, it is asked about each alone.
    """
    try:
        who = f"agent {agent.name!r}"
        actions = numbers_of(who, agent.act(view), view)
        for _, reason in illegal_answers(who, actions, view):
            raise IllegalAction(reason)
        return actions.tolist()
    except Exception as error:
        if len(view) == 1:
            return [brief(f"{type(error).__name__}: {error}", 500)]
    return [each for row in range(len(view)) for each in _actions(agent, view.take(np.array([row])))]


def _view(game: Game, states: np.ndarray, players: list[int]) -> View:
    seeds = np.frombuffer(secrets.token_bytes(8 * len(states)), np.uint64)
    return View.unchecked(game, states, np.array(players), seeds, copy=False)


def _tell(answers: IO[bytes], message: dict[str, Any]) -> None:
    answers.write(json.dumps(message).encode() + b"\n")
    answers.flush()


if __name__ == "__main__":
    main()
