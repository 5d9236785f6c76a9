"""Games that are saved to a file and gone on with."""

from pathlib import Path
from typing import Self

from ttt_envs.core.game import Game
from ttt_envs.core.played_game import PlayedGame
from ttt_envs.evaluation import records
from ttt_envs.evaluation.records.replaying import game_of, replay


class SavedGame(PlayedGame):
    """A game that can be saved: as a record of `ttt_envs.evaluation.records`, which need not be over.

    The record holds the seed, and with it all that is hidden and all chance to come.

    Attributes:
        agents: the agent in each seat, by name.
    """

    agents: tuple[str, ...] = ()
    _file: Path | None = None

    @classmethod
    def read(cls, path: Path, game: Game | None = None) -> Self:
        """Return the game of a file by `save`, played again from its seed to the same position.

        `game` is needed for one that is not registered.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it holds no saved game, more than one, one of another game, or one that does not fit its rules.
        """
        found = list(records.read(path))
        if len(found) != 1:
            raise ValueError(f"{path} holds {len(found)} games; a saved game is one, as `save` writes it")
        (record,) = found
        if record.failures:
            raise ValueError(f"{path} holds a game that an agent lost by failing: nobody can go on with it")
        (played,) = replay(found, game=game or game_of(record), unfinished=True)
        live = cls(played.game, record.seed, played.actions.tolist())
        live.agents, live._file = record.agents, path
        return live

    def save(self, path: Path) -> None:
        """Write the game to a file, whole or not at all.

        Raises FileExistsError for a file that is there, unless this game was saved to it or read from it; OSError for
        one that cannot be written.
        """
        if path.exists() and (self._file is None or not path.samefile(self._file)):
            raise FileExistsError(f"{path} exists: choose another name, or delete the file first")
        records.write(path, [records.of_live(self, self.agents)])
        self._file = path
