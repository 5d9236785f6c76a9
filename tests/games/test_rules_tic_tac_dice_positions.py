"""How rounds and matches of the Tic-Tac-Dice family end, in positions set up by hand."""

import re

import numpy as np
import pytest
from dice_positions import DRAWN_4X4, IDS, MATCH, ROW_ON_TOP, SINGLE, X_HAS_FIVE, full_text, played
from slow_tic_tac_dice import lines

import ttt_envs
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game


def swapped(text: str) -> str:
    """The same position with the players' parts exchanged."""
    first, *cells, facts = text.strip().splitlines()
    other = str.maketrans("XO", "OX")
    cells = [re.sub(r"\d[XO]", lambda card: card[0].translate(other), row) for row in cells]  # O is a cell, too
    facts = re.sub(r"X (\d+) O (\d+)", r"X \2 O \1", facts)
    return "\n".join([first.translate(other), *cells, facts])


def check_round_ends(game: Game, text: str, cell: str, points: tuple[int, int], drawn: int = 0) -> None:
    """In a match: the next round has begun, with these points."""
    after = played(game, text, cell)
    assert (after["points"] == points).all()
    assert (after["drawn"] == drawn).all()
    assert not after["done"].any()
    assert not after["rewards"].any()
    assert not after["owner"].any()
    assert len(np.unique(after["rank"], axis=0)) > 1, "the next round has a layout of its own"


def check_goes_on(game: Game, text: str, cell: str) -> np.ndarray:
    """The round goes on, with one marker more."""
    before, after = game.parse_state(text), played(game, text, cell)
    assert not after["done"].any()
    assert not after["rewards"].any()
    assert (after["points"] == before["points"]).all()
    assert (after["drawn"] == before["drawn"]).all()
    expected = before["owner"][0].copy()
    expected[game.parse_action(cell)] = before["to_move"][0] + 1
    assert (after["owner"] == expected).all()
    assert (after["rank"] == before["rank"]).all()
    return after


def check_game_ends(game: Game, text: str, cell: str, over: str, rewards: tuple[float, float]) -> None:
    """Exactly this end, the same in every future."""
    after = played(game, text, cell, futures=3)
    assert after["done"].all()
    assert (after["rewards"] == rewards).all()
    for state in after:
        assert game.format_state(state) == f"{over.strip()}\nlast claim: {text.strip()[0]} {cell}"


def row_text(game: Game, line: tuple[int, ...], last: int) -> str:
    """X has the line but for one cell, and the dice allow claiming that one."""
    size, target = game.options["size"], game.options["target_points"]
    ranks = [cell % 8 + 1 for cell in range(size * size)]
    low, high = {7: (3, 4), 8: (3, 5)}.get(ranks[last], (min(ranks[last], 6), 2 if ranks[last] != 2 else 1))
    allowed = {low, high, low + high}
    cells = []
    for cell, rank in enumerate(ranks):
        mark = "X" if cell in line and cell != last else "*" if rank in allowed else " "
        cells.append(f"{chr(ord('A') + cell)} {rank}{mark}")
    rows = ["   ".join(cells[size * row : size * row + size]).rstrip() for row in range(size)]
    low, high = sorted((low, high))
    return "\n".join([f"X claims by dice {low} {high}", *rows, f"points X 0 O 1 of {target}, ply {len(line) + 5}"])


@pytest.mark.parametrize("game_id", IDS)
def test_each_row_gives_two_points(game_id):
    game = ttt_envs.load(game_id)
    for line in lines(game.options["size"], game.options["win_length"]):
        for last in line[:: len(line) - 1] if jit.DISABLED else line:
            text = row_text(game, line, last)
            cell = chr(ord("A") + last)
            check_round_ends(game, text, cell, (2, 1))
            check_round_ends(game, swapped(text), cell, (1, 2))


def test_more_markers_give_one_point():
    """A full board without a row: 1 point for more markers, whoever claimed the last card. 3x3, first to 5."""
    for last, dice in (("I", "1 3"), ("G", "3 4"), ("I", "1 1, then rolls again")):
        text = full_text(last, dice, "points X 2 O 0 of 5, ply 16")
        check_round_ends(MATCH, text, last, (3, 0))
        check_round_ends(MATCH, swapped(text), last, (0, 3))


@pytest.mark.parametrize("game_id", ["big_tic_tac_dice", "tic_tac_super_dice"])
def test_as_many_markers_give_no_point(game_id):
    """Eight each on the 4x4 board."""
    game = ttt_envs.load(game_id)
    for dice in ("2 6", "3 5", "4 4, then rolls again"):
        text = DRAWN_4X4.format(dice=dice, facts="points X 2 O 4 of 5, ply 40")
        check_round_ends(game, text, "P", (2, 4), drawn=1)
        check_round_ends(game, swapped(text), "P", (4, 2), drawn=1)


@pytest.mark.parametrize("game_id", ["big_tic_tac_dice", "tic_tac_super_dice"])
def test_the_32nd_drawn_round_ends_the_match(game_id):
    game = ttt_envs.load(game_id)
    facts = "points X 2 O 4 of 5, ply {}, drawn rounds {}"
    text = DRAWN_4X4.format(dice="2 6", facts=facts.format(600, 30))
    check_round_ends(game, text, "P", (2, 4), drawn=31)
    text = DRAWN_4X4.format(dice="2 6", facts=facts.format(600, 31))
    over = DRAWN_4X4.replace("8*", "8X").replace("X claims by dice {dice}", "over: draw, 32 rounds without points")
    over = over.format(facts=facts.format(601, 32))
    check_game_ends(game, text, "P", over, (0, 0))


