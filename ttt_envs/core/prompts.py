"""Prompts for players who read and write text, and the parser of their answers.

A prompt contains only the player's view: positions that a player cannot distinguish have the same prompt. An answer
must have one of three forms, so that no action is guessed from prose; see `read_answer`.
"""

import json
import re
import unicodedata

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.presentation import closest
from ttt_envs.core.view import View
from ttt_envs.storage.untrusted import brief

#: What happens if a player's answers name no legal action: the player loses, or a legal action is drawn.
ILLEGAL_ANSWERS = ("lose", "random")

# Form of an answer -> the last sentence of a prompt.
_WANTED = {
    "text": "End your answer with a line that holds nothing but its name in square brackets, as in:\n[{example}]",
    "json": 'Answer with a JSON object and nothing else, as in:\n{{"action": "{example}"}}',
    "tool": "Call the tool `play` with its name, such as {example}.",
}

#: The forms of answers.
ANSWERS = tuple(_WANTED)

# Only this many characters at the end of an answer are read.
_READ = 1 << 16

_JSON = json.JSONDecoder()

# The most legal actions that an error message lists.
_LISTED = 100


def prompt(view: View, i: int = 0, *, rules: bool = True, legal: bool = True, answer: str = "text") -> str:
    """Return the prompt for the player in position `i`: rules, the player's role and view, legal actions.

    Args:
        view: the players' views.
        i: the position.
        rules: False leaves out the rules, for a model that knows them.
        legal: False leaves out the list of legal actions.
        answer: the requested form of the answer, one of `ANSWERS`.
    """
    game, player = view.game, int(view.players[i])
    names = legal_names(game, view.masks[i])
    # If the prompt does not list the legal actions, the example must not reveal one.
    example = names[0] if names and legal else game.action_names[0]
    parts = [f"You are playing {game.title}."]
    if rules and game.rules_text:
        parts.append(f"RULES\n\n{game.rules_text}")
    parts += [
        f"YOUR SIDE\n\n{side_of(game, player)}",
        f"POSITION, as you see it\n\n{view.text(i)}",
    ]
    if legal:
        parts.append(f"YOUR LEGAL ACTIONS ({len(names)}), one per line\n\n" + "\n".join(names))
    parts.append(f"Choose one of your legal actions. {_WANTED[answer].format(example=example)}")
    return "\n\n".join(parts) + "\n"


def again(asked: str, reason: str) -> str:
    """Return the prompt again, with the reason why the answer was rejected, if there is one."""
    return f"{asked}\nYOUR LAST ANSWER could not be used. {reason}\n" if reason else asked


def side_of(game: Game, player: int) -> str:
    """Return sentences that name the player, their partners and their opponents."""
    names = game.player_names
    team = next(team for team in game.teams if player in team)
    mates = [names[each] for each in team if each != player]
    others = [name for each, name in enumerate(names) if each not in team]
    told = f"You are {names[player]}."
    if mates:
        told += f" On your side: {', '.join(mates)}."
    return f"{told} Against you: {', '.join(others)}." if others else told


def legal_names(game: Game, mask: np.ndarray) -> list[str]:
    """Return the names of the legal actions, in the order of their numbers; mask bool (num_actions,)."""
    return [game.action_names[action] for action in np.flatnonzero(mask).tolist()]


def read_answer(game: Game, mask: np.ndarray, text: str) -> int:
    """Return the legal action named in an answer.

    Three forms are accepted: the last JSON object with a key "action"; the last line with square brackets around one
    action; or a last line that consists of an action's name. If one of the other forms follows the object, it must name
    the same action. Case and spaces may differ from the action's name.

    Args:
        game: the game.
        mask: bool (num_actions,), the legal actions.
        text: the answer.

    Raises:
        ValueError: the answer names no legal action or several actions; the message tells the player what to do.
    """
    wanted = "Answer with the name of one legal action in square brackets, alone on the last line."
    named, rest = _in_object(unicodedata.normalize("NFKC", text[-_READ:]))
    lines = [line for line in rest.splitlines() if any(map(str.isalnum, line))]
    if lines and _action(game, lines[-1]) is not None:
        named.append(lines[-1])
    else:
        named += next(filter(None, (re.findall(r"\[([^\[\]]*)\]", line) for line in reversed(lines))), [])
    if not named and not lines:
        raise ValueError(f"The answer is empty. {wanted}")
    said = " and ".join(repr(brief(each, 80)) for each in dict.fromkeys(named or lines[-1:]))
    actions = {_action(game, each) for each in named}
    if len(actions) > 1:
        raise ValueError(f"The answer names more than one action: {said}. {wanted}")
    action = next(iter(actions), None)
    if action is None:
        raise ValueError(f"The answer ends with {said}, which is no action.{_hint(game, mask, said)} {wanted}")
    if not mask[action]:
        raise ValueError(f"{game.action_names[action]} is not legal now.{_hint(game, mask, said)} {wanted}")
    return action


def _in_object(text: str) -> tuple[list[str], str]:
    """Return the action of the last JSON object with a key "action", a list of one or none; and the text after it."""
    named, end = list[str](), 0
    for start in (each.start() for each in re.finditer("{", text)):
        if start >= end:
            try:
                found, after = _JSON.raw_decode(text, start)
            except (ValueError, RecursionError):
                continue
            if "action" in found:
                named, end = [str(found["action"])], after
    return named, text[end:]


def _action(game: Game, text: str) -> int | None:
    """Return the action with this name, short name or spoken name, ignoring case and spaces; else None."""
    text = text.strip(" \t.`*\"'")
    try:
        action = game.parse_action(text[:100])
    except ValueError:
        return None
    faces = game.faces
    own = [each[action] for each in (game.action_names, faces.short_action_names, faces.spoken_action_names) if each]
    return action if _plain(text) in map(_plain, own) else None


def _plain(name: str) -> str:
    return "".join(name.lower().split())


def _hint(game: Game, mask: np.ndarray, said: str) -> str:
    """Return the legal actions if they are few; otherwise those similar to the answer."""
    legal = legal_names(game, mask)
    if len(legal) <= _LISTED:
        return f" Legal actions: {', '.join(legal)}."
    close = closest(said, legal)
    return f" Close to it: {', '.join(close)}." if close else ""
