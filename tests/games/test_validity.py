"""Each rule of each game's invariants refuses a position that breaks it alone; no state that is let in does harm."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from guarded import Record, guarded, plain
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.validity import Validity
from ttt_envs.testing.positions import play_batch

GAMES: dict[str, Callable[[], Game]] = {
    "super": lambda: ttt_envs.load("super_tic_tac_toe"),
    "martian": lambda: ttt_envs.load("martian_tic_tac_toe", **OPTIONS["martian_tic_tac_toe"][1]),
    "martian without limit": lambda: ttt_envs.load("martian_tic_tac_toe", repetition_limit=None),
    "dice": lambda: ttt_envs.load("tic_tac_dice"),
    "single dice": lambda: ttt_envs.load("tic_tac_dice", rounds="single"),
    "match": lambda: ttt_envs.load("tic_tac_match", **OPTIONS["tic_tac_match"][1]),
    "operation": lambda: ttt_envs.load("operation_tic_tac_toe", **OPTIONS["operation_tic_tac_toe"][1]),
    "operation round": lambda: ttt_envs.load("operation_tic_tac_toe", mode="round"),
}

X_MARKS = 0b110001101  # with O's in all other cells, a small board without a line
PICKED = {"phase": 2, "placer": 0, "first": 0, "to_move": -1, ("standing", (0, 1), 0): 2}
PREDICT = 81

Fields = dict[Any, Any]

# Fields of a new game, or parts of them, or cards that go from one heap to another; and the rule that then breaks.
CASES: list[tuple[str, Fields, str]] = [
    ("super", {("marks", (0, 1), 0): 1, "ply": 2}, "no cell holds two marks"),
    ("super", {"owned": 1}, "no small board belongs to both players"),
    ("super", {"playable": 510}, "`playable` must be the small boards that are neither full nor closed"),
    ("super", {"ply": 3}, "as many marks as plies"),
    ("super", {("marks", 1, 0): 1, "ply": 1}, "X moves first"),
    ("super", {("owned", 0): 1}, "`owned` must be small boards in which the player has a line"),
    (
        "super",
        {
            ("marks", 0, (0, 1, 2)): 0b111,
            ("marks", 1, (3, 4, 5)): 0b100011,
            ("owned", 0): 0b111,
            "ply": 18,
        },
        "three small boards of one player in a row",
    ),
    (
        "super",
        {
            ("marks", 0, 4): X_MARKS,
            ("marks", 1, 4): 511 - X_MARKS,
            "playable": 511 - 16,
            "ply": 9,
            "to_move": 1,
            "target": 4,
        },
        "nobody can be sent",
    ),
    ("martian", {"line": 3}, "`line` and `pieces` must be `size`"),
    ("martian", {("stash", 1, 2): 4}, "must have `pieces` pieces of each size"),
    ("martian", {"logged": 1}, "no more pieces on the board and moves in the log than plies"),
    ("martian", {"ply": 60}, "`max_plies` plies end the game"),
    ("martian without limit", {"logged": 1, "ply": 1}, "without a limit of repetitions nothing is logged"),
    ("martian", {"occurred": 2}, "`occurred` must be no more"),
    ("martian", {"occurred": 3, "logged": 2, "ply": 2}, "`repetition_limit` occurrences end the game"),
    ("martian", {"logged": 1, "ply": 1}, "each move in the log must have replaced a piece"),
    ("martian", {("log", 0): 5}, "nothing may stand behind the last one"),
    ("dice", {"rank": [1, 1, 1, 1, 1, 2, 3, 4, 5]}, "4 cards of a rank"),
    ("dice", {("owner", 0): 1}, "at least as many"),
    ("single dice", {"ply": 1}, "as many plies as markers"),
    ("dice", {"dice": [3, 2]}, "two numbers from 1 to 6, the lower one first"),
    ("dice", {"rank": [1, 1, 1, 2, 2, 2, 3, 3, 3], "dice": [4, 4]}, "the dice must allow a card"),
    ("single dice", {"points": 1}, "in a single round there are no points"),
    ("dice", {"points": 5}, "points must be below `target`"),
    ("dice", {"drawn": 32}, "32 drawn rounds"),
    (
        "dice",
        {"rank": [1, 1, 1, 2, 2, 2, 3, 3, 3], "dice": [2, 3], ("owner", (0, 1, 2)): 2, "ply": 3},
        "a row ends the round",
    ),
    ("match", {("pile", 0): 1}, "must be the cards of the deck"),
    ("match", {("pile", "covered", -1): 1}, "only symbol cards can lie covered"),
    ("match", {("pile", "discard", ...): None}, "the pile is never empty"),
    ("match", {"pending": 2}, "all hands must be full"),
    ("match", {("pile", "covered", 0): 1}, "no more cards on the board than can be laid"),
    ("match", {"turn": 1000, "ply": 1000}, "`max_turns` turns end the game"),
    ("match", {"ply": 10}, "from one to three plies"),
    ("match", {"identity": 1}, "one side's ID cards"),
    ("match", {"turn": 3, "ply": 3, ("top", (0, 1, 2)): 3, ("pile", 3): -3}, "three cards of a kind in a row"),
    ("match", {"last_action": 3}, "must both be there, or neither"),
    ("operation", {"placer": 0}, "nobody is the Placer, or was first"),
    ("operation", {"phase": 1, "placer": 0, "first": 1, "to_move": -1}, "who picks a specialist"),
    ("operation", {"phase": 1, "placer": 0, "first": 0, "to_move": 0}, "`to_move` must be SIMULTANEOUS in a turn"),
    ("operation", {"phase": 3, "placer": 0, "first": 0, "to_move": 1}, "the Placer must decide on an ability"),
    ("operation", {("board", 0): 1}, "before anything is placed"),
    ("operation round", {"phase": 0, "placer": -1, "first": -1, "to_move": 0}, "in matches only"),
    ("operation", {"pending": 3}, "`pending` must be the room"),
    ("operation", {**PICKED, "phase": 3, "to_move": 0, "pending": 3, ("board", 3): 1}, "`pending` must be the room"),
    ("operation", {**PICKED, ("board", (0, 1, 2)): 1}, "three pieces of one player in a row"),
    ("operation", {**PICKED, "idle": 3}, "`max_idle_turns` idle turns"),
    ("operation", {("standing", 0, 0): 1}, "unused and offered must fit the round"),
    ("operation", {**PICKED, "round": 2, ("standing", (0, 1), (0, 1)): 2}, "no player has more specialists"),
    ("operation round", {"round": 2}, "a single round is round 1"),
    ("operation", {("wins", 0): 1}, "no more wins than rounds"),
    (
        "operation",
        {"round": 8, ("standing", (0, 1), (0, 1, 2, 3, 4, 5, 6)): 3, ("wins", 0): 7},
        "`rounds_to_win` wins end the match",
    ),
    ("operation", {("last", 0): 0}, "`last` must have both players' submissions"),
    ("operation", {"last": [0, PREDICT]}, "before the first turn of a round"),
    ("operation", {**PICKED, "last": [PREDICT, PREDICT]}, "the Placer must have placed something"),
    ("operation", {**PICKED, "last": [0, 0]}, "the Predictor must have predicted"),
    ("operation", {**PICKED, "last": [PREDICT, 0], "last_ability": 0}, "`last_ability` must be the use of an ability"),
]


def crafted(game: Game, fields: Fields) -> np.ndarray:
    """A new state with other values in these fields."""
    states = game.new_state(5)
    state: Any = states[0]
    for key, value in fields.items():
        name, *place = (key,) if isinstance(key, str) else key
        if place and isinstance(place[0], str):  # cards are moved to another heap
            other, kind = place
            moved = state[name][kind].copy() if value is None else value
            state[other][kind] += moved
            state[name][kind] -= moved
        elif place:
            where = np.ix_(*([each] if isinstance(each, int) else each for each in place))
            state[name][where] = state[name][where] + value if name == "pile" else value
        else:
            state[name] = value
    return states


@pytest.mark.parametrize(("name", "fields", "rule"), CASES, ids=[f"{name}: {rule}" for name, _, rule in CASES])
def test_a_broken_rule_is_named(name: str, fields: Fields, rule: str) -> None:
    """All fields lie in their ranges; options may be those of any game."""
    game = GAMES[name]()
    validity = Validity(game.state_dtype, game.invariants, ranges=game.ranges)
    validity.check(game.new_state(5))
    with pytest.raises(ValueError, match="state 0 is no position") as error:
        validity.check(crafted(game, fields))
    assert rule in str(error.value)


def test_each_rule_of_each_game_is_tried() -> None:
    for name, make in GAMES.items():
        game = make()
        assert game.invariants is not None
        tried = [rule for each, _, rule in CASES if GAMES[each]().id == game.id]
        for _, rule in game.invariants(game.new_state(5)):
            assert any(each in rule for each in tried), f"{name}: {rule}"


# --- damaged states ---

#: Seconds within which a step must end.
PATIENCE = 60


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise TimeoutError after so long."""

    def too_long(*_: Any) -> None:
        raise TimeoutError("a kernel does not end")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def damaged(states: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, str]:
    """One of the states with one entry of a random field changed, structured (1,); and the field's name."""
    state = states[generator.integers(len(states))][None].copy()
    names = [name for name in state.dtype.names or () if name != "rng" and state[name].size]
    name = names[generator.integers(len(names))]
    values = state[name].ravel()
    entry = generator.integers(len(values))
    raw = values[entry : entry + 1].view(np.uint8)
    if generator.random() < 0.5:
        raw[:] = generator.integers(0, 256, len(raw))
    else:  # near what it was: of these more are accepted
        raw[0] = (int(raw[0]) + generator.integers(-2, 3)) % 256
    state[name] = values.reshape(state[name].shape)
    return state, name


