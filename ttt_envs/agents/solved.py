"""Policies of solved games, their files, and an agent that plays them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.agents.base import Agent
from ttt_envs.core import positions
from ttt_envs.core.game import Game
from ttt_envs.core.positions import PositionOracle, oracle_of, read_positions
from ttt_envs.core.view import View
from ttt_envs.storage.files import existing
from ttt_envs.storage.tensors import BadTensorFile, read_tensors, write_tensors
from ttt_envs.storage.untrusted import with_tuples

FORMAT = "ttt-envs policy 1"

#: Name of the policy's file in the folder that `ttt solve` writes.
FILE = "policy.safetensors"


class Side(NamedTuple):
    """One player's policy in m information sets.

    Attributes:
        digests: uint64 (m, 2), the digests of the information sets; see `ttt_envs.core.information`.
        counts: int32 (m,), the number of actions in each information set, at least 1.
        actions: int32 (counts.sum(),), the actions of the first set, then those of the second, and so on.
        probabilities: float64 (counts.sum(),), the probabilities of these actions.
    """

    digests: np.ndarray
    counts: np.ndarray
    actions: np.ndarray
    probabilities: np.ndarray


def write_policy(path: Path, game: Game, sides: Sequence[Side], facts: Mapping[str, Any]) -> None:
    """Write both players' policy atomically; `facts`: JSON values to store in addition to the game and its options."""
    given = {"game": game.id, "options": dict(game.options), **facts}
    arrays = {f"{name}_{player}": each for player, side in enumerate(sides) for name, each in side._asdict().items()}
    write_tensors(path, FORMAT, given, arrays)


def read_policy(path: Path) -> tuple[list[Side], dict[str, Any]]:
    """Read the policy and the facts that `write_policy` wrote; raise FileNotFoundError or BadTensorFile."""
    path = existing(path, "policy")
    path = path / FILE if path.is_dir() else path
    if not path.is_file():
        raise FileNotFoundError(f"no policy at {path}; `ttt solve` writes one")
    facts, arrays = read_tensors(path, FORMAT)
    try:
        sides = [Side(*(arrays[f"{name}_{player}"] for name in Side._fields)) for player in range(2)]
        for side in sides:
            _check(side)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise BadTensorFile(f"{path} is damaged ({type(error).__name__}: {error})") from None
    return sides, facts


def _check(side: Side) -> None:
    sets, entries = len(side.digests), len(side.actions)
    shapes = ((sets, 2), (sets,), (entries,), (entries,))
    dtypes = (np.uint64, np.int32, np.int32, np.float64)
    if tuple(each.shape for each in side) != shapes or any(a.dtype != b for a, b in zip(side, dtypes, strict=True)):
        raise ValueError("its arrays are not of the shapes and types of a policy")
    if side.counts.sum(dtype=np.int64) != entries:
        raise ValueError("its information sets are not those of its actions")


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.cumsum(counts, dtype=np.int64) - counts


class Solved(Agent):
    """Plays the result of `ttt solve`: optimal play with perfect information, else an approximate equilibrium.

    An approximate equilibrium depends on everything that the player has seen and done since the start, so the agent can
    then only play whole games: in tournaments, as an opponent in environments, and in the browser. Optimal play with
    perfect information is known in every reachable position.
    """

    name = "solved"
    reaches = {"path": "file"}
    remembers = True

    def __init__(self, path: str | Path) -> None:
        """Load the policy; solved positions are loaded later, when the game is known.

        Args:
            path: the folder that `ttt solve` wrote, or its file policy.safetensors or positions.safetensors.

        Raises:
            FileNotFoundError: there is no such path.
            BadTensorFile: the file is damaged or of another kind.
        """
        self.path = path
        self._fits: Game | None = None
        self._oracle: PositionOracle | None = None
        solved = existing(path, "policy") / positions.FILE
        self._solved = solved if solved.is_file() else Path(path)
        facts = read_tensors(self._solved, FORMAT, positions.FORMAT)[0] if self._solved.is_file() else {}
        self.remembers = facts.get("format") != positions.FORMAT
        if not self.remembers:
            return
        sides, self.facts = read_policy(Path(path))
        self._sides = []
        for side in sides:
            order = np.argsort(side.digests[:, 0])
            self._sides.append((side, side.digests[order], order, _starts(side.counts)))

    def check(self, game: Game) -> None:
        """Raise BadTensorFile unless the file is for this game with these options."""
        super().check(game)
        if not self.remembers:
            if self._fits != game:
                found = read_positions(self._solved, game)
                self._oracle, self._fits = oracle_of(game, lambda: found), game
            return
        made: Mapping[str, Any] = self.facts["options"]
        if self.facts["game"] == game.id:
            try:
                made = game.factory(**with_tuples(made)).options
            except (TypeError, ValueError) as error:
                raise BadTensorFile(f"{self.path} is of no {game.id} of this version: {error}") from None
        if self.facts["game"] != game.id or dict(made) != dict(game.options):
            raise BadTensorFile(
                f"{self.path} is a policy of {self.facts['game']} with options {dict(made)}, not of "
                f"{game.id} with options {dict(game.options)}"
            )
        if any((side.actions >= game.num_actions).any() for side, *_ in self._sides):
            raise BadTensorFile(f"{self.path} is damaged: it has actions that {game} has not")
        self._fits = game

    def policy(self, view: View) -> np.ndarray:
        """Return the probability of each action, float64 (n, num_actions).

        Raises BadTensorFile for another game or a position that is not in the file; ValueError if an approximate
        equilibrium gets a view without `info_state_keys`.
        """
        if self._fits is not view.game:
            self.check(view.game)
        if self._oracle is not None:
            policy = self._oracle.policy(view.sample_worlds(), view.players)
            if (view.masks.any(axis=1) & (policy.sum(axis=1) == 0)).any():
                raise BadTensorFile(f"{self.path} lacks a position of {view.game}: it cannot arise, or by other rules")
            return policy
        if view.info_state_keys is None:
            raise ValueError(
                f"agent {self.name} answers by all that its player was shown since the game began, which this view "
                "does not tell: it plays whole games, in tournaments and as an opponent"
            )
        out = np.zeros((len(view), view.game.num_actions))
        for player, (side, digests, order, starts) in enumerate(self._sides):
            rows = np.flatnonzero((view.players == player) & view.masks.any(axis=1))
            asked = view.info_state_keys[rows]
            place = np.searchsorted(digests[:, 0], asked[:, 0])
            if (place == len(digests)).any() or (digests[place] != asked).any():
                raise BadTensorFile(f"{self.path} lacks a position of {view.game}: it was made by other rules")
            sets = order[place]
            counts = side.counts[sets]
            entries = np.arange(counts.sum()) + np.repeat(starts[sets] - _starts(counts), counts)
            out[np.repeat(rows, counts), side.actions[entries]] = side.probabilities[entries]
        return out

    def action_values(self, view: View) -> np.ndarray:
        """Return values under optimal play, float64 (n, num_actions); all NaN for an approximate equilibrium."""
        self.check(view.game)
        if self._oracle is None:
            return super().action_values(view)
        return np.where(view.masks, self._oracle.action_values(view.sample_worlds(), view.players), np.nan)
