"""Fixed sets of questions with exact answers: positions, the value of each action, and the question as text.

    from ttt_envs.evaluation.solved.questions import question_sets

    for question in question_sets()["dice-round"].questions():
        print(question["prompt"], question["best"])

A set is a game with its options, a number of positions and a seed, in the file questions.toml of the game's folder, and
is drawn anew from these wherever it is used: `ttt questions SET` writes it for other programs. The digest of its
positions stands in the file too, so that a set of one version is the same one for ever, or refused. How positions are
drawn, and what a mistake is, says `ttt_envs.evaluation.solved.positions`, and for those that no oracle knows
`ttt_envs.evaluation.solved.endings`.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.prompts import prompt
from ttt_envs.core.view import View
from ttt_envs.evaluation.reports.report import Table
from ttt_envs.evaluation.solved.endings import draw_endings, draw_information_sets
from ttt_envs.evaluation.solved.positions import Positions, draw_positions
from ttt_envs.evaluation.solved.sets import PositionSet, named
from ttt_envs.storage.files import write_whole

#: Version of the lines of a file of questions.
FORMAT = "ttt-envs questions 1"

# Digits after the point of a value in files and digests: oracles are exact up to rounding or a stated error.
_DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class QuestionSet(PositionSet):
    """A set of questions.

    Attributes:
        positions: number of questions.
        least: an answer that loses more than this against the best action is a mistake, in units of reward.
        digest: of the positions and the values of the actions.
        remaining: least and greatest number of plies that may still follow, where positions are searched to the end,
            see `draw_endings`.
        iterations: of PCFR+, where the game is solved as a whole, see `draw_information_sets`.
    """

    positions: int
    least: float
    digest: str
    remaining: tuple[int, int] | None = None
    iterations: int | None = None

    def draw(self) -> Positions:
        """The positions; raises ValueError if they are not those of this version any more."""
        game, least, seed = self.load(), self.least, self.seed
        if self.remaining is not None:
            drawn = draw_endings(game, self.positions, least=least, seed=seed, remaining=self.remaining)
        elif self.iterations is not None:
            drawn = draw_information_sets(game, self.positions, least=least, seed=seed, iterations=self.iterations)
        else:
            drawn = draw_positions(game, self.positions, least=least, seed=seed)
        if (digest := digest_of(game, drawn)) != self.digest:
            raise ValueError(
                f"the questions {self.name!r} of version {self.version} cannot be drawn: their digest is {digest}, not "
                f"{self.digest}, so that the game or its oracle has changed"
            )
        return drawn

    def questions(self, drawn: Positions | None = None) -> Iterator[dict[str, Any]]:
        """The questions, each as in a line of the file by `write`; `drawn`: their positions, if known already."""
        game, drawn = self.load(), drawn or self.draw()
        view = View(game, drawn.states, drawn.players, np.zeros(len(drawn), np.uint64))
        policy = game.oracle().policy(drawn.states, drawn.players) if game.simultaneous else drawn.policy
        for k in range(len(drawn)):
            values = {game.action_names[a]: _rounded(drawn.values[k, a]) for a in np.flatnonzero(view.masks[k])}
            top = max(values.values())
            question = {
                "set": self.name,
                "version": self.version,
                "number": k,
                "game": self.game,
                "options": dict(self.options),
                "player": int(drawn.players[k]),
                "plies": int(drawn.lengths[k]),
                "position": game.format_state(drawn.states[k], None),
                "prompt": prompt(view, k),
                "values": values,
                "best": [name for name, value in values.items() if top - value <= 10**-_DIGITS],
            }
            if policy is not None:
                played = np.flatnonzero(policy[k] > 0)
                question["equilibrium"] = {game.action_names[a]: _rounded(policy[k, a]) for a in played}
            yield question

    def write(self, path: Path) -> None:
        """Write the questions as JSON lines, the first of which says what they are, whole or not at all."""
        drawn = self.draw()
        head = {
            "format": FORMAT,
            "set": self.name,
            "version": self.version,
            "title": self.title,
            "least": self.least,
            "plies": "to the end under best play, -1 where it has no end" if drawn.remaining else "played",
        }
        lines = [json.dumps(each, ensure_ascii=False) for each in (head, *self.questions(drawn))]
        write_whole(path, "\n".join([*lines, ""]))


def question_sets() -> dict[str, QuestionSet]:
    """All sets, by name."""
    return QuestionSet.declared("questions.toml")


def set_of(name: str) -> QuestionSet:
    """The set of that name; ValueError if there is none."""
    return named("set of questions", name, question_sets())


def listed() -> list[dict[str, Any]]:
    """The sets, a row each: what it is about, name, game, number of questions, limit of a mistake, and version."""
    return [
        {
            "title": each.title,
            "set": each.name,
            "game": each.game,
            "questions": each.positions,
            "limit": each.least,
            "version": each.version,
        }
        for each in question_sets().values()
    ]


def overview() -> Table:
    """The sets."""
    rows = [
        [each["title"], each["set"], str(each["questions"]), f"{each['limit']:g}", str(each["version"])]
        for each in listed()
    ]
    note = "An answer that loses more than the limit against the best action is a mistake, in units of reward."
    return Table("Questions", ["questions about", "set", "number", "limit", "version"], rows, note)


def digest_of(game: Game, drawn: Positions) -> str:
    """16 hexadecimal digits that tell the positions, who decides and the values of the actions."""
    found = hashlib.sha256()
    for state, player, values in zip(drawn.states, drawn.players.tolist(), drawn.values, strict=True):
        told = [None if np.isnan(value) else f"{_rounded(value):.4f}" for value in values]
        found.update(json.dumps([game.format_state(state, None), player, told]).encode())
    return found.hexdigest()[:16]


def _rounded(value: float) -> float:
    return round(float(value), _DIGITS) + 0.0  # no -0.0
