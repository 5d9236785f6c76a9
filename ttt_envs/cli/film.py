"""`ttt film`: a game as an animated picture or as a strip of its positions."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from ttt_envs.cli.common import GameArguments, RecordFilters, seated

if TYPE_CHECKING:
    from ttt_envs.evaluation.records.replaying import ReplayedGame


@dataclass(frozen=True, kw_only=True)
class Film(GameArguments):
    """Draw a game as an animated GIF, or as an SVG with its positions side by side.

    Either a recorded game is drawn (FILE --game NUMBER), or a new one is played (GAME --agents A B).
    """

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[GAME | FILE]", help_behavior_hint="")] = ""
    """Id of the game to be played; or what --record names: a file of records, or a folder."""
    agents: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="(default: greedy for all)")
    ] = ()
    """One agent a player, in the order of play; or one for all seats."""
    seed: int = 0
    """Seed of the game that is played, and of the agents."""
    record: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File of records, or folder of `ttt tournament --record`, from which a game is drawn instead."""
    number: Annotated[int, tyro.conf.arg(name="game", metavar="NUMBER")] = 0
    """Number of the recorded game."""
    out: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """File to write, which ends in .gif or .svg; it must not exist yet."""
    width: int = 360
    """Width of a GIF in pixels."""
    seconds: float = 0.6
    """Time in seconds for which a GIF shows each position."""
    theme: Literal["light", "dark"] = "light"
    """Colours of a GIF; an SVG follows the browser."""
    columns: int = 6
    """Positions in a row of an SVG."""

    def run(self) -> None:
        """Play or replay the game, and draw it."""
        from ttt_envs.core.options import within
        from ttt_envs.drawing.film import save_film, strip
        from ttt_envs.evaluation.records.record import RECORDS
        from ttt_envs.storage.extras import require
        from ttt_envs.storage.files import check_writable, write_whole
        from ttt_envs.storage.outside import printable

        folder = bool(self.game) and Path(self.game, RECORDS).is_file()
        if self.record is None and (folder or self.game.endswith((".jsonl", ".jsonl.gz"))):
            return replace(self, game="", record=Path(self.game)).run()
        kind = self.out.suffix.lower()
        if kind not in (".gif", ".svg"):
            raise ValueError(f"a film is a .gif or an .svg, not {self.out.name}")
        if self.out.exists():
            raise FileExistsError(f"{self.out} exists: choose another file, or delete this one first")
        within(16, 4096, width=self.width)
        within(1, 1000, columns=self.columns)
        within(0.02, 60.0, seconds=self.seconds)
        if kind != ".svg":  # before the game is played
            require("render", "PIL", "resvg_py")
        check_writable(self.out)
        played = self._replayed() if self.record is not None else self._played()
        given, agents = (played.game, played.states, played.actions), list(map(printable, played.record.agents))
        if kind != ".svg":
            save_film(self.out, *given, width=self.width, seconds=self.seconds, theme=self.theme)
        else:
            write_whole(self.out, strip(*given, agents=agents, columns=self.columns))
        print(f"{len(played.actions)} plies of {' – '.join(agents)} are drawn in {self.out}")

    def _replayed(self) -> "ReplayedGame":
        from ttt_envs.evaluation.records.replaying import replay

        if self.game or self.agents or self.option:
            raise ValueError("a recorded game has its own agents and options: leave out GAME, --agents and --option")
        assert self.record is not None
        (played,) = replay([RecordFilters().the_one(self.record, self.number)])
        return played

    def _played(self) -> "ReplayedGame":
        from ttt_envs.evaluation.arena.play import game_seeds, play_games
        from ttt_envs.evaluation.records import of_games
        from ttt_envs.evaluation.records.replaying import replay

        if self.number:
            raise ValueError(
                "--game is the number of a recorded game: name its file, as in ttt film FILE --game NUMBER"
            )
        if not self.game:
            raise ValueError("name the game to be played, GAME, or the file of a recorded one, --record FILE")
        game = self.load()
        names = self.agents or ("greedy",)
        players = seated(game, names * game.num_players if len(names) == 1 else names)
        seats, seeds = range(len(players)), game_seeds(self.seed, 1)
        games = play_games(game, players, seats=list(seats), seeds=seeds, keep=[0], strict=False)
        (played,) = replay(of_games(game, games, [each.name for each in players], list(seats), seeds), game=game)
        return played
