"""A game that is being played move by move: taken back, saved to a file, and gone on with."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.core.batch import acting_players
from ttt_envs.core.game import Game
from ttt_envs.core.rng import episode_seeds, new_key
from ttt_envs.core.view import View
from ttt_envs.evaluation import records
from ttt_envs.evaluation.play import Games, digest, seen
from ttt_envs.evaluation.replaying import game_of, replay

_FIRST = np.zeros(1, np.int64)


class LiveGame:
    """One game and all that has been played in it.

    A saved game is a record of `ttt_envs.evaluation.records` that is not over. It holds the seed, and with it all that
    is hidden and all chance to come.

    Attributes:
        game: the game.
        agents: the agent in each seat, by name.
        seed: seed of the episode.
        states: structured (1,), the position.
        past: the positions before it, structured (1,), each with the actions int64 (players,) played there, -1 for
            players who did not act.
    """

    def __init__(self, game: Game, agents: Sequence[str], seed: int | None = None) -> None:
        """Begin a game: the first one of `Batch(game, 1, seed=seed)`."""
        zero = np.zeros(1, np.uint64)
        self.game, self.agents = game, tuple(agents)
        self.seed = int(episode_seeds(new_key(seed), zero, zero)[0])
        self.states = game.prototype.copy()
        self.past: list[tuple[np.ndarray, np.ndarray]] = []
        game.loops.reset_one(self.states, 0, game.prototype, np.uint64(self.seed))
        self._file: Path | None = None

    @classmethod
    def read(cls, path: Path, game: Game | None = None) -> "LiveGame":
        """The game of a file by `save`, played again from its seed to the same position.

        `game` is needed for one that is not registered.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it holds no saved game, more than one, one of another game, or one that does not fit its rules.
        """
        found = list(records.read(path))
        if len(found) != 1:
            raise ValueError(f"{path} holds {len(found)} games; a saved game is one, as `save` writes it")
        (played,) = replay(found, game=game or game_of(found[0]), unfinished=True)
        live = cls(played.game, found[0].agents)
        live.seed = found[0].seed
        live.past = [(played.states[k : k + 1].copy(), joint) for k, joint in enumerate(played.actions)]
        live.states = played.states[-1:].copy()
        live._file = path
        return live

    @property
    def done(self) -> bool:
        """True once the game is over."""
        return bool(self.states["done"][0])

    def acting(self) -> list[int]:
        """The players who have a choice to make now."""
        return [] if self.done else acting_players(self.game, self.states, _FIRST)[1].tolist()

    def view(self, player: int) -> View:
        """The view that a player's agent is given."""
        return View.unchecked(self.game, self.states, np.array([player]), np.array([self.seed], np.uint64))

    def play(self, actions: np.ndarray) -> np.ndarray | None:
        """Play legal actions, int64 (players,); returns what `Game.finished_round` gives."""
        before = self.states.copy()
        self.past.append((before, actions.copy()))
        self.game.loops.step_rows(self.states, _FIRST, actions[None].copy())
        return self.game.finished_round(before[0], actions, self.states[0])

    def take_back(self, players: Collection[int]) -> bool:
        """Go back to the last position in which one of `players` acted; False if there is none."""
        for k in range(len(self.past) - 1, -1, -1):
            states, actions = self.past[k]
            if any(actions[player] >= 0 for player in players):
                self.states = states
                del self.past[k:]
                return True
        return False

    def moves(self) -> Iterator[str]:
        """The actions played, ply by ply, such as "X 4/4"."""
        names, actions = self.game.player_names, self.game.action_names
        for _, joint in self.past:
            yield ", ".join(f"{names[p]} {actions[a]}" for p, a in enumerate(joint.tolist()) if a >= 0)

    def save(self, path: Path) -> None:
        """Write the game to a file, whole or not at all.

        Raises FileExistsError for a file that is there, unless this game was saved to it or read from it; OSError for
        one that cannot be written.
        """
        if path.exists() and (self._file is None or not path.samefile(self._file)):
            raise FileExistsError(f"{path} exists: choose another name, or delete the file first")
        records.write(path, self._records())
        self._file = path

    def _records(self) -> Iterator[records.GameRecord]:
        players = self.game.num_players
        actions = np.array([joint for _, joint in self.past], np.int64).reshape(-1, players)
        moves = np.zeros(1, np.uint64)
        for joint in actions:
            moves = digest(moves, joint[None])
        games = Games(
            rewards=self.states["rewards"].copy(),
            lengths=np.array([len(actions)]),
            moves=moves ^ seen(self.game, self.states),
            seconds=np.zeros(players),
            decisions=np.zeros(players, np.int64),
            spent=np.zeros((1, players)),
            actions={0: actions},
        )
        seeds: Any = [self.seed]
        yield from records.of_games(self.game, games, self.agents, np.arange(players), seeds)
