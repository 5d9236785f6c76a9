"""Play batches of all games at random for long, with several option sets, and look whether anything breaks.

    python -m tools.soak --steps 100000000

`tools.fuzz` makes arbitrary calls. Ctrl-C ends it with a summary. The exit status is 1 if anything broke: the seed,
the game and what was wrong are printed.
"""

import sys
import time
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import tyro
from rich.console import Console
from rich.progress import Progress

import ttt_envs
from tests.support.models.common import check, check_rewards
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.rng import choose_rows
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.registry import parse_options

#: Option sets beside the default ones.
OPTIONS: dict[str, tuple[str, ...]] = {
    "super_tic_tac_toe": ("won_boards=closed first_move=anywhere", "random_opening_plies=6"),
    "martian_tic_tac_toe": ("size=5 players=3 max_plies=60", "size=3 repetition_limit=3", "size=6 players=4"),
    "tic_tac_dice": ("rounds=single", "size=5 win_length=4 target_points=3"),
    "tic_tac_super_dice": ("rounds=single",),
    "tic_tac_match": ("players=4 teams=true", "players=4 teams=false hand_size=6", "colours=2 copies=4 hand_size=2"),
    "operation_tic_tac_toe": ("mode=round", "rounds_to_win=1 max_rounds=2 allow_pass=true draw_offers=true"),
}

#: Games side by side, steps of each between two looks at everything, and at most so many looks in a game's turn.
_GAMES, _STEPS, _LOOKS = 512, 16, 64

#: Faults after which it ends.
_BROKEN = 20


@dataclass(frozen=True)
class Soak:
    """Play at random for long, and look whether anything breaks."""

    steps: int = 10**7
    """Steps of single games in batches."""
    seed: int | None = None
    """Seed of all that is random; without one it is drawn, and printed."""
    games: tuple[str, ...] = tuple(ttt_envs.GAMES)
    """Ids of games."""
    plain: bool = False
    """Use the games with their default options only, which saves compiling the others."""


def loaded(soak: Soak) -> list[Game]:
    """The games with their option sets."""
    texts = {game_id: ("", *(() if soak.plain else OPTIONS.get(game_id, ()))) for game_id in soak.games}
    return [ttt_envs.load(each, **parse_options(each, text.split())) for each in texts for text in texts[each]]


class Steps:
    """Random play of many games at once."""

    def __init__(self, game: Game, seed: int) -> None:
        """`seed` fixes the games and the choices."""
        self.game = game
        self.batch = Batch(game, _GAMES, seed=seed)
        self.generator = np.random.default_rng(seed)
        self.joint = np.empty((_GAMES, game.num_players), np.int64)

    def choose(self) -> np.ndarray:
        """A random legal action for each who acts, int64 (n, players), -1 for the rest; also checks who can act."""
        game, states = self.game, self.batch.states
        going, to_move = ~states["done"], states["to_move"]
        stuck = going.copy()
        out = np.empty(_GAMES, np.int64)
        for player in range(game.num_players):
            masks = self.batch.masks(player)
            acts = masks.any(axis=1)
            check(not (acts & ~going).any(), "somebody can act in a game that is over")
            check((acts == (to_move == player))[going & (to_move != SIMULTANEOUS)].all(), "another one can act")
            seeds = self.generator.integers(0, 2**64, _GAMES, np.uint64)
            choose_rows(masks, seeds, out)
            self.joint[:, player] = np.where(acts, out, -1)
            stuck &= ~acts
        check(not stuck.any(), "nobody can act, and the game is not over")
        return self.joint

    def round(self) -> int:
        """Play some steps, look at everything, and start games anew; returns the number of steps."""
        batch, steps = self.batch, 0
        batch.auto_reset = bool(self.generator.integers(2))
        for _ in range(_STEPS):
            before = batch.states.copy()
            batch.step(self.choose())
            over = before["done"]
            steps += int((~over).sum())
            if not batch.auto_reset:
                check(batch.states[over].tobytes() == before[over].tobytes(), "a game that is over changes")
                check((batch.states["ply"] == before["ply"] + ~over).all(), "ply does not count the steps")
            check((batch.rewards[~batch.done] == 0).all(), "a reward before the end")
        self.look()
        batch.reset_rows(batch.states["done"])
        return steps

    def look(self) -> None:
        """Check everything that holds in any position."""
        game, batch = self.game, self.batch
        game.check_states(batch.states)
        check_rewards(game, batch.states)
        out = np.empty((_GAMES, game.observation_size), np.int8)
        for player in range(game.num_players):
            out[:] = 7
            batch.observations(player, out=out)
            check(((out == 0) | (out == 1)).all(), "a feature is neither 0 nor 1")
            view = batch.view(player)
            worlds = game.check_states(view.sample_worlds(int(self.generator.integers(2**32))))
            again = np.empty_like(out)
            game.loops.observe_rows(worlds, view.players, again)
            check((again == out).all(), "a sampled world looks different to the player")


def run(soak: Soak, console: Console) -> tuple[Counter[str], list[str]]:
    """Play; returns what was counted, and what broke."""
    counts: Counter[str] = Counter()
    broken: list[str] = []
    generator = np.random.default_rng(soak.seed)
    games = loaded(soak)
    # Few enough that every game has a turn.
    looks = min(_LOOKS, 1 + soak.steps // (len(games) * _GAMES * _STEPS))

    def play(game: Game, seed: int) -> None:
        steps = Steps(game, seed)
        for _ in range(looks):
            counts["steps"] += steps.round()
            counts["looks"] += 1
            progress.update(task, completed=counts["steps"], description=game.id)
            if counts["steps"] >= soak.steps:
                break

    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("", total=soak.steps)
        try:
            while counts["steps"] < soak.steps:
                for game in games:
                    seed = int(generator.integers(2**32))
                    if counts["steps"] >= soak.steps or len(broken) >= _BROKEN:
                        return counts, broken
                    try:
                        play(game, seed)
                    except Exception as error:
                        broken.append(f"seed {soak.seed}, {game!r}, part {seed}: {type(error).__name__}: {error}")
                        console.print(broken[-1], markup=False, highlight=False, soft_wrap=True)
        except KeyboardInterrupt:
            console.print("Interrupted.")
    return counts, broken


def main() -> int:
    """The command line; returns the exit status."""
    soak = tyro.cli(Soak, prog="python -m tools.soak", description=__doc__)
    if soak.seed is None:
        soak = replace(soak, seed=int(np.random.SeedSequence().generate_state(1)[0]))
    console = Console(stderr=True)
    console.print(f"seed {soak.seed}", highlight=False)
    started = time.process_time()
    counts, broken = run(soak, console)
    print(
        f"{counts['steps']:,} steps in {time.process_time() - started:,.0f} s of processor time, everything looked at "
        f"{counts['looks']:,} times; {len(broken)} broken invariants"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
