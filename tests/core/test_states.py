"""States and players from outside are checked before a compiled kernel sees them."""

import warnings
from collections.abc import Callable
from io import BytesIO
from typing import Any

import kuhn_poker
import numpy as np
import pytest
import toy_race
from changed import changed
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.checks import Validity
from ttt_envs.core.game import Game
from ttt_envs.core.state import between, option, state_dtype
from ttt_envs.core.view import View
from ttt_envs.wrappers.common import pack_state

SUPER, DICE, OPERATION = "super_tic_tac_toe", "tic_tac_dice", "operation_tic_tac_toe"


def load(game_id: str) -> Game:
    """The game with the options that most tests use, so that nothing is compiled for this file alone."""
    return ttt_envs.load(game_id, **OPTIONS[game_id][:2][-1])


def one_world(n: int) -> np.ndarray:
    return np.zeros(n, np.uint64)


def refused(kind: type[Exception], call: Callable[[], object], *words: str) -> None:
    with pytest.raises(kind) as error:
        call()
    missing = [word for word in words if word not in str(error.value)]
    assert not missing, f"{missing} not in: {error.value}"


def test_bytes_that_are_no_bool_and_padding() -> None:
    game = load(OPERATION)
    for name in ("done", *(name for name in game.state_dtype.names or () if name.startswith("padding_"))):
        state = game.new_state(5)
        state.view(np.uint8)[game.state_dtype.fields[name][1]] = 7  # type: ignore[index]
        refused(
            ValueError, lambda state=state: game.check_states(state), "`done` is 7" if name == "done" else "padding"
        )


def test_choices_that_are_not_legal() -> None:
    game = load(OPERATION)
    state = game.new_state(5)
    env = ttt_envs.make_aec(game)
    for committed, message in (
        ([500, -1], "are no actions: these are 0 to 233"),
        ([0, -1], "are not legal in this position"),
        ([-1, 0], "are not legal in this position"),
    ):
        packed = pack_state(game, state[0], np.array(committed), np.uint64(0))
        refused(ValueError, lambda packed=packed: env.set_state(packed), f"the choices {committed}", message)


# --- declaring ranges ---

TOY = state_dtype(
    players=2,
    fields=[
        ("small", np.int8, between(-3, 3)),
        ("flag", np.bool_),
        ("pair", np.int16, (3, 2), between((0, -1), (1, 300))),
        ("byte", np.uint8, (2,), between(0, 200)),
        ("counted", np.int8, (2, 2), between(0, "limit")),
        ("free", np.int8),
        ("limit", np.int8, option(1, 9)),
        ("wide", np.int32, option(0, 10**6)),
    ],
    shown=[("last", np.int16, between(-1, 80))],
)


def toy(**fields: Any) -> np.ndarray:
    states = np.zeros(2, TOY)
    states["limit"], states["wide"] = 4, 1000
    for name, value in fields.items():
        states[name][1] = value
    return states


@pytest.mark.parametrize("prototype", [None, toy()[:1]], ids=["any options", "options of a game"])
def test_ranges_are_declared_with_the_fields(prototype: np.ndarray | None) -> None:
    validity = Validity(TOY, prototype=prototype, name="the toy")
    good = [
        {"small": -3},
        {"small": 3, "flag": True, "free": -128},
        {"pair": [[1, 300], [0, -1], [1, 0]]},
        {"byte": [200, 0]},
        {"counted": 4},
        {"last": 80},
    ]
    for fields in good:
        validity.check(toy(**fields))
    bad = [
        ({"small": 4}, "`small` is 4, and must be from -3 to 3"),
        ({"pair": [[0, 0], [2, 0], [0, 0]]}, "`pair`[1, 0] is 2, and must be from 0 to 1"),
        ({"byte": [0, 201]}, "`byte`[1] is 201, and must be from 0 to 200"),
        ({"counted": [[0, 0], [5, 0]]}, "`counted`[1, 0] is 5, and must be from 0 to 4"),
        ({"limit": 10, "counted": 0}, "`limit` is 10, and must be "),
    ]
    for fields, message in bad:
        refused(ValueError, lambda fields=fields: validity.check(toy(**fields)), "state 1 is no position", message)
    other = toy(limit=5, wide=7)
    if prototype is None:
        validity.check(other)
    else:
        refused(ValueError, lambda: validity.check(other), "`limit` is 5, and must be 4")


def test_a_game_without_ranges_has_its_header_checked() -> None:
    game = toy_race.make()
    assert not game.ranges
    for name, value in (("to_move", 3), ("to_move", -1), ("ply", -1), ("ply", 100), ("script", 1)):
        state = game.new_state(1)
        state[name] = value
        refused(ValueError, lambda state=state: game.check_states(state), f"`{name}` is {value}")
    state = game.new_state(1)
    state["rewards"] = np.nan
    refused(ValueError, lambda: game.check_states(state), "its rewards are [nan, nan, nan]")


def test_somebody_must_be_able_to_act() -> None:
    game = load(OPERATION)
    state = game.new_state(1)
    state["phase"], state["placer"], state["first"], state["to_move"], state["pending"] = 3, 0, 0, 0, 3
    state["board"][:, 3], state["standing"][:, :, 0] = 9, 2
    refused(ValueError, lambda: game.check_states(state), "nobody has a legal action, and it is not over")


