"""Parts of a game's page, generated from the game as Markdown."""

import re
from collections.abc import Callable, Iterable, Sequence

import ttt_envs
from ttt_envs.cli.describe import action_rows, observation_rows
from ttt_envs.core.game import Game
from ttt_envs.core.options import Parameter, as_text
from ttt_envs.registry import gymnasium_id, options_of


def table(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as a Markdown table; the first row is the header."""
    head, *rest = [[_cell(each) for each in row] for row in rows]
    lines = [head, ["---"] * len(head), *rest]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def _code(text: str) -> str:
    return f"`{text}`"


def facts(ids: Sequence[str]) -> str:
    """Return a table of facts about the games, with one column per id."""
    games = [ttt_envs.load(each) for each in ids]
    rows = [["", *(_code(each) for each in ids)]]
    rows += [[title, *(said(game) for game in games)] for title, said in _FACTS.items()]
    return table(rows)


def _sides(game: Game) -> str:
    if all(len(team) == 1 for team in game.teams):
        return str(game.num_players)
    return f"{game.num_players}, {' against '.join('+'.join(map(str, team)) for team in game.teams)}"


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _planes(game: Game) -> str:
    if not game.has_planes:
        return "no"
    channels, rows, columns = game.plane_index.shape
    return f"{channels} of {rows}x{columns}"


def _chance(game: Game) -> str:
    return {"none": "no", "start": "at the start", "play": "yes"}[game.chance]


def _oracle(game: Game) -> str:
    return "no" if game.extras.oracle is None else "yes, see below"


_FACTS: dict[str, Callable[[Game], str]] = {
    "PettingZoo": lambda game: _code(f"ttt_envs/{game.id}-v0"),
    "Gymnasium": lambda game: _code(gymnasium_id(game.id)),
    "players": _sides,
    "actions": lambda game: f"{game.num_actions:,}",
    "observation": lambda game: f"{game.observation_size:,} features of 0 and 1",
    'as `encoding="planes"`': _planes,
    "chance": _chance,
    "hidden information": lambda game: _yes(game.hidden_information),
    "simultaneous actions": lambda game: _yes(game.simultaneous),
    "plies of the longest game": lambda game: f"{game.max_plies:,}",
    "symmetries of the board": lambda game: str(len(game.symmetries)),
    "oracle": _oracle,
}


def rules(ids: Sequence[str]) -> str:
    """Return the rules text of the first game, with default options."""
    return ttt_envs.load(ids[0]).rules_text


def actions(ids: Sequence[str]) -> str:
    """Return each game's format of actions, and a table of its actions."""
    return _each(ids, lambda game: f"Written as {game.faces.action_format}.\n\n{table(action_rows(game))}")


def observation(ids: Sequence[str]) -> str:
    """Return a table of each game's observation blocks."""
    return _each(ids, lambda game: table(observation_rows(game)))


def _each(ids: Sequence[str], part: Callable[[Game], str]) -> str:
    """Return the different parts, each below the ids of its games; without ids if all games have the same part."""
    shared: dict[str, list[str]] = {}
    for each in ids:
        shared.setdefault(part(ttt_envs.load(each)), []).append(_code(each))
    if len(shared) == 1:
        return next(iter(shared))
    return "\n\n".join(f"{' and '.join(names)}:\n\n{text}" for text, names in shared.items())


def options(ids: Sequence[str]) -> str:
    """Return a table of options with defaults and meanings; all these games must have the same options."""
    declared = options_of(ids[0])
    if not declared:
        return "None."
    rows = [("option", "default", "meaning")]
    rows += [(_code(each.name), _defaults(ids, each), each.meaning) for each in declared]
    return table(rows)


def _defaults(ids: Sequence[str], option: Parameter) -> str:
    defaults = {each: as_text(ttt_envs.load(each).options[option.name]) for each in ids}
    if len(set(defaults.values())) == 1:
        return _code(defaults[ids[0]])
    return ", ".join(f"{_code(value)} in {_code(each)}" for each, value in defaults.items())


def rewards(ids: Sequence[str]) -> str:
    """Return when the first game pays rewards, and how much."""
    game = ttt_envs.load(ids[0])
    win, loss = "the winner gets +1, the loser -1", "A draw pays 0."
    if any(len(team) > 1 for team in game.teams):
        win = "the winning side shares +1, the losing side -1"
    return f"Paid once, at the end of an episode, and summing to zero: {win}. {loss}"
