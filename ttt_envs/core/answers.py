"""Checks of agents' answers, in one place: every error names the agent."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ttt_envs.core.illegal import IllegalAction, check_actions, explain
from ttt_envs.core.view import Actor, View


def name_of(agent: Actor) -> str:
    """An agent's name for messages; that of its class if it has none."""
    return str(getattr(agent, "name", type(agent).__name__))


def as_actor(given: Any, role: str = "an agent") -> Actor:
    """An object with `act(view)`; TypeError, which says `role`, for anything else, such as the text of an agent."""
    if isinstance(given, str):
        raise TypeError(f"{role} is an object here, not text: use agents.load({given!r})")
    if isinstance(given, type) or not callable(getattr(given, "act", None)):
        raise TypeError(f"{role} needs a method act(view), as the agents of agents.load have, not {given!r}")
    actor: Actor = given
    return actor


def numbers_of(who: str, answer: Any, view: View) -> np.ndarray:
    """An answer as int64 (n,), numbers of actions or -1, legal or not.

    Raises TypeError or ValueError, naming `who`, for anything else.
    """
    try:
        return check_actions(answer, (len(view),), view.game.num_actions)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{who}: {error}") from None


def illegal_answers(who: str, actions: np.ndarray, view: View) -> Iterator[tuple[int, str]]:
    """The positions of `view` in which actions as from `numbers_of` are not legal, and why not."""
    masks = view.masks
    # Action -1 would read the last column of the mask.
    for k in ((actions < 0) | ~masks[np.arange(len(view)), actions]).nonzero()[0].tolist():
        player = f"{who} as player {view.players[k]}"
        if actions[k] < 0:
            yield k, f"{player} gave no action (-1) where it has to choose"
        else:
            yield k, explain(view.game, player, int(actions[k]), masks[k])


def legal_actions(agent: Actor, view: View, role: str = "agent") -> np.ndarray:
    """An agent's checked actions in positions in which it has to choose: int64 (n,), all legal.

    Raises what the agent raises; and, naming it, TypeError or ValueError for what are no actions, and IllegalAction,
    a ValueError, with the position, for one that is not legal.
    """
    answer = agent.act(view)
    if type(answer) is np.ndarray and answer.shape == (1,) and answer.dtype.kind == "i":
        # One game alone, where a check of arrays takes longer than the game.
        action = int(answer[0])
        if 0 <= action < view.game.num_actions and view.masks[0, action]:
            return answer
    who = f"{role} {name_of(agent)!r}"
    actions = numbers_of(who, answer, view)
    if actions.min() < 0 or not view.masks[np.arange(len(view)), actions].all():
        k, reason = next(illegal_answers(who, actions, view))
        raise IllegalAction(f"{reason}; the position:\n{view.text(k)}")
    return actions
