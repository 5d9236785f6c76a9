"""Play at random for long, and look whether anything breaks: games in batches, and calls with garbage among them.

    python -m tools.soak --steps 100000000 --calls 1000000

Steps are those of single games in batches, of all games with several option sets. Calls are those of AEC, Parallel,
Batch and Gymnasium environments; see tests/support/models. Ctrl-C ends it with a summary. The exit status is 1 if
anything broke: the seed, the game and what was wrong are printed.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tyro
from rich.console import Console
from rich.progress import Progress

import ttt_envs
from tests.support.models.batch import BatchModel
from tests.support.models.common import CALLS, GARBAGE, attempt, check, check_rewards, fault_of_number, fault_of_seed
from tests.support.models.environments import AecModel, ParallelModel
from ttt_envs import agents
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.illegal import IllegalAction
from ttt_envs.core.rng import choose_rows
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.registry import parse_options
from ttt_envs.wrappers.single import PlayerEnv

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

#: Calls in a row of one environment.
_CALLS = 100


@dataclass(frozen=True)
class Soak:
    """Play at random for long, and look whether anything breaks."""

    steps: int = 10**7
    """Steps of single games in batches."""
    calls: int = 10**5
    """Calls of environments, with garbage among them."""
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


class SeatModel:
    """A Gymnasium environment against a random opponent; its positions are not predicted, errors and rewards are."""

    def __init__(self, game: Game) -> None:
        """`game`: that of the environment."""
        self.game = game
        self.env = PlayerEnv(game, opponent=agents.load("random"), illegal="raise", render_mode="ansi")
        self.live = self.over = False

    def reset(self, seed: Any) -> None:
        """Call `reset`."""
        CALLS["SeatModel"] += 1
        # Gymnasium itself wants a seed of type int, and checks that first.
        wanted = None if seed is None else fault_of_seed(seed) or (TypeError, None)[type(seed) is int]
        if wanted is not None or (seed is not None and seed >= 2**32):
            seed, wanted = None, None
        attempt(lambda: self.env.reset(seed=seed), wanted, f"reset({seed!r})")
        self.live, self.over = True, False

    def legal(self) -> np.ndarray:
        """The learner's legal actions."""
        return np.flatnonzero(self.env.action_masks()) if self.live and not self.over else np.zeros(0, np.int64)

    def step(self, action: Any) -> None:
        """Call `step`."""
        CALLS["SeatModel"] += 1
        wanted = fault_of_number(action, self.game.num_actions) if self.live else RuntimeError
        if wanted is None and self.over:
            wanted = RuntimeError
        if wanted is None and int(action) not in self.legal():
            wanted = IllegalAction
        result = attempt(lambda: self.env.step(action), wanted, f"step({action!r})")
        if result is None:
            return
        seen, reward, self.over, truncated, info = result
        check(not truncated and -1 <= reward <= 1 and (self.over or reward == 0), "the reward")
        check((seen["action_mask"] == info["action_mask"]).all(), "two masks")
        check(seen["action_mask"].any() != self.over, "the learner cannot act, or can after the end")
        check(((seen["observation"] == 0) | (seen["observation"] == 1)).all(), "a feature is neither 0 nor 1")


def _any_of(generator: np.random.Generator, values: Any) -> Any:
    return values[int(generator.integers(len(values)))]


