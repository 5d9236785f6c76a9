"""Fixed sets of questions with exact answers: positions, the value of each action, and prompts.

Example::

    from ttt_envs.evaluation.questions import questions_of

    for question in questions_of("some_game").questions():
        print(question["prompt"], question["best"])

A game's set is defined in the file questions.toml of its folder: the game's options, a number of positions and a seed.
The questions are drawn from these on use. `ttt exam GAME --write FILE` writes them for other programs. The file
questions.toml also contains a digest of the positions: a set that differs from its version is rejected.

`ttt_envs.evaluation.mistakes` draws positions that an oracle knows. Without an oracle there are two sources of exact
values. `draw_endings` searches positions near the end of a game of perfect information to the end, by alpha-beta.
`draw_information_sets` solves a small two-player game with hidden information by PCFR+; the value of an action is the
player's expected reward against the other's equilibrium strategy.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents.random import RandomAgent
from ttt_envs.agents.search.alphabeta import AlphaBeta
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.prompts import prompt
from ttt_envs.core.view import View
from ttt_envs.evaluation.mistakes import Positions, draw_positions
from ttt_envs.registry import declared, full_id, load
from ttt_envs.solvers import sequence
from ttt_envs.solvers.cfr import Solver
from ttt_envs.solvers.tree import reaches, walk
from ttt_envs.storage.files import write_whole

#: Version of the format of a file of questions.
FORMAT = "ttt-envs questions 1"

# Decimal places of values in files and digests: oracles are exact up to rounding or a stated error.
_DIGITS = 6

# A larger score of alpha-beta search means a proven win.
_WON = 1.5

# Information sets that the equilibrium reaches with a smaller probability are excluded.
_REACHED = 1e-4

# Decimal places of rounded PCFR+ values, so that a set does not depend on the order of a sum.
_SOLVED_DIGITS = 3

# A drawn position: its state, structured (1,), the player, the plies, the values, and the policy if requested.
_Drawn = tuple[np.ndarray, int, int, np.ndarray, np.ndarray | None]


@dataclass(frozen=True, kw_only=True)
class QuestionSet:
    """A set of questions.

    Attributes:
        name: its name.
        game: id of the game.
        options: the game's options.
        seed: determines the positions.
        version: a number that increases with every change of the set.
        title: a description, as a phrase.
        positions: number of questions.
        least: an answer that loses more than this compared with the best action is a mistake, in reward units.
        digest: digest of the positions and the action values.
        remaining: least and greatest number of plies that may still follow, for positions that are searched to the end,
            see `draw_endings`.
        iterations: iterations of PCFR+, if it solves the game, see `draw_information_sets`.
    """

    name: str
    game: str
    options: Mapping[str, Any]
    seed: int
    version: int
    title: str
    positions: int
    least: float
    digest: str
    remaining: tuple[int, int] | None = None
    iterations: int | None = None

    def load(self) -> Game:
        """Return the game with these options."""
        return load(self.game, **self.options)

    def draw(self) -> Positions:
        """Return the positions; raise ValueError if they differ from this version's."""
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
        """Yield the questions in the format of `write`; `drawn`: their positions, if already drawn."""
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
        """Write the questions atomically as JSON lines; the first line describes the set."""
        drawn = self.draw()
        head = {
            "format": FORMAT,
            "set": self.name,
            "version": self.version,
            "title": self.title,
            "least": self.least,
            "plies": "to the end under optimal play, -1 where it has no end" if drawn.remaining else "played",
        }
        lines = [json.dumps(each, ensure_ascii=False) for each in (head, *self.questions(drawn))]
        write_whole(path, "\n".join([*lines, ""]))


@cache
def question_sets() -> dict[str, QuestionSet]:
    """Return game id -> question set."""
    return {game: QuestionSet(name=name, game=game, **facts) for game, name, facts in declared("questions.toml")}


def questions_of(game_id: str) -> QuestionSet:
    """Return the set of a game; raise ValueError if there is none."""
    found = question_sets().get(full_id(game_id))
    if found is None:
        raise ValueError(f"{game_id} has no questions; games with some: {', '.join(question_sets())}")
    return found


def digest_of(game: Game, drawn: Positions) -> str:
    """Return a digest of 16 hexadecimal digits of the positions, the players and the action values."""
    found = hashlib.sha256()
    for state, player, values in zip(drawn.states, drawn.players.tolist(), drawn.values, strict=True):
        told = [None if np.isnan(value) else f"{_rounded(value):.4f}" for value in values]
        found.update(json.dumps([game.format_state(state, None), player, told]).encode())
    return found.hexdigest()[:16]


def _rounded(value: float) -> float:
    return round(float(value), _DIGITS) + 0.0  # no -0.0


# --- positions without an oracle ---


