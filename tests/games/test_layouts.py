"""Options, machine code and rules: code is compiled for a form of record, and few options may make another form."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.core.compile.kernel_cache import MachineCode
from ttt_envs.core.game import Game
from ttt_envs.core.options import NotAllowed, OutOfRange
from ttt_envs.registry import options_of

#: The options of which each value makes a form of record of its own, and why.
SHAPES = {
    "size": "a field has an entry for each cell",
    "players": "a field has an entry for each player",
    "colours": "a field has an entry for each kind of card",
}

#: The options with a value that leaves out a field; all other values have one form.
WITHOUT = {
    "repetition_limit": None,  # states of other games hold a log of moves
}

#: Values of options that are neither numbers from a range nor one of a few words.
WORDS: dict[str, list[Any]] = {"specialists": ["none,none", "sniper+mole,hacker"]}

#: What another option must be for this one to be allowed.
NEEDS: dict[str, dict[str, Any]] = {
    "specialists": {"mode": "round"},
    "first_placer": {"mode": "round"},
    "teams": {"players": 4},
    "win_length": {"size": 5},
}

_FOLDERS = {path.partition(":")[0]: game_id for game_id, path in reversed(ttt_envs.GAMES.items())}


def values_of(game_id: str, option: str) -> list[Any]:
    """Values that the option may have: of a range the ends and some between them, else all."""
    if option in WORDS:
        return WORDS[option]
    needed = NEEDS.get(option, {})
    try:
        ttt_envs.load(game_id, **needed, **{option: 10**6})
    except OutOfRange as error:
        some = np.unique(np.linspace(error.low, error.high, 5).astype(int)).tolist()
        values = [*some, WITHOUT[option]] if option in WITHOUT else some
    except NotAllowed as error:
        values = list(error.allowed)
    found = []
    for value in values:
        try:
            ttt_envs.load(game_id, **needed, **{option: value})
            found.append(value)
        except ValueError:  # with the other options as they are
            pass
    return found


@pytest.mark.parametrize("game_id", ttt_envs.GAMES)
def test_rules_depend_on_every_option(game_id: str) -> None:
    for option in ttt_envs.load(game_id).options:
        values = values_of(game_id, option)
        games = [ttt_envs.load(game_id, **NEEDS.get(option, {}), **{option: value}) for value in values]
        assert 1 < len({game.rules_text for game in games}) == len(games), option


def one_form(game_id: str) -> Iterator[tuple[str, list[Game]]]:
    """Each option of the game, and games that differ in it alone and must have one form of record."""
    for option in (each.name for each in options_of(game_id)):
        if option not in SHAPES:
            values = [value for value in values_of(game_id, option) if WITHOUT.get(option, ...) != value]
            assert len(values) > 1, f"{game_id} has an option {option} of which no two values are known"
            yield option, [ttt_envs.load(game_id, **NEEDS.get(option, {}), **{option: value}) for value in values]


@pytest.mark.parametrize("game_id", ttt_envs.GAMES)
def test_a_number_of_plies_rounds_or_points_is_no_form_of_record(game_id: str) -> None:
    default = ttt_envs.load(game_id)
    for option, games in one_form(game_id):
        assert {game.state_dtype for game in games} == {games[0].state_dtype}, option
        assert all(game.loops is default.loops for game in games), option
        if option not in (*WITHOUT, *NEEDS):
            assert games[0].state_dtype == default.state_dtype, option


@pytest.mark.parametrize("option", WITHOUT)
def test_a_value_that_leaves_out_a_field_makes_one_more_form(option: str) -> None:
    (game_id,) = (each for each in _FOLDERS.values() if option in {known.name for known in options_of(each)})
    forms = {ttt_envs.load(game_id, **{option: value}).state_dtype for value in values_of(game_id, option)}
    assert len(forms) == 2


def use(game: Game, plies: int) -> None:
    batch = ttt_envs.Batch(game, 3, seed=0, auto_reset=True)
    for _ in range(plies):
        joint = np.full((batch.n, game.num_players), -1)
        for player in range(game.num_players):
            view = batch.view(player, batch.acting(player))
            if len(view):
                joint[batch.acting(player), player] = agents.load("greedy").act(view)
                view.sample_worlds()
        batch.observations(0)
        batch.step(joint)
    game.check_states(batch.states)
    for make in (ttt_envs.make_parallel, ttt_envs.make_aec):
        make(game).reset(seed=0)


@pytest.mark.parametrize("game_id", _FOLDERS.values())
def test_a_second_value_of_an_option_compiles_nothing(game_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted: list[str] = []
    load = MachineCode.load_overload
    monkeypatch.setattr(
        MachineCode, "load_overload", lambda self, *args: wanted.append(self.cache_path) or load(self, *args)
    )
    default = ttt_envs.load(game_id)
    use(default, 40)
    wanted.clear()
    tried = set()
    for option, games in one_form(game_id):
        for game in games:
            if game.state_dtype == default.state_dtype:
                tried.add(option)
                use(game, 4)
                assert not wanted, f"{game!r} compiles {wanted[0]}"
    assert tried >= {each.name for each in options_of(game_id)} - {*SHAPES, *NEEDS}