def calls_of_one(game: Game, generator: np.random.Generator) -> Iterator[Callable[[], None]]:
    """Calls of one environment after the other, at random, with garbage among them."""

    def odd() -> Any:
        return _any_of(generator, GARBAGE)

    def pick(legal: np.ndarray) -> Any:
        return int(_any_of(generator, legal)) if len(legal) else None

    seed = int(generator.integers(2**32))
    illegal, n = _any_of(generator, ("lose", "raise")), int(generator.integers(1, 5))
    aec, parallel = AecModel(game, illegal), ParallelModel(game, illegal)
    batch, seat = BatchModel(game, n, seed, bool(generator.integers(2))), SeatModel(game)
    fields = game.state_dtype.names or ()

    def answers() -> dict[str, Any]:
        return {name: pick(np.flatnonzero(mask)) for name, mask in zip(parallel.names, parallel.legal(), strict=True)}

    def craft(model: AecModel | ParallelModel) -> None:
        model.set_state(model.crafted(_any_of(generator, fields), int(generator.integers(500)), generator.bytes(8)))

    def go_back(model: AecModel | ParallelModel) -> None:
        model.save()
        if model.saved:
            model.set_state(*_any_of(generator, model.saved[-5:]))

    def either() -> Any:
        return _any_of(generator, (aec, parallel))

    usual: list[Callable[[], None]] = [
        lambda: aec.step(pick(aec.legal())),
        lambda: parallel.step(answers()),
        lambda: batch.step(batch.legal(generator)),
        lambda: seat.step(pick(seat.legal())),
    ]
    seldom: list[Callable[[], None]] = [
        lambda: aec.step(_any_of(generator, (odd(), int(generator.integers(-1, game.num_actions + 1))))),
        lambda: parallel.step(_any_of(generator, (odd(), {**answers(), parallel.names[-1]: odd()}))),
        lambda: batch.step(odd()),
        lambda: batch.step(generator.integers(-1, game.num_actions + 1, (n, game.num_players))),
        lambda: batch.step_rows(odd(), odd()),
        lambda: batch.reset_rows(_any_of(generator, (odd(), [0]))),
        lambda: batch.look(_any_of(generator, (odd(), 0, None))),
        lambda: batch.fill(odd()),
        lambda: batch.reset(_any_of(generator, (None, seed, odd()))),
        lambda: seat.step(_any_of(generator, (odd(), int(generator.integers(-1, game.num_actions + 1))))),
        lambda: seat.reset(None),
        lambda: either().reset(_any_of(generator, (None, seed, odd()))),
        lambda: either().ask(_any_of(generator, (odd(), "player_0", "player_1"))),
        lambda: aec.observe(_any_of(generator, (odd(), "player_0"))),
        lambda: either().set_state(odd()),
        lambda: go_back(either()),
        lambda: craft(either()),
        lambda: either().close(),
    ]
    while True:
        yield _any_of(generator, usual if generator.random() < 0.7 else seldom)


def run(soak: Soak, console: Console) -> tuple[Counter[str], list[str]]:
    """Play; returns what was counted, and what broke."""
    counts: Counter[str] = Counter()
    broken: list[str] = []
    generator = np.random.default_rng(soak.seed)
    games = loaded(soak)
    with Progress(console=console, transient=True) as progress:
        stepping = progress.add_task("steps", total=soak.steps)
        calling = progress.add_task("calls", total=soak.calls)

        def watch(game: Game, seed: int, work: Callable[[], None]) -> None:
            try:
                work()
            except Exception as error:
                broken.append(f"seed {soak.seed}, {game!r}, part {seed}: {type(error).__name__}: {error}")
                console.print(broken[-1], markup=False, highlight=False, soft_wrap=True)

        # Few enough that every game has a turn.
        looks = min(_LOOKS, 1 + soak.steps // (len(games) * _GAMES * _STEPS))

        def play(game: Game, seed: int) -> None:
            steps = Steps(game, seed)
            for _ in range(looks):
                counts["steps"] += steps.round()
                counts["looks"] += 1
                progress.update(stepping, completed=counts["steps"], description=f"steps: {game.id}")
                if counts["steps"] >= soak.steps:
                    break

        def call(game: Game, seed: int) -> None:
            before, calls = CALLS.total(), calls_of_one(game, np.random.default_rng(seed))
            while (made := CALLS.total() - before) < min(_CALLS, soak.calls - counts["calls"]):
                next(calls)()
            counts["calls"] += made
            progress.update(calling, completed=counts["calls"], description=f"calls: {game.id}")

        try:
            while counts["steps"] < soak.steps or counts["calls"] < soak.calls:
                for game in games:
                    seed = int(generator.integers(2**32))
                    if counts["steps"] < soak.steps:
                        started = time.perf_counter()
                        watch(game, seed, lambda game=game, seed=seed: play(game, seed))  # type: ignore[misc]
                        counts["step_ms"] += round(1000 * (time.perf_counter() - started))
                    started = time.perf_counter()
                    # As far as the steps are, so that each game has its share of both.
                    share = soak.calls * min(1, counts["steps"] / max(soak.steps, 1))
                    while counts["calls"] < share and len(broken) < 20:
                        watch(game, seed, lambda game=game, seed=seed: call(game, seed))  # type: ignore[misc]
                        seed += 1
                    counts["call_ms"] += round(1000 * (time.perf_counter() - started))
                    if len(broken) >= 20:
                        return counts, broken
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
    counts, broken = run(soak, console)
    seconds = {name: max(counts[f"{name}_ms"], 1) / 1000 for name in ("step", "call")}
    print(
        f"{counts['steps']:,} steps in {seconds['step']:,.0f} s, everything looked at {counts['looks']:,} times; "
        f"{counts['calls']:,} calls in {seconds['call']:,.0f} s ({', '.join(f'{k} {v:,}' for k, v in CALLS.items())}); "
        f"{len(broken)} broken invariants"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
