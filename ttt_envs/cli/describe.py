"""`ttt describe`: a game's rules, options, actions, observation and optimal play."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ttt_envs.cli.common import GameArguments, Printing
from ttt_envs.cli.layout import entries, paragraphs, table
from ttt_envs.core.options import Parameter, as_text
from ttt_envs.registry import options_of
from ttt_envs.storage.rows import Listed
from ttt_envs.storage.tables import TableMissing, without_building

if TYPE_CHECKING:  # a Game brings Numba, which `--help` does without
    from ttt_envs.core.game import Game

# The table lists this many actions of a kind, then "..." and the last one.
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Describe(GameArguments, Printing):
    """Explain a game: rules, options, actions, observation, and what is known of optimal play.

    JSON has all of it; CSV the actions, a line each.
    """

    seed: int = 0
    """Seed of the start position that is shown."""

    def run(self) -> None:
        """Print one section after the other."""
        game = self.load()
        state = game.new_state(self.seed)
        names = [{"number": k, "name": name} for k, name in enumerate(game.action_names)]
        if self.printed(Listed(names), lambda: {**_data(game, state), "actions": names}):
            return
        print(f"{game.title} ({game.id})\n")
        print("\n".join(paragraphs(". ".join(_facts(game)) + ".")))
        _show("A start position", chain(_position(game, state[0]), paragraphs(game.faces.legend)))
        _show("Rules", paragraphs(game.faces.rules_text or "The game comes without a text of its rules."))
        _show("Options (--option name=value ...)", _options(game, options_of(self.game)))
        written = paragraphs(f"Written as {game.faces.action_format}.")
        _show(f"Actions: {game.num_actions}", chain(written, table(action_rows(game), right=(1,))))
        _show(f"Observation: {game.observation_size} features, each 0 or 1", _observation(game))
        _show("Optimal play", _best_play(game, state))
        more = f"`ttt agents {game.id}` lists the agents that play it, `ttt play {game.id}` starts a game."
        print("", *paragraphs(more), sep="\n")


def _data(game: "Game", state: Any) -> dict[str, Any]:
    return {
        "id": game.id,
        "title": game.title,
        "players": game.player_names,
        "teams": game.teams,
        "stochastic": game.stochastic,
        "hidden_information": game.hidden_information,
        "simultaneous": game.simultaneous,
        "max_plies": game.max_plies,
        "symmetries": len(game.symmetries),
        "start": game.format_state(state[0], max(int(state[0]["to_move"]), 0) if game.hidden_information else None),
        "legend": game.faces.legend,
        "rules": game.faces.rules_text,
        "options": [
            {"name": each.name, "value": game.options[each.name], "default": each.default, "meaning": each.meaning}
            for each in options_of(game.id)
        ],
        "action_format": game.faces.action_format,
        "observation": [
            {"block": block.name, "shape": block.shape, "meaning": block.meaning} for block in game.observation_layout
        ],
        "best_play": " ".join(_best_play(game, state)),
    }


def _show(title: str, lines: Iterator[str]) -> None:
    print(f"\n{title}\n{'-' * len(title)}")
    for line in lines:
        print(line)


def _facts(game: "Game") -> Iterator[str]:
    if all(len(team) == 1 for team in game.teams):
        yield f"{game.num_players} players"
    else:
        yield f"{game.num_players} players, sides {' against '.join('+'.join(map(str, team)) for team in game.teams)}"
    kinds = {
        "chance": game.stochastic,
        "hidden information": game.hidden_information,
        "simultaneous moves": game.simultaneous,
    }
    yield f"With {', '.join(name for name, is_so in kinds.items() if is_so) or 'perfect information, without chance'}"
    yield f"At most {game.max_plies:,} plies"
    if game.symmetries:
        yield f"{len(game.symmetries)} symmetries of the board"


def _position(game: "Game", state: Any) -> Iterator[str]:
    viewer = max(int(state["to_move"]), 0) if game.hidden_information else None
    if viewer is not None:
        yield f"as player {viewer} sees it:"
    yield game.format_state(state, viewer)


def _options(game: "Game", declared: Sequence[Parameter]) -> Iterator[str]:
    if not declared:
        yield "none"
    yield from entries(
        [
            (
                f"{each.name}={as_text(game.options[each.name])}"
                f" ({', '.join(filter(None, (each.type_name, f'default {as_text(each.default)}')))})",
                each.meaning,
            )
            for each in declared
        ]
    )


def action_rows(game: "Game") -> list[tuple[str, str, str]]:
    """Return the rows of a table of the actions: a header row, then one row per kind of action."""
    rows = [("number", "how many", "written")]
    for _, group in groupby(enumerate(game.action_names), key=lambda item: _kind(item[1])):
        numbers, names = zip(*group, strict=True)
        shown = names if len(names) <= _NAMED + 1 else (*names[:_NAMED], "...", names[-1])
        rows.append((_span(numbers[0], len(numbers)), str(len(numbers)), ", ".join(shown).replace("..., ", "... ")))
    return rows


def _kind(name: str) -> tuple[str, int, int]:
    """Return a key that actions of a kind share: the first word, if any, and the numbers of words and of "+"."""
    word = re.match(r"[A-Za-z-]{2,}(?=\s|$)", name)
    return (word[0], len(name.split()), name.count("+")) if word else ("", 0, 0)


def _span(start: int, count: int) -> str:
    return f"{start}-{start + count - 1}" if count > 1 else str(start)


def observation_rows(game: "Game") -> list[tuple[str, str, str, str]]:
    """Return the rows of a table of the observation: a header row, then one row per block."""
    rows, start = [("features", "block", "shape", "a 1 means")], 0
    for block in game.observation_layout:
        rows.append((_span(start, block.size), block.name, "x".join(map(str, block.shape)), block.meaning))
        start += block.size
    return rows


def _observation(game: "Game") -> Iterator[str]:
    yield from table(observation_rows(game))
    if game.has_planes:
        channels, height, width = game.plane_index.shape
        yield f'With encoding="planes": {channels} planes of {height}x{width}.'


def _best_play(game: "Game", state: Any) -> Iterator[str]:
    if game.extras.oracle is None:
        yield "No oracle: optimal play of this game is not known."
        return
    try:
        with without_building():
            oracle = game.oracle()
            values = [float(oracle.value(state, player)[0]) for player in range(game.num_players)]
    except NotImplementedError as error:
        text = str(error)
        yield from paragraphs(f"{text[:1].upper()}{text[1:]}.")
        return
    except TableMissing:
        yield from paragraphs(
            "An oracle exists, but its table of optimal play is not built yet. `game.oracle()` builds it when it is "
            "first needed, which can take minutes"
            + (f"; `ttt solve {game.id} --help` says how to do it beforehand." if game.solve_commands else ".")
        )
        return
    exact = "its values are exact" if oracle.error == 0 else f"its values may be off by {oracle.error:.2g} in reward"
    yield from paragraphs(f"An oracle exists; {exact}.")
    if np.isfinite(values).all():
        worth = ", ".join(f"{value + 0.0:+.3g} for player {player}" for player, value in enumerate(values))
        yield from paragraphs(f"Value of the start position above under optimal play by all: {worth}.")
    else:
        yield from paragraphs("It does not cover the start position above.")
