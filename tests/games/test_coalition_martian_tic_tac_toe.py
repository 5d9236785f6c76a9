"""The example that works out what one player of Martian Tic-Tac-Toe can force against all others together."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import slow_martian_tic_tac_toe as slow

import ttt_envs
from ttt_envs.games.martian_tic_tac_toe.rules import SIZES
from ttt_envs.games.martian_tic_tac_toe.solver import tables

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def coalition():
    spec = importlib.util.spec_from_file_location("martian_coalition", ROOT / "examples" / "martian_coalition.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


class Tiny(slow.SlowMartianTicTacToe):
    """The slow rules on 2x2, with two pieces of each size: any two equal ones are a row."""

    def __init__(self, players: int, same_size_swap: bool) -> None:
        super().__init__(2, players, None, 10**6, same_size_swap)
        self.lines = [(a, b) for a in range(4) for b in range(a)]

    def stash(self, player: int) -> list[int]:
        standing = list(self.board.values())
        return [2 - standing.count((player, size)) for size in slow.SIZES]


def moves_slowly(players: int, same_size_swap: bool) -> dict[tuple, list]:
    """Where the moves of each position that can arise lead to, (to move, board), or who has won by them."""
    game = Tiny(players, same_size_swap)
    after: dict[tuple, list] = {}
    left = [(0, (None,) * 4)]
    while left:
        mover, board = position = left.pop()
        if position in after:
            continue
        after[position] = []
        pieces = {cell: piece for cell, piece in enumerate(board) if piece is not None}
        game.start(pieces, mover, len(pieces))
        game.had_a_turn = set(range(min(len(pieces), players)))
        for action in game.moves_of(mover):
            game.start(pieces, mover, len(pieces))
            game.had_a_turn = set(range(min(len(pieces), players)))
            game._legal = [action]
            game.play(action)
            if game.done:
                after[position].append(game.winner)
            else:
                after[position].append(game.position())
                left.append(game.position())
    return after


def forced_slowly(after: dict[tuple, list], hero: int) -> dict[tuple, int]:
    """What the hero can force in each position: 1, 0 or -1 times the plies.

    Anything that is not forced within n plies may be forced within n+1, until nothing is added.
    """
    forced: dict[tuple, int] = {}
    for plies in range(1, 1000):
        new = {}
        for (mover, board), moves in after.items():
            if (mover, board) in forced:
                continue
            signs = [
                np.sign(forced.get(move, 0)) if isinstance(move, tuple) else 1 - 2 * (move != hero) for move in moves
            ]
            sign = max(signs) if mover == hero else min(signs)
            if sign:
                new[mover, board] = int(sign) * plies
        if not new:
            return {position: forced.get(position, 0) for position in after}
        forced |= new
    raise AssertionError("no end")


@pytest.mark.parametrize(("players", "same_size_swap"), [(3, False), (2, True)])
def test_every_position_of_the_2x2_game_has_the_value_of_the_slow_solver(coalition, players, same_size_swap):
    setting = coalition.setting(players, same_size_swap, size=2)
    analysis = coalition.analyse(setting)
    after, seen = moves_slowly(players, same_size_swap), 0
    for hero in range(players):
        for (mover, board), expected in forced_slowly(after, hero).items():
            digits = [0 if piece is None else SIZES * ((piece[0] - hero) % players) + piece[1] for piece in board]
            phase = (mover - hero) % players
            value = coalition.value_of(np.array(digits), phase, setting, analysis)
            wins = coalition.hero_wins(value, phase, players)
            assert (0 if value == coalition.DRAWN else (value - 1) * (1 if wins else -1)) == expected, (
                hero,
                mover,
                board,
            )
            seen += 1
    assert seen > 1000


@pytest.mark.slow
def test_with_two_players_it_is_the_table_of_best_play(coalition):
    setting, table = coalition.setting(2), tables.load_table(False)
    analysis = coalition.analyse(setting)
    bits = np.unpackbits(table.present.view(np.uint8), bitorder="little")
    places = np.array([coalition.place_of(board, analysis.kept) for board in np.flatnonzero(bits).tolist()])
    known = analysis.known[places, 0].astype(int)
    assert (np.where(known < coalition.OPEN, known, coalition.DRAWN) == table.values).all()
    said = list(coalition.forced(setting, analysis))
    assert said[0] == "from the start: player_0 alone wins in 145 plies, player_1 alone loses in 145 plies"
    assert "alone, on the move: 8,346,712 positions lost, in up to 186 plies" in said


@pytest.mark.slow
def test_the_page_has_what_the_example_prints_for_three_players(coalition):
    """In 3 minutes of processor time and 1.1 GB."""
    lines = list(coalition.Coalition().lines())
    page = (ROOT / "docs" / "games" / "martian_tic_tac_toe.md").read_text()
    start, *openings = ([int(plies) for plies in re.findall(r"alone loses in (\d+) plies", line)] for line in lines[:4])
    assert openings == [[plies - 1 for plies in start]] * 3
    assert "player_0 alone loses in {} plies from the start, player_1 in {} and player_2 in {}".format(*start) in page
    for turn, when in (("now", "on the move"), ("next", "who moves next"), ("after next", "who moves after next")):
        found = [number for line in lines if f"alone, {when}:" in line for number in re.findall(r"\d[\d,]*", line)]
        assert f"| {turn} | {' | '.join(found)} |\n" in page


def test_three_players_may_play_on_3x3():
    game = ttt_envs.load("martian_tic_tac_toe", players=3)
    game.new_state(0)
    with pytest.raises(NotImplementedError, match="size=3 and players=3"):
        game.oracle()
