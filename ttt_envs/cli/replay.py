"""`ttt replay`: recorded games in the terminal, as a list or one of them move by move."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ttt_envs.cli.common import Printing, RecordFilters

if TYPE_CHECKING:
    from ttt_envs.evaluation.records import GameRecord
    from ttt_envs.evaluation.records.replaying import ReplayedGame


@dataclass(frozen=True, kw_only=True)
class Replay(RecordFilters, Printing):
    """Show recorded games: a list of them, or with --game one of them move by move."""

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """File of records, or the folder that `ttt tournament --record` has made."""
    game: Annotated[int | None, tyro.conf.arg(metavar="NUMBER", help_behavior_hint="")] = None
    """Number of the game to show move by move."""
    step: bool = False
    """Wait for Enter before each move."""

    def run(self) -> None:
        """Print the list, or the game; every game that is shown is replayed and checked."""
        from ttt_envs.evaluation.records.replaying import replay
        from ttt_envs.storage.outside import printable
        from ttt_envs.storage.rows import Listed

        self.check_form()
        if self.game is None:
            if self.step:
                raise ValueError("--step needs the game to step through: --game NUMBER")
            games = (played.record for played in replay(self.read(self.file)))
            if self.json or self.csv:
                self.printed(Listed([row_of(each) for each in games]))
                return
            found = 0
            for record in games:
                found += 1
                print(printable(summary(record)), flush=True)
            print(f"{found} game{'s' * (found != 1)}")
            return
        if self.json or self.csv:
            raise ValueError("--json and --csv are for the list of the games: leave out --game")
        (played,) = replay([self.the_one(self.file, self.game)])
        show(played, wait=self.step)


def row_of(record: "GameRecord") -> dict[str, Any]:
    """A game as plain values."""
    players = {f"player_{player}": agent for player, agent in enumerate(record.agents)}
    rewards = {f"reward_{player}": reward for player, reward in enumerate(record.rewards)}
    facts = {"plies": len(record.actions), "failures": len(record.failures), "seed": str(record.seed)}
    return {"number": record.number, "game": record.game, **players, **rewards, **facts}


def summary(record: "GameRecord") -> str:
    """A game on one line."""
    result = f"won by {' and '.join(record.winners)}" if record.winners else "draw"
    failed = ", with a failure" if record.failures else ""
    return f"{record.number}: {' – '.join(record.agents)}, {len(record.actions)} plies, {result}{failed}"


def show(played: "ReplayedGame", *, wait: bool = False) -> None:
    """Print a game, position by position; `wait` for Enter before each move, until the input ends."""
    from ttt_envs.cli.play import result_of
    from ttt_envs.drawing.film import frames_of, move_text
    from ttt_envs.storage.outside import printable

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