def test_the_target_ends_the_match():
    """By reaching the target or going beyond it; never before. 3x3, first to 5."""
    before = ROW_ON_TOP.format(first="X claims by dice 1 3", c="*", i="*", facts="points X {} O {} of 5, ply 24")
    over = ROW_ON_TOP.format(first="over: X wins, row A B C", c="X", i="", facts="points X {} O {} of 5, ply 25")
    check_round_ends(MATCH, before.format(2, 4), "C", (4, 4))
    for points in ((3, 0), (4, 3), (4, 4)):
        end = over.format(points[0] + 2, points[1])
        check_game_ends(MATCH, before.format(*points), "C", end, (1, -1))
        check_game_ends(MATCH, swapped(before.format(*points)), "C", swapped(end), (-1, 1))
    # On count: 3 + 1 is not enough, 4 + 1 is.
    facts = "points X {} O 4 of 5, ply {}"
    check_round_ends(MATCH, full_text("G", "3 4", facts.format(3, 40)), "G", (4, 4))
    end = X_HAS_FIVE.replace("{who} claims by dice {dice}", "over: X wins, 5 markers to 4").format(
        g="O", i="X", facts=facts.format(5, 41)
    )
    check_game_ends(MATCH, full_text("G", "3 4", facts.format(4, 40)), "G", end, (1, -1))


def test_doubles_keep_the_turn():
    """After doubles the claimer rolls again, else the other one; every rank is left, so no roll is passed over. 3x3."""
    text = (
        "{} claims by dice {}\nA 1*   B 2*   C 3{c}\nD 4    E 5    F 6\nG 7    H 8    I 1*\npoints X 0 O 0 of 5, ply 0"
    )
    doubled = text.format("X", "1 1, then rolls again", c="")
    assert (check_goes_on(MATCH, doubled, "I")["to_move"] == 0).all()
    assert (check_goes_on(MATCH, swapped(doubled), "I")["to_move"] == 1).all()
    plain = text.format("X", "1 2", c="*")
    assert (check_goes_on(MATCH, plain, "I")["to_move"] == 1).all()
    assert (check_goes_on(MATCH, swapped(plain), "A")["to_move"] == 0).all()


def test_a_single_round_pays_half_its_points():
    before = ROW_ON_TOP.format(first="X claims by dice 1 3", c="*", i="*", facts="ply 4")
    over = ROW_ON_TOP.format(first="over: X wins, row A B C", c="X", i="", facts="ply 5")
    check_game_ends(SINGLE, before, "C", over, (1, -1))
    check_game_ends(SINGLE, swapped(before), "C", swapped(over), (-1, 1))
    for last, dice in (("I", "1 3"), ("G", "3 4")):
        before = full_text(last, dice, "ply 8")
        over = X_HAS_FIVE.replace("{who} claims by dice {dice}", "over: X wins, 5 markers to 4").format(
            g="O", i="X", facts="ply 9"
        )
        check_game_ends(SINGLE, before, last, over, (0.5, -0.5))
        check_game_ends(SINGLE, swapped(before), last, swapped(over), (-0.5, 0.5))
    for game_id in ("big_tic_tac_dice", "tic_tac_super_dice"):
        over = (
            DRAWN_4X4.replace("8*", "8X")
            .replace("X claims by dice {dice}", "over: draw, 8 markers each")
            .format(facts="ply 16")
        )
        game = ttt_envs.load(game_id, rounds="single")
        check_game_ends(game, DRAWN_4X4.format(dice="2 6", facts="ply 15"), "P", over, (0, 0))


def test_a_full_board_with_a_row_is_a_row():
    """Two points (or +1) even where the other has more markers."""
    text = "X claims by dice 1 4\nA 1X   B 2O   C 3O\nD 4O   E 5*   F 6O\nG 7O   H 8O   I 1X\n{}"
    after = played(SINGLE, text.format("ply 8"), "E")
    assert (after["rewards"] == (1, -1)).all()
    check_round_ends(MATCH, text.format("points X 0 O 0 of 5, ply 8"), "E", (2, 0))


SHORT_ROWS_4X4 = """
X claims by dice 1 2
A 1{a}   B 2{b}   C 3{c}   D 4{d}
E 5{e}   F 6    G 7O   H 8O
I 1*   J 2*   K 3*   L 4
M 5    N 6    O 7    P 8
points X 0 O 0 of 5, ply 8
"""


def test_four_in_a_row_are_needed_for_super():
    game = ttt_envs.load("tic_tac_super_dice")
    marks = {"a": "X", "b": "X", "c": "*", "d": "", "e": "O"}
    check_goes_on(game, SHORT_ROWS_4X4.format(**marks), "C")
    check_round_ends(ttt_envs.load("big_tic_tac_dice"), SHORT_ROWS_4X4.format(**marks), "C", (2, 0))
    check_round_ends(game, SHORT_ROWS_4X4.format(**{**marks, "d": "X"}), "C", (2, 0))


def test_no_row_goes_round_the_edge():
    """C, D and E follow each other, but lie in two rows of the board."""
    marks = {"a": "O", "b": "*", "c": "*", "d": "X", "e": "X"}
    check_goes_on(ttt_envs.load("big_tic_tac_dice"), SHORT_ROWS_4X4.format(**marks), "C")
