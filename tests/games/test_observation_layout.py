"""Every feature of every observation means what `describe_feature` says, as the text of the position has it.

The meanings are written a second time in `tests/support/blocks_*.py`, one module a game, from the text that the player
sees. An observation that says more than that text is noticed too.
"""

from importlib import import_module
from types import ModuleType

import numpy as np
import pytest
from option_sets import OPTIONS, late

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.testing.positions import observations_of, play_batch

GAMES, POSITIONS = 6, 24


def meanings(game_id: str) -> ModuleType:
    """The module with the meanings of a game's blocks; presets of one game share it."""
    return import_module(f"blocks_{ttt_envs.GAMES[game_id].partition(':')[0].rpartition('.')[2]}")


def some_states(game: Game) -> np.ndarray:
    """States of random games: some from their starts to their ends, and one for each feature that is 1 in any."""
    play = play_batch(Batch(game, GAMES, seed=3), game.max_plies)
    states = np.concatenate([play.states[~play.states["done"]], play.states[-1]])
    chosen = np.linspace(0, len(states) - 1, POSITIONS).astype(int)
    observed = observations_of(game, states, 0)
    rare = observed.any(axis=0) & ~observed[chosen].any(axis=0)
    return states[np.union1d(chosen, observed[:, rare].argmax(axis=0))]


def wrong_feature(game: Game, states: np.ndarray, player: int) -> str | None:
    """The first feature that says something else than the text, with its meaning; None if there is none."""
    module = meanings(game.id)
    for state, observed in zip(states, observations_of(game, states, player), strict=True):
        text, index = game.format_state(state, player), 0
        position = module.Position(text, game, player)
        for block in game.observation_layout:
            means = module.FEATURES[block.name]
            for place in np.ndindex(block.shape):
                if observed[index] != means(position, *place):
                    return f"player {player} sees {observed[index]} for {game.describe_feature(index)} in\n{text}"
                index += 1
    return None


@late
@pytest.mark.parametrize("game_id", OPTIONS)
def test_every_feature_means_what_is_said_of_it(game_id):
    seen: dict[str, set[int]] = {}
    for options in OPTIONS[game_id]:
        game = ttt_envs.load(game_id, **options)
        states = some_states(game)
        for player in range(game.num_players):
            assert not (wrong := wrong_feature(game, states, player)), wrong
            start, observed = 0, observations_of(game, states, player)
            for block in game.observation_layout:
                seen.setdefault(block.name, set()).update(np.unique(observed[:, start : start + block.size]).tolist())
                start += block.size
    assert {name: values for name, values in seen.items() if values != {0, 1}} == {}, "never seen as 0, or as 1"


@pytest.mark.parametrize("game_id", OPTIONS)
def test_every_feature_is_described_by_its_block(game_id):
    game = ttt_envs.load(game_id, **OPTIONS[game_id][0])
    described = [
        f"{block.name}{list(place)}: {block.meaning}"
        for block in game.observation_layout
        for place in np.ndindex(block.shape)
    ]
    assert [game.describe_feature(index) for index in range(game.observation_size)] == described


@pytest.mark.parametrize("game_id", OPTIONS)
def test_no_block_is_left_unchecked(game_id):
    blocks = [block for options in OPTIONS[game_id] for block in ttt_envs.load(game_id, **options).observation_layout]
    assert {block.name for block in blocks} == set(meanings(game_id).FEATURES)
