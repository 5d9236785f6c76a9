"""Replay recorded games from their seeds to the identical positions.

Example::

    from ttt_envs.evaluation.records import read, replay

    for played in replay(read("games.jsonl", winner="greedy")):
        print(played.game.format_state(played.states[-1], None))

The game's own kernels play the actions, after a check of each. A mismatch raises an error that names the line.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ttt_envs.core.checks import explain
from ttt_envs.core.game import Game
from ttt_envs.core.information import acting_players
from ttt_envs.core.version import __version__
from ttt_envs.evaluation.arena.play import digest, seen
from ttt_envs.evaluation.records.record import GameRecord
from ttt_envs.registry import game_of_file
from ttt_envs.storage.untrusted import brief
from ttt_envs.wrappers.common import forfeit

# The most positions in memory at once.
_POSITIONS = 20_000


@dataclass(frozen=True)
class ReplayedGame:
    """A replayed game.

    Attributes:
        record: its record.
        game: the game.
        states: structured (T + 1,), the start first, the end last.
        actions: int64 (T, players), -1 for players who did not act.
    """

    record: GameRecord
    game: Game
    states: np.ndarray
    actions: np.ndarray


def game_of(record: GameRecord) -> Game:
    """Return a record's game with its options, see `registry.game_of_file`; raise ValueError naming the line."""
    try:
        return game_of_file(record.game, record.options)
    except ValueError as error:
        raise ValueError(f"{record.place}: {error}") from None


def replay(
    records: Iterable[GameRecord], *, game: Game | None = None, unfinished: bool = False
) -> Iterator[ReplayedGame]:
    """Replay games from their seeds, in the order given, to the original positions.

    Args:
        records: records of any games, in any mixture.
        game: the game of all records, required if it is not registered; by default `game_of` loads each record's game.
        unfinished: also accept unfinished games, such as those saved by `ttt play`.

    Raises:
        ValueError: a record does not fit its game: an unknown or illegal action, another end, other rewards or another
            digest. The message names the line and the ply.
    """
    waiting: list[GameRecord] = []
    positions = 0
    for record in records:
        other = waiting and (record.game, record.options) != (waiting[0].game, waiting[0].options)
        if waiting and (other or positions >= _POSITIONS):
            yield from _replayed(game or game_of(waiting[0]), waiting, unfinished)
            waiting, positions = [], 0
        waiting.append(record)
        positions += len(record.actions) + 1
    if waiting:
        yield from _replayed(game or game_of(waiting[0]), waiting, unfinished)


def _replayed(game: Game, records: Sequence[GameRecord], unfinished: bool) -> Iterator[ReplayedGame]:
    n, players = len(records), game.num_players
    codes = [_codes(game, record) for record in records]
    length = np.array([len(each) for each in codes])
    start = np.concatenate([[0], np.cumsum(length + 1)])  # each game has one position more than actions
    positions = np.empty(start[-1], game.state_dtype)
    played = np.full((start[-1], players), -1)
    flat = np.full((start[-1], codes[0].shape[1]), -1)
    for first, each in zip(start, codes, strict=False):
        flat[first : first + len(each)] = each
    states = np.repeat(game.prototype, n)
    seeds = np.array([record.seed for record in records], np.uint64)
    game.loops.reset_rows(states, np.arange(n), game.prototype, seeds)
    moves, mask = np.zeros(n, np.uint64), np.empty(game.num_actions, np.bool_)
    positions[start[:-1]] = states
    for ply in range(int(length.max(initial=0))):
        rows = np.flatnonzero(length > ply)
        over = rows[states["done"][rows]]
        if len(over):
            raise ValueError(f"{records[over[0]].place}: the game is over after {ply} plies, but the record goes on")
        at = start[rows] + ply
        if game.simultaneous:
            joint = flat[at]
        else:
            joint = np.full((len(rows), players), -1)
            joint[np.arange(len(rows)), states["to_move"][rows]] = flat[at, 0]
        acts = np.zeros((n, players), np.bool_)
        acts[acting_players(game, states, rows)] = True
        wrong = rows[((joint >= 0) != acts[rows]).any(axis=1)]
        illegal = int(wrong[0]) if len(wrong) else int(game.loops.find_illegal(states, rows, joint, mask))
        if illegal >= 0:
            actions = joint[np.flatnonzero(rows == illegal)[0]]
            raise ValueError(f"{records[illegal].place}, ply {ply}: {_refusal(game, states, illegal, actions)}")
        game.loops.step_rows(states, rows, joint)
        moves[rows] = digest(moves[rows], joint)
        played[at] = joint
        positions[at + 1] = states[rows]
    for i, record in enumerate(records):
        _end(game, states, i, record, unfinished)
    moves ^= seen(game, states)
    positions[start[1:] - 1] = states
    for i, record in enumerate(records):
        if int(moves[i]) != record.digest:
            raise ValueError(
                f"{record.place}: the replayed game is not the one that was recorded, its digest differs: the record "
                f"was changed, or ttt-envs {record.library} had other rules than this version, {__version__}"
            )
        a, b = start[i], start[i + 1]
        yield ReplayedGame(record, game, positions[a:b], played[a : b - 1])