def accepts(game: Game, state: np.ndarray) -> bool:
    """Whether the state is let in; the message says that it is none."""
    try:
        game.check_states(state)
    except ValueError as error:
        if "no position of" in str(error):
            return False
        raise
    return True


class Kernels:
    """A game's kernels as plain Python, in which no index is below zero or too large."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.step = plain(game.kernels.step)
        self.legal_mask = plain(game.kernels.legal_mask)
        self.observe = plain(game.kernels.observe)
        self.resample = plain(game.kernels.resample)

    def look(self, state: np.ndarray) -> list[np.ndarray]:
        """The masks of all players; their observations, worlds, texts and pictures are made too."""
        game, masks = self.game, []
        for player in range(game.num_players):
            mask, out = np.zeros(game.num_actions, np.bool_), np.zeros(game.observation_size, np.int8)
            if not state[0]["done"]:
                self.legal_mask(Record(state, 0), player, guarded(mask))
            self.observe(Record(state, 0), player, guarded(out))
            assert set(np.unique(out)) <= {0, 1}
            masks.append(mask)
            world = state.copy()
            self.resample(Record(world, 0), player, np.uint64(player))
            game.check_states(world)
        for viewer in (None, *range(game.num_players)):
            game.format_state(state[0], viewer)
            game.draw(state[0], viewer)
        return masks

    def play_on(self, state: np.ndarray, generator: np.random.Generator, steps: int) -> None:
        """Play random actions from a state; each state that follows must be accepted too."""
        for _ in range(steps):
            masks = self.look(state)
            if state[0]["done"]:
                return
            actions = np.array([generator.choice(np.flatnonzero(m)) if m.any() else -1 for m in masks])
            self.step(Record(state, 0), actions)
            state[0]["ply"] += 1
            self.game.check_states(state)


def some_states(game: Game, seed: int) -> np.ndarray:
    """States of random play, and a few more of those in which a game is over."""
    states = play_batch(Batch(game, 2, seed=seed), min(game.max_plies, 50)).states.ravel()
    return np.concatenate([states[~states["done"]], states[states["done"]][:5]])


def attack(game: Game, times: int, steps: int, seed: int) -> tuple[int, int]:
    """Damage states; gives how many of them were accepted and refused."""
    generator, kernels = np.random.default_rng(seed), Kernels(game)
    states, accepted = some_states(game, seed), 0
    for _ in range(times):
        state, name = damaged(states, generator)
        before = state.copy()
        if not accepts(game, state):
            continue
        accepted += 1
        try:
            with within(PATIENCE), np.errstate(over="ignore"):
                kernels.play_on(state, generator, steps)
        except Exception as error:
            raise AssertionError(f"{game!r}: field {name}: {before} is accepted, then {error!r}") from error
    return accepted, times - accepted


def options_of(most: int | None) -> list[Game]:
    """The registry's games with so many of their option sets."""
    return [ttt_envs.load(game_id, **options) for game_id, sets in OPTIONS.items() for options in sets[:most]]


