"""Prompts for players who read and write text, and the actions that their answers mean.

The prompt is made of the player's view alone: positions that a player cannot tell apart give the same prompt. The
parser bears what language models write around an action, and never chooses between two legal ones.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ttt_envs.core.game import Game, closest
from ttt_envs.core.view import View
from ttt_envs.storage.outside import brief

#: The consequence where a player's answers name no legal action: they lose, or a legal action is drawn.
ILLEGAL_ANSWERS = ("lose", "random")

# Forms of an answer: what the last sentence of a prompt asks for.
_WANTED = {
    "text": "End your answer with a line that holds nothing but its name in square brackets, as in:\n[{example}]",
    "json": 'Answer with a JSON object and nothing else, as in:\n{{"action": "{example}"}}',
    "tool": "Call the tool `play` with its name, such as {example}.",
}

#: The forms of an answer.
ANSWERS = tuple(_WANTED)

# Words between the parts of an action's name that say nothing, beside the game's own: "C on cell E" is "C to E".
_FILLERS = ("to", "and", "on", "onto", "in", "into", "at", "the", "cell")

# The "I" of "I play C" is no cell, nor is the "a" of "a card". What is done in one game alone it says in `Faces.verbs`.
_VERBS = (
    *("am", "believe", "can", "cannot", "choose", "could", "decide", "do", "expect", "go", "guess", "have", "know"),
    *("move", "must", "need", "pick", "place", "play", "prefer", "put", "see", "select", "should", "take", "think"),
    *("want", "will", "would"),
)

_WORD = re.compile(r"[^\W_]+")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")

# Signs that join names: where they stand beside a name, it may be a part of something else.
_JOINS = "/+=-"

# Legal actions that a refusal lists, and characters of an answer that are read.
_LISTED, _LONGEST = 100, 2000


def prompt(view: View, i: int = 0, *, rules: bool = True, legal: bool = True, answer: str = "text") -> str:
    """The question that a player is asked in position `i`: the rules, who they are, what they see, the legal actions.

    Args:
        view: what the player may know.
        i: the position.
        rules: False leaves out the rules, for a model that has been told them.
        legal: False leaves out the list of legal actions.
        answer: the form of the answer that is asked for, one of `ANSWERS`.
    """
    game, player = view.game, int(view.players[i])
    names = legal_names(game, view.masks[i])
    # Without the list the example gives no legal action away.
    example = names[0] if names and legal else game.action_names[0]
    parts = [f"You are playing {game.title}."]
    if rules and game.rules_text:
        parts.append(f"RULES\n\n{game.rules_text}")
    parts += [
        f"YOUR SIDE\n\n{side_of(game, player)}",
        f"POSITION, as you see it\n\n{view.text(i)}",
    ]
    if legal:
        parts.append(f"YOUR LEGAL ACTIONS ({len(names)}), one a line\n\n" + "\n".join(names))
    parts.append(f"Choose one of your legal actions. {_WANTED[answer].format(example=example)}")
    return "\n\n".join(parts) + "\n"


def again(asked: str, reason: str) -> str:
    """The question once more, with the reason why the answer could not be used; no reason: the question as it is."""
    return f"{asked}\nYOUR LAST ANSWER could not be used. {reason}\n" if reason else asked


def side_of(game: Game, player: int) -> str:
    """Sentences on who the player is, who plays with them and who against them."""
    names = game.player_names
    team = next(team for team in game.teams if player in team)
    mates = [names[each] for each in team if each != player]
    others = [name for each, name in enumerate(names) if each not in team]
    told = f"You are {names[player]}."
    if mates:
        told += f" On your side: {', '.join(mates)}."
    return f"{told} Against you: {', '.join(others)}." if others else told


def legal_names(game: Game, mask: np.ndarray) -> list[str]:
    """The names of the legal actions, in the order of their numbers; mask bool (num_actions,)."""
    return [game.action_names[action] for action in np.flatnonzero(mask).tolist()]


def read_answer(game: Game, mask: np.ndarray, text: str) -> int:
    """The legal action that an answer means.

    The last line counts that holds a letter or a digit, and in it what stands in square brackets, if that names an
    action. Case, signs and words such as "to" may differ from the action's name, and other words may stand around it.
    Names as they are written go before names with other signs between their parts.

    Args:
        game: the game.
        mask: bool (num_actions,), the legal actions.
        text: the answer.

    Raises:
        ValueError: the line names no legal action, or several; the message tells a player what to do.
    """
    lines = [line for line in unicodedata.normalize("NFKC", text).splitlines() if _WORD.search(line)]
    line = lines[-1][-_LONGEST:] if lines else ""
    wanted = "Answer with the name of one legal action in square brackets, alone on the last line."
    if not line:
        raise ValueError(f"The answer is empty. {wanted}")
    found = _named(game, line)
    legal = [action for action in found if mask[action]]
    if len(legal) == 1:
        return legal[0]
    if legal:
        several = " and ".join(game.action_names[action] for action in legal[:4])
        raise ValueError(f"The last line names {len(legal)} legal actions: {several}. {wanted}")
    if found:
        names = " and ".join(game.action_names[action] for action in found[:4])
        raise ValueError(
            f"{names} {'is' if len(found) == 1 else 'are'} not legal now.{_hint(game, mask, line)} {wanted}"
        )
    raise ValueError(f"The last line, {brief(line, 80)!r}, names no action.{_hint(game, mask, line)} {wanted}")


def _hint(game: Game, mask: np.ndarray, line: str) -> str:
    """The legal actions, if they are few; else those that look like the answer."""
    legal = legal_names(game, mask)
    if len(legal) <= _LISTED:
        return f" Legal actions: {', '.join(legal)}."
    close = closest(line, legal)
    return f" Close to it: {', '.join(close)}." if close else ""


def _named(game: Game, line: str) -> list[int]:
    """The actions that a line names, each once: those in brackets, if there are some."""
    for inside in ([each for each in _BRACKETS.findall(line) if _WORD.search(each)], [line]):
        found = dict.fromkeys(action for each in inside for action in _in_text(game, each))
        if found:
            return list(found)
    return []


def _in_text(game: Game, text: str) -> list[int]:
    """The actions that a text names: the text as a whole, else names as they are written, else their words in order."""
    try:
        return [game.parse_action(text.strip(" \t.!,;:\"'`*()<>"))]
    except ValueError:
        pass
    spans = list(_spans(game, text))
    # "choose A+I" names that action, and not "choose A".
    spans = [a for a in spans if not any(b[0] <= a[0] and a[1] <= b[1] and b[:2] != a[:2] for b in spans)]
    if all(game.action_names[action] != text[begin:end] and end - begin == 1 for begin, end, action, _ in spans):
        return []  # a short name of one letter may be a cell; it only makes another name doubtful
    return [span[2] for span in spans if span[3]] or [span[2] for span in spans]


def _spans(game: Game, text: str) -> Iterator[tuple[int, int, int, bool]]:
    """The places of names in a text: start, end, action, and whether the name stands there as it is written."""
    skipped = {match.start() for match in _no_cell(game).finditer(text)}
    fillers = (*_FILLERS, *game.faces.fillers)
    words = [each for each in _WORD.finditer(text) if each.start() not in skipped and each[0].lower() not in fillers]
    names = _names_by_words(game)
    longest = max(map(len, names))
    for first, start in enumerate(words):
        for last in range(first, min(first + longest, len(words))):
            key = tuple(word[0].lower() for word in words[first : last + 1])
            begin, end = start.start(), words[last].end()
            written = text[begin:end]
            for action, name in names.get(key, ()):
                alone = not _joined(text, begin, end)
                # A letter in a sentence may be a word of it.
                if len(name) > 1 or (written == name and alone):
                    yield begin, end, action, alone and " ".join(written.lower().split()) == name.lower()


def _joined(text: str, begin: int, end: int) -> bool:
    """Tell whether a sign beside text[begin:end] joins it to a further word or number."""
    before = text[begin - 1 : begin] in _JOINS and text[begin - 2 : begin - 1].isalnum() if begin else False
    after = text[end : end + 1] in _JOINS and text[end + 1 : end + 2].isalnum() if end < len(text) else False
    return before or after


@lru_cache(maxsize=32)
def _no_cell(game: Game) -> re.Pattern[str]:
    """A pattern for letters in a sentence that may name a cell, but mean the player or are an article."""
    verbs = "|".join((*_VERBS, *game.faces.verbs))
    return re.compile(rf"\bI(?=['’]|\s+(?:\w+ly\s+)?(?:{verbs})\b)|\ba(?=\s+[a-z]{{2,}})")


@lru_cache(maxsize=32)
def _names_by_words(game: Game) -> dict[tuple[str, ...], list[tuple[int, str]]]:
    """The actions by the words of their names and of their short names."""
    found: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    fillers = (*_FILLERS, *game.faces.fillers)
    # A letter of the full name, such as its cell, is an action as a whole answer only: in a sentence it is a cell.
    short = enumerate(game.faces.short_action_names)
    kept = [(k, name) for k, name in short if len(name) > 1 or name not in game.action_names[k].split()]
    for action, name in [*enumerate(game.action_names), *kept]:
        words = tuple(word for word in _WORD.findall(name.lower()) if word not in fillers)
        found.setdefault(words or tuple(_WORD.findall(name.lower())), []).append((action, name))
    return found
