"""Patterns that n-tuple networks look up: the same for positions that are the same but for the board's symmetries."""

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents

GAMES = [ttt_envs.load(game_id) for game_id in ttt_envs.GAMES if ttt_envs.load(game_id).patterns is not None]
THREE = ttt_envs.load("martian_tic_tac_toe", size=5, players=3, max_plies=60)
each_game = pytest.mark.parametrize(
    "game", [*GAMES, pytest.param(THREE, id="three players", marks=pytest.mark.slow)], ids=lambda game: game.id
)


def positions(game):
    batch, player = ttt_envs.Batch(game, 60, seed=2), agents.load("random")
    states = []
    while not batch.done.all():
        states.append(batch.states[~batch.done].copy())
        batch.step(player.act(batch.view()))
    found = np.concatenate(states)[::7]
    return found, (found["to_move"].astype(int) - 1) % game.num_players


def patterns_of(game, states, players):
    out = np.full((len(states), game.patterns.number), -1)
    for i, player in enumerate(players):
        game.patterns.find(states[i], player, out[i])
    return out


@each_game
def test_patterns_are_shared_by_symmetric_positions(game):
    states, players = positions(game)
    found = patterns_of(game, states, players)
    assert found.min() >= 0
    assert found.max() < game.patterns.size
    for turn in game.symmetries:
        turned = patterns_of(game, turn.states(states), players)
        assert np.array_equal(np.sort(turned, axis=1), np.sort(found, axis=1)), turn.name
    rotated = game.rotate_players(states)
    moved = (players + rotated["to_move"].astype(int) - states["to_move"]) % game.num_players
    assert np.array_equal(patterns_of(game, rotated, moved), found)


@each_game
def test_different_positions_have_different_patterns(game):
    states, players = positions(game)
    rows = np.flatnonzero(states["ply"] > 12)[:400]
    found = patterns_of(game, states[rows], players[rows])
    assert len(np.unique(found, axis=0)) > 0.99 * len(rows)
    others = (players[rows] + 1) % game.num_players
    assert (patterns_of(game, states[rows], others) != found).any(axis=1).mean() > 0.99