@pytest.mark.parametrize("game", options_of(1), ids=repr)
def test_a_damaged_state_is_refused_or_does_no_harm(game: Game) -> None:
    accepted, refused = attack(game, times=80, steps=2, seed=1)
    assert accepted > 5
    assert refused > 40


@pytest.mark.slow
@pytest.mark.parametrize("game", options_of(None), ids=repr)
def test_many_damaged_states_are_refused_or_do_no_harm(game: Game) -> None:
    accepted, refused = attack(game, times=3000, steps=12, seed=2)
    assert accepted > 100
    assert refused > 1000


@pytest.mark.parametrize("game", options_of(1), ids=repr)
def test_no_field_may_have_any_value(game: Game) -> None:
    """Each entry of each field is refused with its greatest or its least value, but the generator's."""
    state = game.new_state(3)
    for name in state.dtype.names or ():
        for entry in range(state[name].size if name != "rng" else 0):
            let_in = []
            for top in (0x7F, 0x80) if name != "rewards" else (0x7F, 0xFF):
                changed = state.copy()
                values = changed[name].ravel()
                raw = values[entry : entry + 1].view(np.uint8)
                raw[:], raw[-1] = 0xFF * (top != 0x80), top
                changed[name] = values.reshape(changed[name].shape)
                let_in.append(accepts(game, changed))
            assert let_in == [False, False], f"{name}, entry {entry}"