def test_states_can_be_written_to_a_file_without_a_warning() -> None:
    game = load(SUPER)
    assert changed(game, title="again").ranges == game.ranges
    assert game.ranges
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for states in (Batch(game, 2, seed=0).states, game.new_state(0), game.prototype):
            np.save(BytesIO(), states)


def test_a_text_must_be_a_position() -> None:
    game = load(SUPER)
    refused(TypeError, lambda: game.parse_state(b"X to move"), "a position is text, not bytes")  # type: ignore[arg-type]
    state = game.new_state(0)
    state["target"] = 50
    careless = changed(game, read_state=lambda text: state.copy())
    refused(ValueError, lambda: careless.parse_state("anything"), "`target` is 50")


# --- views ---


def foreign(game: Game) -> dict[str, tuple[Any, str]]:
    states = game.new_state(0)
    other = kuhn_poker.make() if game.id != kuhn_poker.make().id else load(SUPER)
    return {
        "of another game": (other.new_state(0), "they have other fields"),
        "bytes": (states.view(np.uint8), "must be a structured array"),
        "two dimensions": (states[None], "must have shape (n,), not (1, 1)"),
    }


def test_a_record_is_an_array_of_one() -> None:
    game = load(SUPER)
    states = game.new_state(0)
    for call in (game.check_states, game.masks, game.observations, game.to_bytes, lambda each: game.step(each, [40])):
        one, other = call(states), call(states[0])
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()
    assert View(game, states[0], 0, [1]).masks.tobytes() == game.masks(states).tobytes()


WRONG_PLAYERS: list[tuple[Any, type[Exception]]] = [([2], ValueError), ([0.5], TypeError), ([0, 1], ValueError)]


def test_a_view_of_foreign_states_or_wrong_players() -> None:
    game = load(OPERATION)
    states = game.new_state(0)
    for wrong, message in foreign(game).values():
        refused((TypeError, ValueError), lambda wrong=wrong: View(game, wrong, 0, one_world(1)), message)  # type: ignore[arg-type]
    for players, kind in WRONG_PLAYERS:
        refused(kind, lambda players=players: View(game, states, players, one_world(1)), "player")
    refused(ValueError, lambda: View(game, states, 0, one_world(2)), "seeds")
    refused(TypeError, lambda: View(game, states, 0, np.zeros(1)), "seeds")
    refused(TypeError, lambda: View(OPERATION, states, 0, one_world(1)), "game must be a Game")  # type: ignore[arg-type]
    refused(ValueError, lambda: View(game, states, 0, one_world(1)).sample_worlds(-1), "seed must be from 0")


def test_a_view_copies_states_of_any_layout_in_memory() -> None:
    game = load(SUPER)
    states = Batch(game, 6, seed=0).states
    every_other = View(game, states[::2], 0, one_world(3))
    buffer = np.zeros(states.nbytes + 1, np.uint8)
    buffer[1:] = states.view(np.uint8)
    crooked = np.frombuffer(buffer, game.state_dtype, offset=1)[:3]
    assert not crooked.flags.aligned
    assert np.array_equal(every_other.masks, View(game, crooked, [0, 0, 0], one_world(3)).masks)
    states["marks"] = 1
    assert not (View(game, crooked, 0, one_world(3)).observations != every_other.observations).any()


def test_an_oracle_is_asked_about_foreign_states_or_wrong_players() -> None:
    game = ttt_envs.load(DICE, rounds="single")
    oracle, states = game.oracle(), game.new_state(0)
    asked = [oracle.value, oracle.action_values, oracle.policy]
    crafted = states.copy()
    crafted["rank"] = 100
    cases = [*foreign(game).values(), (crafted, "is 100, and must be from")]
    for wrong, message in cases:
        refused((TypeError, ValueError), lambda wrong=wrong: oracle.covers(wrong), message)  # type: ignore[arg-type]
        for ask in asked:
            refused((TypeError, ValueError), lambda ask=ask, wrong=wrong: ask(wrong, 0), message)  # type: ignore[arg-type]
    for players, kind in WRONG_PLAYERS:
        for ask in asked:
            refused(kind, lambda ask=ask, players=players: ask(states, players), "player")
    for ask in asked:
        assert len(ask(states, np.zeros(1, np.int8))) == len(ask(states, 0)) == 1


@pytest.mark.parametrize(
    ("state", "action", "kind", "words"),
    [
        ("record", 81, ValueError, "81"),
        ("record", -1, ValueError, "action -1 has no clicks"),
        ("record", 0.5, TypeError, "float64"),
        ("two", 40, TypeError, "state must be a record of "),
    ],
)
def test_clicks_are_those_of_legal_actions(state: str, action: Any, kind: type[Exception], words: str) -> None:
    game = ttt_envs.load("super_tic_tac_toe")
    start = game.new_state(0)
    given = {"record": start[0], "two": np.repeat(start, 2)}[state]
    assert game.clicks is not None
    assert game.clicks(start[0], 40) == game.clicks(start, np.int64(40)) == ("cell 4/4",)
    with pytest.raises(kind, match=words):
        game.clicks(given, action)
    replaced = changed(game, title="again")
    assert replaced.clicks is not None
    assert replaced.clicks.__self__ is replaced
    assert replaced.clicks(start[0], 40) == ("cell 4/4",)
