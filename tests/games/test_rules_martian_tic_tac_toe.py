"""The rules of Martian Tic-Tac-Toe: against a slow second version, written from the rule text alone, and by hand."""

import random
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from martian_positions import (
    BLUE_STUCK,
    BLUE_STUCK_OF_THREE,
    CALM,
    CHESSBOARD,
    EVERY_KIND,
    FOUR,
    FULL,
    ID,
    THREE,
    position,
    text_of,
)
from option_sets import compiled_late, late
from slow_martian_tic_tac_toe import SIZES, SlowMartianTicTacToe, all_lines, moves_remembered

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.testing.positions import after

load = partial(ttt_envs.load, ID)


#: (slow game, generator, the player's memory) -> action
Choose = Callable[[SlowMartianTicTacToe, random.Random, dict], int]


def at_random(slow: SlowMartianTicTacToe, generator: random.Random, memory: dict) -> int:
    return generator.choice(slow.legal_actions())


def shuffling(slow: SlowMartianTicTacToe, generator: random.Random, memory: dict) -> int:
    """Most often the player takes their last swap back, or goes on with the same cell."""
    legal, mover = slow.legal_actions(), slow.to_move
    action = generator.choice(legal)
    cell, undo = memory.get(mover, (None, None))
    here = [each for each in legal if each // 3 == cell]
    if undo in here and generator.random() < 0.6:
        action = undo
    elif here and generator.random() < 0.7:
        action = generator.choice(here)
    cell = action // 3
    owner, size = slow.board.get(cell, (None, None))
    memory[mover] = cell, 3 * cell + size - 1 if owner == mover else None
    return action


def number_of(piece: tuple[int, int] | None) -> int:
    return 0 if piece is None else 3 * piece[0] + piece[1]


def board_of(state: np.void) -> dict[int, tuple[int, int]]:
    return {cell: (int(p - 1) // 3, int(p - 1) % 3 + 1) for cell, p in enumerate(state["piece"]) if p}


def compare_with_slow(
    game: Game,
    games: int,
    seed: int,
    choose: Choose = at_random,
    starts: np.ndarray | None = None,
    watch: Callable[[Game, np.ndarray, list[SlowMartianTicTacToe]], None] | None = None,
) -> list[SlowMartianTicTacToe]:
    """Play with both versions, everything compared after every ply; the finished slow games.

    `watch` is called after each ply with the states and the slow games that have had it.
    """
    generator = random.Random(seed)
    batch = Batch(game, games, seed=seed)
    slows = [SlowMartianTicTacToe(**game.options) for _ in range(games)]
    if starts is not None:
        batch.states[:] = starts
        for slow, state in zip(slows, starts, strict=True):
            slow.start(board_of(state), int(state["to_move"]), int(state["ply"]))
    memories: list[dict] = [{} for _ in range(games)]
    since_placement = [0] * games
    limited = game.options["repetition_limit"] is not None
    going = list(range(games))
    while going:
        states, masks = batch.states[going], batch.masks()[going]
        legal: list[list[int]] = [[] for _ in going]
        for k, action in np.argwhere(masks).tolist():
            legal[k].append(action)
        names = ("piece", "stash", "to_move", "ply", "done", "rewards", "occurred", "logged")
        for k, (i, *fast) in enumerate(zip(going, *(states[name].tolist() for name in names), strict=True)):
            slow = slows[i]
            expected = [
                [number_of(slow.board.get(cell)) for cell in range(game.options["size"] ** 2)],
                [slow.stash(player) for player in range(game.num_players)],
                slow.to_move,
                slow.ply,
                slow.done,
                [float(np.float32(reward)) for reward in slow.rewards],
                slow.occurrences() if limited else 1,
                min(since_placement[i], moves_remembered(game.options["size"])) if limited else 0,
            ]
            assert fast == expected
            assert legal[k] == slow.legal_actions()
        if watch is not None:
            watch(game, states, [slows[i] for i in going])
        going = [i for i in going if not slows[i].done]
        actions = np.zeros(games, np.int64)
        for i in going:
            action = actions[i] = choose(slows[i], generator, memories[i])
            pieces = len(slows[i].board)
            slows[i].play(int(action))
            # A cell once taken stays taken, so that nothing from before a placement can come back.
            assert len(slows[i].board) >= pieces
            since_placement[i] = since_placement[i] + 1 if len(slows[i].board) == pieces else 0
        if going:
            batch.step(actions)
    return slows


def share(games: int) -> int:
    return max(games // 8, 2) if jit.DISABLED else games


#: (games at once, times that, options): 20,000 in all.
RANDOM_GAMES = [
    (500, 22, {}),
    (500, 6, {"same_size_swap": True}),
    (500, 4, {"repetition_limit": None, "max_plies": 152}),
    (500, 2, {"repetition_limit": 2, "same_size_swap": True}),
    (300, 3, {"size": 4, "max_plies": 80, "repetition_limit": 2}),
    (300, 3, THREE),
    (200, 3, FULL),
    (275, 2, FOUR),
    (50, 1, CHESSBOARD),
]
#: What the default run compares of an option set.
FEW = 40
#: The option sets that the default run compiles: of two forms of record.
USUAL: list[dict] = [{}, {"same_size_swap": True}, THREE]
PARTS = [
    (pytest.param if options in USUAL else compiled_late)(min(games, FEW), -1, options)
    for games, _, options in RANDOM_GAMES
] + [
    pytest.param(games, part, options, marks=pytest.mark.slow)
    for games, parts, options in RANDOM_GAMES
    for part in range(0 if jit.DISABLED else parts)
]


@pytest.mark.parametrize(("games", "part", "options"), PARTS)
def test_fast_and_slow_agree(games, part, options):
    compare_with_slow(load(**options), share(games), seed=1 + part)


SHUFFLERS = [
    {"repetition_limit": 2},
    {},
    {"repetition_limit": 4},
    {"same_size_swap": True},
    compiled_late({"repetition_limit": None, "max_plies": 152}),
    compiled_late({"size": 4, "max_plies": 80, "repetition_limit": 2}),
    THREE,
]


@pytest.mark.parametrize("options", SHUFFLERS, ids=str)
def test_fast_and_slow_agree_where_positions_are_repeated(options):
    """Many of these games end by repetition; in some, a board also recurs with another player to move."""
    game = load(**options)
    limit = game.options["repetition_limit"]
    games = compare_with_slow(game, share(160), seed=1, choose=shuffling)
    drawn = [slow for slow in games if slow.winner is None and slow.ply < slow.max_plies]
    if limit is None:
        assert not drawn
        assert jit.DISABLED or any(max(slow.seen.values()) > 9 for slow in games)
        return
    assert all(slow.occurrences() == limit for slow in drawn)
    assert len(drawn) > len(games) // 4
    if jit.DISABLED:
        return
    # Rules that ignored the player to move would have ended some of these games earlier.
    whoever = [max(Counter(board for _, board in slow.seen.elements()).values()) for slow in games]
    assert any(times > max(slow.seen.values()) for times, slow in zip(whoever, games, strict=True))


# --- what can be placed ---


def test_all_that_can_be_done_with_each_kind_of_piece():
    """Own: up by one, down by any, never up by two or the same. The opponent's: up by one. Empty: a small one."""
    kinds = {"a1=2", "b1=1", "b1=3", "c1=1", "c1=2", "a2=2", "b2=3", "a3=1", "b3=1", "c3=1"}
    assert position(load(), "R to move", EVERY_KIND).legal == kinds
    same = {"a1=1", "b1=2", "c1=3"}
    assert position(load(same_size_swap=True), "R to move", EVERY_KIND).legal == kinds | same
    blue = {"a2=2", "b2=1", "b2=3", "c2=1", "c2=2", "a1=2", "b1=3", "a3=1", "b3=1", "c3=1"}
    assert position(load(), "B to move", EVERY_KIND).legal == blue


@pytest.mark.parametrize(
    ("action", "board", "red", "blue"),
    [
        ("a3=1", "R1 R2 R3 / B1 B2 B3 / R1 . .", [1, 2, 2], [2, 2, 2]),
        ("a1=2", "R2 R2 R3 / B1 B2 B3 / . . .", [3, 1, 2], [2, 2, 2]),
        ("c1=2", "R1 R2 R2 / B1 B2 B3 / . . .", [2, 1, 3], [2, 2, 2]),
        ("c1=1", "R1 R2 R1 / B1 B2 B3 / . . .", [1, 2, 3], [2, 2, 2]),
        ("a2=2", "R1 R2 R3 / R2 B2 B3 / . . .", [2, 1, 2], [3, 2, 2]),
        ("b2=3", "R1 R2 R3 / B1 R3 B3 / . . .", [2, 2, 1], [2, 3, 2]),
    ],
)
def test_one_action(action, board, red, blue):
    """Place, swap up, swap down by one and by two, capture; what is replaced goes back to its owner."""
    found = position(load(), "R to move", EVERY_KIND).play(action)
    assert (found.says, found.board, found.stash) == ("B to move", board, [red, blue])


def test_a_captured_piece_goes_back_to_its_owner_of_three():
    board = "R1 . B2 . Y3 / R2 . B1 . Y1 / . . . . . / . . . . . / . . . . ."
    found = position(load(**THREE), "B to move", board).play("e2=2")
    assert found.board == "R1 . B2 . Y3 / R2 . B1 . B2 / . . . . . / . . . . . / . . . . ."
    assert found.stash == [[4, 4, 5], [4, 3, 5], [5, 5, 4]]
    found = found.play("c2=2", "e2=3")
    assert found.stash == [[4, 4, 4], [5, 4, 5], [5, 4, 4]]


def test_what_is_not_in_the_stash_cannot_be_put():
    # All medium pieces of red's are out, and all small ones of blue's.
    board = "R2 R2 B1 / R1 B1 R2 / . B1 ."
    assert position(load(), "R to move", board).legal == {
        "a1=1",
        "a1=3",
        "b1=1",
        "b1=3",
        "c2=1",
        "c2=3",
        "a3=1",
        "c3=1",
    }
    assert position(load(), "B to move", board).legal == {
        *("c1=2", "b2=2", "b3=2"),
        *("a2=2", "a1=3", "b1=3", "c2=3"),
    }


# --- lines ---


@pytest.mark.parametrize(
    ("board", "action", "row"),
    [
        ("R1 R1 . / B1 B2 . / . . .", "c1=1", "R1 on a1 b1 c1"),
        ("R2 R2 R1 / B1 B2 . / . . .", "c1=2", "R2 on a1 b1 c1"),
        ("R2 R2 R3 / B1 B2 . / . . .", "c1=2", "R2 on a1 b1 c1"),
        ("R2 R2 B1 / B1 B2 . / . . .", "c1=2", "R2 on a1 b1 c1"),
        ("R3 . B2 / . B2 . / . . R3", "b2=3", "R3 on a1 b2 c3"),
    ],
    ids=["place", "swap up", "swap down", "capture", "capture, diagonal"],
)
def test_a_line_wins_however_it_is_made(board, action, row):
    found = position(load(), "R to move", board).play(action)
    assert (found.says, found.over, found.rewards, found.occurred) == (f"over: R wins with {row}", True, [1, -1], 1)
    assert found.legal == set()


@pytest.mark.parametrize("board", ["R1 R2 . / B1 B2 . / . . .", "R1 B1 . / . . . / . . .", "R1 . . / . . R1 / . . ."])
def test_other_rows_do_not_win(board):
    """Mixed sizes, mixed colours, three that are no row."""
    action = "b3=1" if board.startswith("R1 . .") else "c1=1"
    found = position(load(), "R to move", board).play(action)
    assert (found.says, found.over, found.rewards) == ("B to move", False, [0, 0])


def rows_of_pieces(game: Game, rows: list[tuple[int, ...]], last: list[int], size: int) -> np.ndarray:
    """States in which player 0 has all of a row but the cell `last`, which stands empty for them or one size lower."""
    states = np.repeat(game.prototype, len(rows))
    states["occurred"], states["ply"] = 1, 30
    states["stash"] = states["pieces"][0]
    for state, cells, cell in zip(states, rows, last, strict=True):
        state["piece"][list(cells)] = size
        state["piece"][cell] = size - 1
        state["stash"][0, size - 1] -= len(cells) - 1
        if size > 1:
            state["stash"][0, size - 2] -= 1
    return states


@pytest.mark.parametrize(
    "options", [{}, THREE, *map(compiled_late, ({"size": 4, "max_plies": 80}, FULL, CHESSBOARD))], ids=str
)
@pytest.mark.parametrize("size", SIZES)
def test_every_line_wins_whichever_piece_comes_last(options, size):
    game = load(**options)
    rows = all_lines(game.options["size"])
    if jit.DISABLED and len(rows) > 20:
        rows = rows[::3]
    last = [cell for row in rows for cell in row]
    rows = [row for row in rows for _ in row]
    states = rows_of_pieces(game, rows, last, size)
    joint = np.repeat(np.array(last)[:, None] * 3 + size - 1, game.num_players, axis=1)
    found = after(game, states, joint)
    assert found["done"].all()
    assert (found["rewards"][:, 0] == 1).all()


@pytest.mark.parametrize("options", [{}, *map(compiled_late, (FULL, CHESSBOARD))], ids=str)
def test_a_row_of_cells_does_not_go_on_round_an_edge(options):
    """Cells at equal distances by their numbers, that are no line on the board."""
    game = load(**options)
    size, length = game.options["size"], game.prototype["line"][0]
    lines = {frozenset(line) for line in all_lines(size)}
    rows = [
        tuple(range(first, first + length * stride, stride))
        for stride in (1, size - 1, size, size + 1)
        for first in range(size**2 - (length - 1) * stride)
    ]
    rows = [row for row in rows if frozenset(row) not in lines]
    assert len(rows) > 2
    last = [row[len(row) // 2] for row in rows]
    joint = np.repeat(np.array(last)[:, None] * 3, game.num_players, axis=1)
    assert not after(game, rows_of_pieces(game, rows, last, 1), joint)["done"].any()


@late
def test_four_of_four_and_five_of_five():
    """Three in a row do not win on 4x4, nor four on a larger board."""
    found = position(load(size=4, max_plies=80), "R to move", "R1 R1 . . / B1 . . . / . . . . / . . . .").play("c1=1")
    assert not found.over
    assert found.play("b2=1", "d1=1").says == "over: R wins with R1 on a1 b1 c1 d1"
    rows = "R2 R2 R2 . R1 . / B1 . . . . . / . . . . . . / . . . . . . / . . . . . . / . . . . . ."
    found = position(load(**FULL), "R to move", rows).play("d1=1", "b2=1", "d1=2")
    assert not found.over
    assert found.play("c2=1", "e1=2").says == "over: R wins with R2 on a1 b1 c1 d1 e1"


@late
def test_one_winner_among_four():
    board = "R1 B1 G1 . . . / . Y1 R1 . . . / . . Y1 . . . / . . . Y1 . . / . . . . Y1 . / . . . . . ."
    found = position(load(**FOUR), "Y to move", board, ply=20).play("f6=1")
    assert found.says == "over: Y wins with Y1 on b2 c3 d4 e5 f6"
    assert found.rewards == pytest.approx([-1 / 3, -1 / 3, 1, -1 / 3])
    assert abs(sum(found.rewards)) < 1e-6


# --- draws ---


@pytest.mark.parametrize("options", [{}, compiled_late({"repetition_limit": None, "max_plies": 152})], ids=str)
def test_the_last_ply(options):
    game = load(**options)
    found = position(game, "R to move", CALM, ply=game.max_plies - 2).play("a1=2")
    assert not found.over
    found = found.play("c3=2")
    assert (found.says, found.over, found.rewards) == (
        f"over: draw after {game.max_plies} plies, R to move",
        True,
        [0, 0],
    )
    won = position(game, "R to move", "R1 R1 . / . . . / . B1 B1", ply=game.max_plies - 1).play("c1=1")
    assert (won.says, won.rewards) == ("over: R wins with R1 on a1 b1 c1", [1, -1])


BACK_AND_FORTH = ["a1=2", "c3=2", "a1=1", "c3=1"]


@pytest.mark.parametrize("limit", [2, 3, 4])
def test_the_position_that_has_occurred_too_often_is_a_draw(limit):
    """The first position is the first to come back: every 4 plies."""
    found = position(load(repetition_limit=limit), "R to move", CALM)
    for occurred in range(2, limit + 1):
        for action in BACK_AND_FORTH:
            assert not found.over
            assert found.occurred <= occurred - 1
            found = found.play(action)
        assert found.occurred == occurred
    assert (found.says, found.rewards, found.legal) == ("over: draw by repetition, R to move", [0, 0], set())


@late
def test_without_a_limit_nothing_is_counted():
    found = position(load(repetition_limit=None, max_plies=152), "R to move", CALM, ply=10)
    found = found.play(*BACK_AND_FORTH * 10)
    assert (found.says, found.occurred) == ("R to move", 1)


def test_the_same_board_with_another_player_to_move_is_another_position():
    """Red's piece comes back in three of red's moves, blue's in two: the board returns after 5 plies, and after 10."""
    found = position(load(repetition_limit=2), "R to move", CALM)
    found = found.play("a1=2", "c3=2", "a1=3", "c3=1", "a1=1")
    assert (found.says, found.board, found.occurred) == ("B to move", CALM, 1)
    found = found.play("c3=2", "a1=2", "c3=3", "a1=1", "c3=1")
    assert (found.says, found.board, found.occurred) == ("over: draw by repetition, R to move", CALM, 2)


def test_a_swap_for_the_same_size_gives_the_turn_away_and_then_repeats():
    found = position(load(repetition_limit=2, same_size_swap=True), "R to move", CALM).play("a1=1")
    assert (found.says, found.board, found.occurred) == ("B to move", CALM, 1)
    assert found.play("c3=1").says == "over: draw by repetition, R to move"


def test_a_placement_ends_what_can_be_repeated():
    found = position(load(), "R to move", CALM).play(*BACK_AND_FORTH)
    assert "since the last placement: R a1 from R1, B c3 from B1, R a1 from R2" in found.game.format_state(
        found.states[0], None
    )
    found = found.play("b1=1")
    assert (found.occurred, int(found.states["logged"][0])) == (1, 0)
    assert not found.states["log"].any()
    found = found.play("c3=2", "a1=2", "c3=1", "a1=1")
    assert found.occurred == 2


def test_a_position_of_long_ago_is_forgotten():
    """Red's three pieces take 27 turns to stand as at first, blue's one takes 8: together 432 plies."""
    game = load(max_plies=900, repetition_limit=9)
    red = ["a1", "a1", "b1", "a1", "a1", "b1", "a1", "a1", "c2"] * 3
    blue = [2, 3, 1, 2, 3, 1, 2, 1]
    start = position(game, "R to move", "R1 R1 . / . . R1 / B1 . .").states
    begun = int(start["ply"][0])

    def in_turn(slow: SlowMartianTicTacToe, generator: random.Random, memory: dict) -> int:
        turn = (slow.ply - begun) // 2
        cell = game.parse_action(f"{red[turn % 27]}=1") // 3 if slow.to_move == 0 else 6
        size = slow.board[cell][1] % 3 + 1 if slow.to_move == 0 else blue[turn % 8]
        return 3 * cell + size - 1

    first: list[tuple[int, int]] = []

    def watch(game: Game, states: np.ndarray, slows: list[SlowMartianTicTacToe]) -> None:
        if (states["piece"][0] == start["piece"][0]).all() and states["to_move"][0] == 0:
            first.append((int(states["ply"][0]), int(states["occurred"][0])))

    (slow,) = compare_with_slow(game, 1, 0, choose=in_turn, starts=start, watch=watch)
    assert slow.ply == 900
    assert (begun, 1) in first
    assert (begun + 432, 1) in first


# --- passes ---


def test_who_cannot_move_is_passed_over():
    found = position(load(**THREE), "R to move", BLUE_STUCK_OF_THREE).play("a4=2")
    assert found.says == "Y to move"
    # A captured piece is one to move with.
    assert found.play("a1=2").says == "R to move"
    assert found.play("a1=2", "a1=3").says == "B to move"
    assert position(load(**THREE), "R to move", BLUE_STUCK_OF_THREE).play("a1=2").says == "B to move"


@late
def test_who_alone_can_move_moves_again():
    """A player who moves alone can repeat positions, with themselves to move."""
    found = position(load(**FULL), "R to move", BLUE_STUCK).play("a4=1")
    assert (found.says, found.occurred) == ("R to move", 1)
    found = found.play("a4=2")
    assert (found.says, found.occurred, found.board) == ("R to move", 2, BLUE_STUCK)
    found = found.play("a4=1", "a4=2")
    assert (found.says, found.occurred) == ("over: draw by repetition, R to move", 3)


@late
@pytest.mark.parametrize("cell", ["f5", "a6", "f6"])
def test_a_draw_where_nobody_can_move(cell):
    found = position(load(**FULL), "R to move", BLUE_STUCK).play(f"{cell}=1")
    assert (found.says, found.rewards, found.stash) == (
        "over: draw as nobody can move, R to move",
        [0, 0],
        [[0, 0, 0]] * 2,
    )


def crowded(game: Game, missing: tuple[int, ...], generator: random.Random) -> str:
    """A random position, nobody's line: player k has all but `missing[k]` of their pieces on the board."""
    size = game.options["size"]
    pieces = []
    for player, less in enumerate(missing):
        own = [(player, kind) for kind in SIZES for _ in range(5)]
        generator.shuffle(own)
        pieces += own[less:]
    slow = SlowMartianTicTacToe(**game.options)
    while True:
        cells = generator.sample(range(size**2), len(pieces))
        slow.start(dict(zip(cells, pieces, strict=True)), 0, len(pieces))
        if not any(slow.has_line(player) for player in range(slow.players)):
            break
    names = [slow.board.get(cell) for cell in range(size**2)]
    words = ["." if name is None else f"{'RBYG'[name[0]]}{name[1]}" for name in names]
    board = " / ".join(" ".join(words[size * row : size * row + size]) for row in range(size))
    return text_of("R to move", board, len(pieces) + 3)


@pytest.mark.parametrize("choose", [at_random, shuffling])
@pytest.mark.parametrize(
    ("options", "missing"), [compiled_late(FULL, (1, 0)), compiled_late(FULL, (2, 1)), (THREE, (7, 0, 13))]
)
def test_fast_and_slow_agree_where_players_pass(options, missing, choose):
    game, generator = load(**options), random.Random(5)
    starts = np.concatenate([game.parse_state(crowded(game, missing, generator)) for _ in range(share(80))])
    passes: Counter = Counter()

    def watch(game: Game, states: np.ndarray, slows: list[SlowMartianTicTacToe]) -> None:
        passes.update(slow.passed for slow in slows)

    compare_with_slow(game, len(starts), seed=0, choose=choose, starts=starts, watch=watch)
    if not jit.DISABLED:
        assert passes[1] > 20
        assert passes[2] > 5 or missing != (1, 0)
