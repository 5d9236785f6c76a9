"""Spots lie where the picture shows what they name."""

import re

import numpy as np
import pytest

import ttt_envs
from ttt_envs.core.game import Game
from ttt_envs.core.presentation import Box
from ttt_envs.drawing.frame import MARK_COLOURS
from ttt_envs.drawing.raster import rasterise
from ttt_envs.drawing.theme import COLOURS
from ttt_envs.testing.positions import positions, random_play
from ttt_envs.testing.text import check_clicks

#: The fills of what can be chosen now.
LIT = {COLOURS["open"][0], COLOURS["card_open"][0]}

CARDS = ("red", "blue", "yellow", "green")

#: Games with options, and the colour of what a player's action puts on the board.
GAMES = {
    "super_tic_tac_toe": ({}, lambda player, action: MARK_COLOURS[player + 1]),
    "martian_tic_tac_toe": ({"max_plies": 152}, lambda player, action: COLOURS[CARDS[player]][0]),
    "tic_tac_dice": ({"rounds": "single"}, lambda player, action: MARK_COLOURS[player + 1]),
    "tic_tac_match": ({"max_turns": 10}, lambda player, action: COLOURS[CARDS[action // 18]][0]),
    "operation_tic_tac_toe": ({"mode": "round"}, lambda player, action: MARK_COLOURS[player + 1]),
}


#: The actions of a game that only place a piece, by how their names begin.
GRID = {"operation_tic_tac_toe": "spy to"}


def shares(game: Game, state: np.void, boxes: dict[str, Box], colour: str) -> dict[str, float]:
    """The share of each box that has this colour in the picture."""
    wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    alike = np.abs(rasterise(game.draw(state, None), 240).astype(int) - wanted).max(axis=2) < 8  # half its size
    return {
        name: float(alike[round(y / 2) : round((y + height) / 2), round(x / 2) : round((x + width) / 2)].mean())
        for name, (x, y, width, height) in boxes.items()
    }


def is_blocked(before: np.void, after: np.void, action: int) -> bool:
    return "board" in before.dtype.names and before["board"][action % 9] == after["board"][action % 9]


def test_the_cards_of_a_large_hand_are_spots_apart() -> None:
    check_clicks(ttt_envs.load("tic_tac_match", hand_size=9, max_turns=4))


@pytest.mark.parametrize("game_id", GAMES)
def test_the_place_that_is_clicked_last_is_where_the_piece_appears(game_id: str) -> None:
    options, colour_of = GAMES[game_id]
    game = ttt_envs.load(game_id, **options)
    assert game.spots is not None
    assert game.clicks is not None
    play, checked = random_play(game, 2), 0
    for i in range(2):
        steps = zip(play.states[:, i], play.actions[:, i], play.states[1:, i], strict=False)
        for before, joint, after in list(steps)[:9]:
            player = int(before["placer"] if "placer" in before.dtype.names else before["to_move"])
            action = int(joint[player])
            if before["done"] or not game.action_names[action].startswith(GRID.get(game_id, "")):
                continue
            spot = game.clicks(before, action)[-1]
            boxes = {name: box for name, box in game.spots(before).items() if name.split()[0] == spot.split()[0]}
            if "cell" not in spot and "card" not in spot and "room" not in spot:
                continue
            colour = colour_of(player, action)
            old, new = shares(game, before, boxes, colour), shares(game, after, boxes, colour)
            if old[spot] == 0 and not is_blocked(before, after, action):
                assert new[spot] > 0.01
                assert max(boxes, key=lambda name: new[name] - old[name]) == spot
                checked += 1
    assert checked >= 3


def lit(svg: str) -> list[Box]:
    return [
        Box(*(float(found[name]) for name in ("x", "y", "width", "height")))
        for rect in re.findall(r"<rect ([^>]*)/>", svg)
        if (found := dict(re.findall(r'([\w-]+)="([^"]*)"', rect)))["fill"] in LIT and "x" in found
    ]


@pytest.mark.parametrize("game_id", GAMES)
def test_what_is_lit_reacts_and_what_reacts_is_lit(game_id: str) -> None:
    game = ttt_envs.load(game_id, **GAMES[game_id][0])
    assert game.spots is not None
    assert game.clicks is not None
    checked = 0
    for state in positions(game, 25):
        for player in range(game.num_players):
            legal = np.flatnonzero(game.masks(np.array([state]), player)[0]).tolist()
            if not legal:
                continue
            spots = game.spots(state, player)
            live = {name for action in legal for name in game.clicks(state, action)}
            shown = lit(game.draw(state, player))
            inside = {
                name
                for name, box in spots.items()
                for each in shown
                if box.contains(each.x + each.width / 2, each.y + each.height / 2)
            }
            assert inside == live, f"player {player}\n{game.format_state(state, player)}"
            assert len(shown) >= len(live)
            checked += 1
    assert checked >= 10