def _codes(game: Game, record: GameRecord) -> np.ndarray:
    """Return a record's actions by number: int64 (T, players), -1 for none; (T, 1) if one player acts at a time."""
    try:
        fits = game.id == record.game and game_of_file(game, record.options).options == game.options
    except ValueError as error:
        raise ValueError(f"{record.place}: {error}") from None
    if not fits or len(record.agents) != game.num_players:
        raise ValueError(
            f"{record.place}: the record of a game {record.game!r} for {len(record.agents)} players, with options "
            f"{brief(repr(dict(record.options)))}, does not fit {game}"
        )
    if len(record.actions) > game.max_plies:  # checked before memory is allocated
        raise ValueError(f"{record.place}: the record goes on after {game.max_plies} plies, and no {game} does")
    columns = game.num_players if game.simultaneous else 1
    numbers: dict[str | None, int] = {name: k for k, name in enumerate(game.action_names)}
    if game.simultaneous:
        numbers[None] = -1
    codes = np.full((len(record.actions), columns), -1)
    for ply, given in enumerate(record.actions):
        entries = given if game.simultaneous and isinstance(given, tuple) else (given,)
        row = [numbers.get(each) for each in entries]  # type: ignore[arg-type]
        if len(row) != columns or None in row:
            wanted = f"a list of {columns} actions or null" if game.simultaneous else "the name of an action"
            raise ValueError(
                f"{record.place}, ply {ply}: {brief(repr(given))} cannot be played in {game.id}: it must be {wanted}, "
                f"each {game.faces.action_format}"
            )
        codes[ply] = row
    return codes


def _refusal(game: Game, states: np.ndarray, i: int, actions: np.ndarray) -> str:
    mask = np.empty(game.num_actions, np.bool_)
    acting = set(acting_players(game, states, np.array([i]))[1].tolist())
    for player, action in enumerate(actions.tolist()):
        if (player in acting) != (action >= 0):
            what = repr(game.action_names[action]) if action >= 0 else "no action"
            return f"player {player} {'acts' if player in acting else 'has no choice'} here, but the record has {what}"
        game.loops.mask_one(states, i, player, mask)
        if player in acting and not mask[action]:
            return explain(game, f"player {player}", action, mask)
    raise AssertionError


def _end(game: Game, states: np.ndarray, i: int, record: GameRecord, unfinished: bool) -> None:
    """Apply the record's failures, if any, to states[i]; raise ValueError if it is not the end of the record.

    Without `unfinished`, the game must then be over.
    """
    plies = len(record.actions)
    offenders = [each.player for each in record.failures]
    if offenders:
        acting = () if states["done"][i] else acting_players(game, states, np.array([i]))[1].tolist()
        for player in offenders:
            if player not in acting:
                raise ValueError(
                    f"{record.place}: player {player} cannot have failed after {plies} plies, not being asked"
                )
        forfeit(game, states, i, offenders)
    if not states["done"][i] and not unfinished:
        raise ValueError(
            f"{record.place}: the record ends after {plies} plies, but the game is not over; a game that was saved "
            "goes on by `ttt play --load`"
        )
    rewards = tuple(float(str(reward)) for reward in states["rewards"][i])
    if rewards != record.rewards:
        raise ValueError(f"{record.place}: the game pays {list(rewards)}, but the record says {list(record.rewards)}")