def draw_endings(game: Game, number: int, *, least: float, seed: int, remaining: tuple[int, int]) -> Positions:
    """Draw positions from random games, evenly by the plies that may still follow, and search them to the end.

    Args:
        game: a game of perfect information without chance, with a greatest length.
        number: number of positions.
        least: positions in which no action loses more than this are excluded.
        seed: determines the positions.
        remaining: least and greatest number of plies that may still follow, at most 60.

    Raises ValueError if too few positions qualify.
    """
    low, high = remaining
    if game.hidden_information or game.stochastic or game.simultaneous:
        raise ValueError(f"{game} cannot be searched to the end: it has chance, hidden information or choices at once")
    search = AlphaBeta(depth=high)
    batch, random = Batch(game, max(20 * number, 2000), seed=seed), RandomAgent()
    kept: dict[int, np.ndarray] = {}
    while (going := np.flatnonzero(~batch.done)).size:
        left = game.max_plies - int(batch.states["ply"][going[0]])
        if low <= left <= high:
            kept[left] = batch.states[going].copy()
        actions = np.full(batch.n, -1)
        actions[going] = random.act(batch.view(rows=going))
        batch.step(actions)

    def take(left: int, k: int) -> _Drawn | None:
        state = kept[left][[k]]
        values = searched(game, state, search)
        if np.nanmax(values) - np.nanmin(values) <= least:
            return None
        return state, int(state["to_move"][0]), game.max_plies - left, values, None

    return _in_turn(number, {left: len(states) for left, states in kept.items()}, seed, take)


def _in_turn(number: int, sizes: Mapping[int, int], seed: int, take: Callable[[int, int], _Drawn | None]) -> Positions:
    """Draw positions from the groups in turn. `sizes`: group -> its number of positions. `take(group, k)`: position k,
    or None if it does not qualify.

    Raises ValueError if too few positions qualify.
    """
    rng, found = np.random.default_rng(seed), list[_Drawn]()
    waiting = {group: rng.permutation(size).tolist() for group, size in sizes.items()}
    while len(found) < number and any(waiting.values()):
        for group in sorted(waiting):
            while len(found) < number and waiting[group]:
                if (one := take(group, waiting[group].pop())) is not None:
                    found.append(one)
                    break
    if len(found) < number:
        raise ValueError(f"in only {len(found)} of {number} positions an action loses enough")
    states, players, plies, values, policies = zip(*found, strict=True)
    policy = None if policies[0] is None else np.stack(policies)
    return Positions(np.concatenate(states), np.array(players), np.array(plies), np.stack(values), False, policy)


def searched(game: Game, state: np.ndarray, search: AlphaBeta) -> np.ndarray:
    """Return the values of the mover's actions by a search to the end: float64 (num_actions,), nan if illegal.

    `state` is structured (1,); the search must reach the end.
    """
    player = int(state["to_move"][0])
    actions, values = np.flatnonzero(game.masks(state, player, check=False)), np.full(game.num_actions, np.nan)
    after = Batch(game, len(actions))
    after.set_states(np.repeat(state, len(actions)))
    after.step(actions)
    # A search gives no value to a position with one legal action, so forced actions are played before it.
    while True:
        masks: np.ndarray = np.logical_or.reduce([after.masks(each) for each in range(game.num_players)])
        forced = np.flatnonzero(~after.done & (masks.sum(axis=1) == 1))
        if not forced.size:
            break
        after.step(masks[forced].argmax(axis=1), forced)
    values[actions] = after.rewards[:, player]
    rows = np.flatnonzero(~after.done)
    if rows.size:
        movers = after.states["to_move"][rows].astype(np.int64)
        best = np.nanmax(search.scores(View(game, after.states[rows], movers, np.zeros(len(rows), np.uint64))), axis=1)
        result = np.where(np.abs(best) > _WON, np.sign(best), 0.0)
        values[actions[rows]] = np.where(movers == player, result, 0.0 - result)
    return values


def draw_information_sets(game: Game, number: int, *, least: float, seed: int, iterations: int) -> Positions:
    """Draw information sets of a small game with hidden information, evenly by plies, with equilibrium values.

    Positions that look alike to the player count as one: values and policy are means, weighted by the probability with
    which the equilibrium reaches each position.

    Args:
        game: a two-player zero-sum game, small enough for `ttt_envs.solvers.tree.walk`.
        number: number of positions.
        least: positions in which no action loses more than this are excluded.
        seed: determines the positions.
        iterations: iterations of PCFR+.

        Raises ValueError for a game of another kind, and if too few positions qualify.
    """
    tree = walk(game)
    solver = Solver(tree)
    solver.run(iterations)
    policy = solver.average()
    seen: dict[tuple[int, bytes], list[tuple[int, float]]] = {}
    tables = [tree.table(player, policy[player]) for player in (0, 1)]
    all_values = []
    for player, reach in enumerate(reaches(tree, policy)):
        mine = tree.players[player]
        all_values.append(sequence.action_values(tree, player, policy, reach))
        own = sequence.plan_of(mine, policy[player])[mine.sets["parent"]]
        looks = np.concatenate([view.observations for view in tree.views(player)])
        for k in np.flatnonzero(reach * own > 0):
            seen.setdefault((player, looks[k].tobytes()), []).append((int(k), float(reach[k] * own[k])))
    by_ply: dict[int, list[_Drawn]] = {}
    for (player, _), sets in seen.items():
        weights = np.array([weight for _, weight in sets])
        rows = [k for k, _ in sets]
        if weights.sum() < _REACHED:
            continue
        values = np.round(np.average(all_values[player][rows], axis=0, weights=weights), _SOLVED_DIGITS)
        played = np.average(tables[player][rows], axis=0, weights=weights)
        if (~np.isnan(values)).sum() > 1 and np.nanmax(values) - np.nanmin(values) > least:
            mine = tree.players[player]
            ply = int(mine.plies[rows[0]])
            by_ply.setdefault(ply, []).append((mine.states[rows[:1]], player, ply, values, played))
    return _in_turn(number, {ply: len(some) for ply, some in by_ply.items()}, seed, lambda ply, k: by_ply[ply][k])
