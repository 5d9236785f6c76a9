"""Games that are saved to a file and continued later."""

from pathlib import Path
from typing import Self

from ttt_envs.core.game import Game
from ttt_envs.core.played_game import PlayedGame
from ttt_envs.evaluation import records
from ttt_envs.evaluation.records.replaying import game_of, replay


class SavedGame(PlayedGame):
    """A game that can be saved as a record of `ttt_envs.evaluation.records`, finished or not.

    The record contains the seed, which determines hidden information and future chance.

    Attributes:
        agents: the agent in each seat, by name.
    """

    agents: tuple[str, ...] = ()
    _file: Path | None = None

    @classmethod
    def read(cls, path: Path, game: Game | None = None) -> Self:
        """Return the game from a file of `save`, replayed from its seed to the saved position.

        `game` is required if the game is not registered.

        Raises:
            FileNotFoundError: the file does not exist.
            ValueError: the file has no saved game, several games, a record of another game, or one that breaks the
                rules.
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
        """Write the game to a file atomically.

        Raises FileExistsError if the file exists, unless this game was saved to it or read from it; raises OSError if
        the file cannot be written.
        """
        if path.exists() and (self._file is None or not path.samefile(self._file)):
            raise FileExistsError(f"{path} exists: choose another name, or delete the file first")
        records.write(path, [records.of_live(self, self.agents)])
        self._file = path
