"""`ttt replay`: recorded games in the terminal, as a list or one of them move by move; or one as a film."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from ttt_envs.cli.common import Printing, check_drawing

if TYPE_CHECKING:
    from ttt_envs.evaluation.records import GameRecord
    from ttt_envs.evaluation.records.replaying import ReplayedGame


@dataclass(frozen=True, kw_only=True)
class Replay(Printing):
    """Show recorded games: a list of them, or with --game one of them move by move, or as a film."""

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """File of records, or the folder that `ttt tournament` has made."""
    game: Annotated[int | None, tyro.conf.arg(metavar="NUMBER", help_behavior_hint="")] = None
    """Number of the game to show move by move."""
    agent: Annotated[str | None, tyro.conf.arg(metavar="AGENT", help_behavior_hint="")] = None
    """Only games in which this agent played, by its name in the records."""
    winner: Annotated[str | None, tyro.conf.arg(metavar="AGENT", help_behavior_hint="")] = None
    """Only games that this agent won; or `draw`."""
    min_plies: int = 0
    """Only games of at least this many plies."""
    max_plies: Annotated[int | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Only games of at most this many plies."""
    step: bool = False
    """Wait for Enter before each move."""
    film: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File to draw the game to, which must not exist yet: an animated .gif, or an .svg of all positions."""
    width: int = 360
    """Width of a GIF in pixels."""
    seconds: float = 0.6
    """Time in seconds for which a GIF shows each position."""
    theme: Literal["light", "dark"] = "light"
    """Colours of a GIF; an SVG follows the browser."""

    def run(self) -> None:
        """Print the list, or the game; every game that is shown is replayed and checked."""
        from ttt_envs.core.options import within
        from ttt_envs.evaluation.records import read
        from ttt_envs.evaluation.records.replaying import replay
        from ttt_envs.storage.rows import Listed
        from ttt_envs.storage.untrusted import printable

        self.check_form()
        if self.film is not None:
            check_drawing(self.film, ".gif", ".svg")
            within(16, 4096, width=self.width)
            within(0.02, 60.0, seconds=self.seconds)
        filters: dict[str, Any] = {"number": self.game, "agent": self.agent, "winner": self.winner}
        found = read(self.file, **filters, min_plies=self.min_plies, max_plies=self.max_plies)
        if self.game is None:
            if self.step or self.film is not None:
                raise ValueError(f"--{'step' if self.step else 'film'} needs the game: --game NUMBER")
            games = (played.record for played in replay(found))
            if self.json or self.csv:
                self.printed(Listed([row_of(each) for each in games]))
                return
            number = 0
            for record in games:
                number += 1
                print(printable(summary(record)), flush=True)
            print(f"{number} game{'s' * (number != 1)}")
            return
        if self.json or self.csv:
            raise ValueError("--json and --csv are for the list of the games: leave out --game")
        chosen = list(found)
        if not chosen:
            raise ValueError(f"{self.file} has no game {self.game}, or the other filters leave it out")
        if len(chosen) > 1:
            places = " and ".join(each.place.rpartition(", ")[2] for each in chosen[:2])
            raise ValueError(f"{self.file} has {len(chosen)} games with number {self.game}, such as on {places}")
        (played,) = replay(chosen)
        if self.film is None:
            show(played, wait=self.step)
        else:
            self._draw(played, self.film)

    def _draw(self, played: "ReplayedGame", film: Path) -> None:
        from ttt_envs.drawing.film import save_film, strip
        from ttt_envs.storage.files import write_whole
        from ttt_envs.storage.untrusted import printable

        given, agents = (played.game, played.states, played.actions), list(map(printable, played.record.agents))
        if film.suffix.lower() == ".gif":
            save_film(film, *given, width=self.width, seconds=self.seconds, theme=self.theme)
        else:
            write_whole(film, strip(*given, agents=agents))
        print(f"{len(played.actions)} plies of {' – '.join(agents)} are drawn in {film}")


def row_of(record: "GameRecord") -> dict[str, Any]:
    """Return a recorded game as one row of plain values."""
    players = {f"player_{player}": agent for player, agent in enumerate(record.agents)}
    rewards = {f"reward_{player}": reward for player, reward in enumerate(record.rewards)}
    facts = {"plies": len(record.actions), "failures": len(record.failures), "seed": str(record.seed)}
    return {"number": record.number, "game": record.game, **players, **rewards, **facts}


def summary(record: "GameRecord") -> str:
    """Return a recorded game as one line of text."""
    result = f"won by {' and '.join(record.winners)}" if record.winners else "draw"
    failed = ", with a failure" if record.failures else ""
    return f"{record.number}: {' – '.join(record.agents)}, {len(record.actions)} plies, {result}{failed}"


def show(played: "ReplayedGame", *, wait: bool = False) -> None:
    """Print a game, position by position; with `wait`, wait for Enter before each move, unless the input has ended."""
    from ttt_envs.cli.play import result_of
    from ttt_envs.drawing.film import frames_of, move_text
    from ttt_envs.storage.untrusted import printable

    record, game = played.record, played.game
    options = " ".join(f"{name}={value}" for name, value in record.options.items())
    library, agents = printable(record.library), [printable(each) for each in record.agents]
    print(f"{game.title}, game {record.number}, seed {record.seed}, played by ttt-envs {library}\n{options}")
    seated = [f"{agent} (player {player})" for player, agent in enumerate(agents)]
    before = 0
    for frame in frames_of(game, played.states, played.actions):
        if frame.ply > before:
            if wait:
                try:
                    input("Enter: ")
                except EOFError:
                    wait = False
            before = frame.ply
            print(f"\nply {frame.ply}: {move_text(game, played.actions[frame.ply - 1], seated)}")
        print(f"\n{game.format_state(frame.state, None)}", flush=True)
    for failure in record.failures:
        print(f"\n{seated[failure.player]} failed: {printable(failure.reason)}")
    print(f"\n{result_of(game, agents, played.states[-1])}")
