"""The rules of Martian Tic-Tac-Toe: against a slow second version, written from the rule text alone, and by hand."""

import random
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from option_sets import compiled_late, late
from slow_martian_tic_tac_toe import SIZES, SlowMartianTicTacToe, all_lines

import ttt_envs
from ttt_envs.core import jit
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.testing.positions import after, masks_of

ID = "martian_tic_tac_toe"

#: Option sets, few of them, because each kind of record is compiled for itself.
THREE = {"size": 5, "players": 3, "max_plies": 60}
FOUR = {"size": 6, "players": 4, "max_plies": 40, "same_size_swap": True, "repetition_limit": None}
FULL = {"size": 6, "players": 2, "max_plies": 80}
CHESSBOARD = {"size": 8, "players": 4, "max_plies": 400}


@pytest.fixture
def load() -> Callable[..., Game]:
    """Called with options."""
    return partial(ttt_envs.load, ID)


# --- random games, with both versions ---

#: (slow game, generator, the player's memory) -> action
Choose = Callable[[SlowMartianTicTacToe, random.Random, dict], int]


def at_random(slow: SlowMartianTicTacToe, generator: random.Random, memory: dict) -> int:
    """Any legal action."""
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
    """A piece as the fast version has it."""
    return 0 if piece is None else 3 * piece[0] + piece[1]


def board_of(state: np.void) -> dict[int, tuple[int, int]]:
    """The pieces as the slow version has them."""
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
                since_placement[i] if limited else 0,
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
    """So many games, or few without the JIT."""
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
FEW = 80
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


def test_there_are_20000_random_games():
    assert sum(games * parts for games, parts, _ in RANDOM_GAMES) == 20_000


@pytest.mark.parametrize(("games", "part", "options"), PARTS)
def test_fast_and_slow_agree(load, games, part, options):
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
def test_fast_and_slow_agree_where_positions_are_repeated(load, options):
    """Many games end by the last occurrence that is allowed, some boards recur with another player to move."""
    game = load(**options)
    limit = game.options["repetition_limit"]
    games = compare_with_slow(game, share(400), seed=1, choose=shuffling)
    drawn = [slow for slow in games if slow.winner is None and slow.ply < slow.max_plies]
    if limit is None:
        assert not drawn
        assert jit.DISABLED or any(max(slow.seen.values()) > 9 for slow in games)
        return
    assert all(slow.occurrences() == limit for slow in drawn)
    assert len(drawn) > len(games) // 4
    if jit.DISABLED:
        return
    # Were the player to move not looked at, some games would have ended before.
    whoever = [max(Counter(board for _, board in slow.seen.elements()).values()) for slow in games]
    assert sum(times > max(slow.seen.values()) for times, slow in zip(whoever, games, strict=True)) > 3


# --- positions as text ---


def text_of(turn: str, board: str, ply: int, occurred: int = 1, log: str = "") -> str:
    """The text of a position; the board's rows stand between slashes."""
    rows = [row.strip() for row in board.split("/")]
    lines = [turn, "  ".join("abcdefgh"[: len(rows)])]
    lines += [f"{k} {row}" for k, row in enumerate(rows, start=1)]
    lines.append(f"ply {ply}, occurred {occurred}")
    if log:
        lines.append(f"since the last placement: {log}")
    return "\n".join(lines)


class Position:
    """A state to play on from, with what is in it in words."""

    def __init__(self, game: Game, states: np.ndarray) -> None:
        self.game = game
        self.states = states
        lines = game.format_state(states[0], None).splitlines()
        self.says = lines[0]
        self.board = " / ".join(" ".join(line.split()[1:]) for line in lines[2 : 2 + game.options["size"]])
        self.stash = states["stash"][0].tolist()
        self.occurred = int(states["occurred"][0])
        self.over = bool(states["done"][0])
        self.rewards = states["rewards"][0].tolist()
        mask = masks_of(game, states, int(states["to_move"][0]))[0]
        self.legal = {name for name, legal in zip(game.action_names, mask, strict=True) if legal}
        # Whatever is looked at here can be read back from its text.
        again = game.parse_state(game.format_state(states[0], None))
        again["rng"] = states["rng"]
        assert again.tobytes() == states.tobytes()

    def play(self, *names: str) -> "Position":
        here = self
        for name in names:
            assert name in here.legal, f"{name} in {here.says}: {here.board}"
            joint = np.full((1, here.game.num_players), here.game.parse_action(name))
            here = Position(here.game, after(here.game, here.states, joint))
        return here


def position(game: Game, turn: str, board: str, ply: int = 50, occurred: int = 1, log: str = "") -> Position:
    return Position(game, game.parse_state(text_of(turn, board, ply, occurred, log)))


def start(game: Game) -> Position:
    return Position(game, game.new_state(seed=0))


EVERY_KIND = "R1 R2 R3 / B1 B2 B3 / . . ."


def test_first_turns_are_small_pieces_into_empty_cells(load):
    first = start(load())
    assert first.legal == {f"{cell}=1" for cell in ("a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3")}
    second = first.play("b2=1")
    assert second.says == "B to move"
    assert second.board == ". . . / . R1 . / . . ."
    assert second.stash == [[2, 3, 3], [3, 3, 3]]
    # Neither the capture b2=2 nor a swap.
    assert second.legal == first.legal - {"b2=1"}
    third = second.play("a1=1")
    assert third.legal == (first.legal - {"b2=1", "a1=1"}) | {"b2=2", "a1=2"}


def test_first_turns_of_three_players(load):
    third = start(load(**THREE)).play("a1=1", "b1=1")
    assert third.says == "Y to move"
    assert len(third.legal) == 23
    assert {name[-1] for name in third.legal} == {"1"}
    # From the second turn on: a swap and two captures.
    assert {"a1=2", "b1=2", "c1=2"} <= third.play("c1=1").legal


def test_all_that_can_be_done_with_each_kind_of_piece(load):
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
def test_one_action(load, action, board, red, blue):
    """Place, swap up, swap down by one and by two, capture; what is replaced goes back to its owner."""
    found = position(load(), "R to move", EVERY_KIND).play(action)
    assert (found.says, found.board, found.stash) == ("B to move", board, [red, blue])


def test_a_swap_for_the_same_size_changes_nothing_but_the_turn(load):
    found = position(load(same_size_swap=True), "R to move", EVERY_KIND).play("b1=2")
    assert (found.says, found.board, found.stash) == ("B to move", EVERY_KIND, [[2, 2, 2], [2, 2, 2]])


def test_a_captured_piece_goes_back_to_its_owner_of_three(load):
    board = "R1 . B2 . Y3 / R2 . B1 . Y1 / . . . . . / . . . . . / . . . . ."
    found = position(load(**THREE), "B to move", board).play("e2=2")
    assert found.board == "R1 . B2 . Y3 / R2 . B1 . B2 / . . . . . / . . . . . / . . . . ."
    assert found.stash == [[4, 4, 5], [4, 3, 5], [5, 5, 4]]
    found = found.play("c2=2", "e2=3")
    assert found.stash == [[4, 4, 4], [5, 4, 5], [5, 4, 4]]


def test_what_is_not_in_the_stash_cannot_be_put(load):
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
def test_a_line_wins_however_it_is_made(load, board, action, row):
    found = position(load(), "R to move", board).play(action)
    assert (found.says, found.over, found.rewards, found.occurred) == (f"over: R wins with {row}", True, [1, -1], 1)
    assert found.legal == set()


@pytest.mark.parametrize("board", ["R1 R2 . / B1 B2 . / . . .", "R1 B1 . / . . . / . . .", "R1 . . / . . R1 / . . ."])
def test_other_rows_do_not_win(load, board):
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
def test_every_line_wins_whichever_piece_comes_last(load, options, size):
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
def test_a_row_of_cells_does_not_go_on_round_an_edge(load, options):
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
def test_four_of_four_and_five_of_five(load):
    """Three in a row do not win on 4x4, nor four on a larger board."""
    found = position(load(size=4, max_plies=80), "R to move", "R1 R1 . . / B1 . . . / . . . . / . . . .").play("c1=1")
    assert not found.over
    assert found.play("b2=1", "d1=1").says == "over: R wins with R1 on a1 b1 c1 d1"
    rows = "R2 R2 R2 . R1 . / B1 . . . . . / . . . . . . / . . . . . . / . . . . . . / . . . . . ."
    found = position(load(**FULL), "R to move", rows).play("d1=1", "b2=1", "d1=2")
    assert not found.over
    assert found.play("c2=1", "e1=2").says == "over: R wins with R2 on a1 b1 c1 d1 e1"


@late
def test_one_winner_among_four(load):
    board = "R1 B1 G1 . . . / . Y1 R1 . . . / . . Y1 . . . / . . . Y1 . . / . . . . Y1 . / . . . . . ."
    found = position(load(**FOUR), "Y to move", board, ply=20).play("f6=1")
    assert found.says == "over: Y wins with Y1 on b2 c3 d4 e5 f6"
    assert found.rewards == pytest.approx([-1 / 3, -1 / 3, 1, -1 / 3])
    assert abs(sum(found.rewards)) < 1e-6


# --- draws ---

CALM = "R1 . . / . . . / . . B1"


@pytest.mark.parametrize("options", [{}, compiled_late({"repetition_limit": None, "max_plies": 152})], ids=str)
def test_the_last_ply(load, options):
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
def test_the_position_that_has_occurred_too_often_is_a_draw(load, limit):
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
def test_without_a_limit_nothing_is_counted(load):
    found = position(load(repetition_limit=None, max_plies=152), "R to move", CALM, ply=10)
    found = found.play(*BACK_AND_FORTH * 10)
    assert (found.says, found.occurred) == ("R to move", 1)


def test_the_same_board_with_another_player_to_move_is_another_position(load):
    """Red's piece comes back in three of red's moves, blue's in two: the board returns after 5 plies, and after 10."""
    found = position(load(repetition_limit=2), "R to move", CALM)
    found = found.play("a1=2", "c3=2", "a1=3", "c3=1", "a1=1")
    assert (found.says, found.board, found.occurred) == ("B to move", CALM, 1)
    found = found.play("c3=2", "a1=2", "c3=3", "a1=1", "c3=1")
    assert (found.says, found.board, found.occurred) == ("over: draw by repetition, R to move", CALM, 2)


def test_a_swap_for_the_same_size_gives_the_turn_away_and_then_repeats(load):
    found = position(load(repetition_limit=2, same_size_swap=True), "R to move", CALM).play("a1=1")
    assert (found.says, found.board, found.occurred) == ("B to move", CALM, 1)
    assert found.play("c3=1").says == "over: draw by repetition, R to move"


def test_a_placement_ends_what_can_be_repeated(load):
    found = position(load(), "R to move", CALM).play(*BACK_AND_FORTH)
    assert "since the last placement: R a1 from R1, B c3 from B1, R a1 from R2" in found.game.format_state(
        found.states[0], None
    )
    found = found.play("b1=1")
    assert (found.occurred, int(found.states["logged"][0])) == (1, 0)
    assert not found.states["log"].any()
    found = found.play("c3=2", "a1=2", "c3=1", "a1=1")
    assert found.occurred == 2


def test_positions_come_back_by_way_of_captures(load):
    """Red captures, blue captures back and swaps down again; then both go on until it is red's turn as at first."""
    board = "R1 . . / . B1 . / . . ."
    found = position(load(repetition_limit=2), "R to move", board).play("b2=2", "b2=3", "a1=2", "b2=1", "a1=1")
    assert (found.says, found.board, found.occurred) == ("B to move", board, 1)
    found = found.play("b2=2", "a1=2", "b2=3", "a1=1", "b2=1")
    assert (found.says, found.board, found.occurred) == ("over: draw by repetition, R to move", board, 2)


# --- passes ---

#: All of blue's pieces are on the board.
BLUE_STUCK_OF_THREE = "B1 B2 B3 B1 B2 / B3 B1 B2 B3 B1 / B2 B3 B1 B2 B3 / R1 R1 R2 R3 . / Y1 Y1 Y2 Y3 ."

#: So they are here, and all of red's but one, a small one.
BLUE_STUCK = (
    "B1 B2 B3 B1 B2 B3 / B2 B3 B1 B2 B3 B1 / B3 B1 B2 R1 R2 R3 / R2 R3 R1 R2 R3 R1 / R3 R1 R2 R3 R2 . / . . . . . ."
)


def test_who_cannot_move_is_passed_over(load):
    found = position(load(**THREE), "R to move", BLUE_STUCK_OF_THREE).play("a4=2")
    assert found.says == "Y to move"
    # A captured piece is one to move with.
    assert found.play("a1=2").says == "R to move"
    assert found.play("a1=2", "a1=3").says == "B to move"
    assert position(load(**THREE), "R to move", BLUE_STUCK_OF_THREE).play("a1=2").says == "B to move"


@late
def test_who_alone_can_move_moves_again(load):
    """A player who moves alone can repeat positions, with themselves to move."""
    found = position(load(**FULL), "R to move", BLUE_STUCK).play("a4=1")
    assert (found.says, found.occurred) == ("R to move", 1)
    found = found.play("a4=2")
    assert (found.says, found.occurred, found.board) == ("R to move", 2, BLUE_STUCK)
    found = found.play("a4=1", "a4=2")
    assert (found.says, found.occurred) == ("over: draw by repetition, R to move", 3)


@late
@pytest.mark.parametrize("cell", ["f5", "a6", "f6"])
def test_a_draw_where_nobody_can_move(load, cell):
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
def test_fast_and_slow_agree_where_players_pass(load, options, missing, choose):
    game, generator = load(**options), random.Random(5)
    starts = np.concatenate([game.parse_state(crowded(game, missing, generator)) for _ in range(share(200))])
    passes: Counter = Counter()

    def watch(game: Game, states: np.ndarray, slows: list[SlowMartianTicTacToe]) -> None:
        passes.update(slow.passed for slow in slows)

    compare_with_slow(game, len(starts), seed=0, choose=choose, starts=starts, watch=watch)
    if not jit.DISABLED:
        assert passes[1] > 50
        assert passes[2] > 5 or missing != (1, 0)


# --- texts that are refused ---


def change(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


KINDS = text_of("R to move", EVERY_KIND, 50)
SHUFFLED = text_of("R to move", CALM, 50, 2, "R a1 from R1, B c3 from B1, R a1 from R2, B c3 from B2")
LINE = "R1 R1 R1 / B1 B1 . / . . ."

REFUSED = {
    "nothing": ("", "3 numbered rows of 3 cells"),
    "a row too few": (change(KINDS, "3 . . .\n", ""), "3 numbered rows"),
    "a row too many": (change(KINDS, "ply", "4 . . .\nply"), "a line like 'ply 4, occurred 1'"),
    "a cell too few": (change(KINDS, "B1 B2 B3", "B1 B2"), "3 numbered rows of 3 cells"),
    "a cell too many": (change(KINDS, "B1 B2 B3", "B1 B2 B3 ."), "3 numbered rows of 3 cells"),
    "unknown colour": (change(KINDS, "B1", "W1"), "a colour of R, B and a size from 1 to 3, not 'W1'"),
    "colour of a third player": (change(KINDS, "B1", "Y1"), "not 'Y1'"),
    "size 0": (change(KINDS, "B1", "B0"), "not 'B0'"),
    "size 4": (change(KINDS, "B1", "B4"), "not 'B4'"),
    "no size": (change(KINDS, "B1", "B"), "not 'B'"),
    "too long a piece": (change(KINDS, "B1", "B12"), "not 'B12'"),
    "four of a size": (text_of("R to move", "R1 R1 . / R1 . R1 / B1 . .", 50), "R has only 3 pieces of size 1"),
    "wrong stashes": (
        change(KINDS, "ply", "stashes: R 2 2 2, B 2 2 3 (small, medium, large)\nply"),
        "the stashes must be what is not on the board",
    ),
    "too few stashes": (change(KINDS, "ply", "stashes: R 2 2 2\nply"), "the stashes must be"),
    "no count of plies": (change(KINDS, "ply 50, occurred 1", ""), "a line like 'ply 4, occurred 1'"),
    "a negative ply": (change(KINDS, "ply 50", "ply -1"), "a line like 'ply 4, occurred 1'"),
    "occurred 12": (change(KINDS, "occurred 1", "occurred 12"), "a line like 'ply 4, occurred 1'"),
    "occurred 200": (change(KINDS, "occurred 1", "occurred 200"), "a line like 'ply 4, occurred 1'"),
    "too few plies": (change(KINDS, "ply 50", "ply 5"), "take from 6 to 300 plies"),
    "fewer plies than the log": (change(SHUFFLED, "ply 50", "ply 5"), "take from 6 to 300 plies"),
    "too many plies": (change(KINDS, "ply 50", "ply 301"), "take from 6 to 300 plies"),
    "occurred 0": (change(KINDS, "occurred 1", "occurred 0"), "the position has occurred 1 times"),
    "occurred without a log": (change(KINDS, "occurred 1", "occurred 2"), "the position has occurred 1 times"),
    "occurred less than the log says": (
        change(SHUFFLED, "occurred 2", "occurred 1"),
        "the position has occurred 2 times",
    ),
    "occurred more often than a game goes on": (
        text_of("over: draw, R to move", CALM, 50, 4, ", ".join(SHUFFLED.split("placement: ")[1] for _ in range(3))),
        "the game was over before",
    ),
    "the third occurrence, and not over": (
        text_of("R to move", CALM, 50, 3, ", ".join(SHUFFLED.split("placement: ")[1] for _ in range(2))),
        "whether it is over must fit",
    ),
    "over for no reason": (change(KINDS, "R to move", "over: draw, R to move"), "whether it is over must fit"),
    "not over at the last ply": (change(KINDS, "ply 50", "ply 300"), "whether it is over must fit"),
    "a line, and not over": (text_of("B to move", LINE, 50), "R has a line, so the first line must say"),
    "a line, and a draw": (text_of("over: draw, B to move", LINE, 300), "R has a line"),
    "wins without a line": (change(KINDS, "R to move", "over: R wins"), "R must have a line, and nobody else"),
    "the other one wins": (text_of("over: B wins", LINE, 50), "B must have a line, and nobody else"),
    "two winners": (text_of("over: R wins", "R1 R1 R1 / B1 B1 B1 / . . .", 50), "R must have a line, and nobody else"),
    "a win occurs once": (text_of("over: R wins", LINE, 50, 2), "the position has occurred 1 times"),
    "no such player": (change(KINDS, "R to move", "Y to move"), "the first line must be like"),
    "other words": (change(KINDS, "R to move", "R to play"), "the first line must be like"),
    "over, and to move": (change(KINDS, "R to move", "over: R to move"), "the first line must be like"),
    "wins, and not over": (change(KINDS, "R to move", "R wins"), "the first line must be like"),
    "a log of another form": (change(SHUFFLED, "R a1 from R1,", "R a1=1,"), "is like 'R b2 from B1', not 'R a1=1'"),
    "a log of an unknown cell": (change(SHUFFLED, "R a1 from R1,", "R a4 from R1,"), "is like 'R b2 from B1'"),
    "a log of an unknown player": (change(SHUFFLED, "R a1 from R1,", "Y a1 from R1,"), "is like 'R b2 from B1'"),
    "a log of an unknown piece": (change(SHUFFLED, "R a1 from R1,", "R a1 from Y1,"), "not 'Y1'"),
    "a log of placements": (change(SHUFFLED, "R a1 from R1,", "R a1 from .,"), "is like 'R b2 from B1'"),
    "an empty log": (KINDS + "\nsince the last placement:", "is like 'R b2 from B1'"),
    "other lines": (KINDS + "\nand so on", "only 'since the last placement: ...' may stand"),
    "a line after the log": (SHUFFLED + "\nand so on", "only 'since the last placement: ...' may stand"),
    "more than a game remembers": (
        text_of("R to move", CALM, 300, 1, ", ".join(["R a1 from R2"] * 301)),
        "no game with these options remembers 301 moves",
    ),
}


@pytest.mark.parametrize(("text", "match"), REFUSED.values(), ids=REFUSED)
def test_a_text_is_refused_in_words(load, text, match):
    with pytest.raises(ValueError, match=match.replace("(", r"\(")):
        load().parse_state(text)


def test_the_texts_that_are_changed_above_are_good(load):
    assert position(load(), "R to move", EVERY_KIND).stash == [[2, 2, 2], [2, 2, 2]]
    assert Position(load(), load().parse_state(SHUFFLED)).occurred == 2
    assert position(load(), "over: R wins", LINE).rewards == [1, -1]


def test_other_texts_are_refused_with_other_options(load):
    unlimited = load(repetition_limit=None, max_plies=152)
    with pytest.raises(ValueError, match="no game with these options remembers 1 moves"):
        unlimited.parse_state(text_of("R to move", CALM, 50, 1, "R a1 from R2"))
    with pytest.raises(ValueError, match="has occurred 1 times"):
        unlimited.parse_state(text_of("R to move", CALM, 50, 2))
    with pytest.raises(ValueError, match="4 numbered rows of 4 cells"):
        load(size=4, max_plies=80).parse_state(KINDS)
    with pytest.raises(ValueError, match="R has only 5 pieces of size 2"):
        load(**THREE).parse_state(
            text_of("R to move", "R2 R2 R2 R2 . / R2 R2 . . . / . . . . . / . . . . . / . . . . .", 50)
        )


def test_a_player_without_a_move_is_not_to_move(load):
    with pytest.raises(ValueError, match="B has no legal move, so it is another player's turn"):
        load(**THREE).parse_state(text_of("B to move", BLUE_STUCK_OF_THREE, 50))
    nobody = BLUE_STUCK.replace("R2 . /", "R2 R1 /")
    with pytest.raises(ValueError, match="whether it is over must fit"):
        load(**FULL).parse_state(text_of("R to move", nobody, 50))
    assert position(load(**FULL), "over: draw, B to move", nobody).over


# --- options ---


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"size": 2}, ValueError, "size=2 must be from 3 to 8"),
        ({"size": 9}, ValueError, "size=9 must be from 3 to 8"),
        ({"size": 3.0}, TypeError, "size=3.0 must be a whole number"),
        ({"size": "3"}, TypeError, "size='3' must be a whole number"),
        ({"size": True}, TypeError, "size=True must be a whole number"),
        ({"size": None}, TypeError, "size=None must be a whole number"),
        ({"players": 1}, ValueError, "players=1 must be from 2 to 2"),
        ({"players": 3}, ValueError, "players=3 must be from 2 to 2"),
        ({"players": 3, "size": 4}, ValueError, "players=3 must be from 2 to 2"),
        ({"players": 1, "size": 5}, ValueError, "players=1 must be from 2 to 4"),
        ({"players": 5, "size": 8}, ValueError, "players=5 must be from 2 to 4"),
        ({"players": "2"}, TypeError, "players='2' must be a whole number"),
        ({"repetition_limit": 1}, ValueError, "repetition_limit=1 must be from 2 to 9"),
        ({"repetition_limit": 0}, ValueError, "repetition_limit=0 must be from 2 to 9"),
        ({"repetition_limit": 10}, ValueError, "repetition_limit=10 must be from 2 to 9"),
        ({"repetition_limit": "x"}, TypeError, "repetition_limit='x' must be a whole number"),
        ({"repetition_limit": False}, TypeError, "repetition_limit=False must be a whole number"),
        ({"max_plies": 100}, ValueError, "max_plies=100 must be from 152 to 65535"),
        ({"max_plies": 0}, ValueError, "max_plies=0 must be from 152"),
        ({"max_plies": 151}, ValueError, "max_plies=151 must be from 152"),
        ({"size": 4, "max_plies": 0}, ValueError, "max_plies=0 must be from 2"),
        ({"size": 5, "players": 4, "max_plies": 3}, ValueError, "max_plies=3 must be from 4"),
        ({"max_plies": 65536}, ValueError, "max_plies=65536 must be from 152 to 65535"),
        ({"max_plies": 300.0}, TypeError, "max_plies=300.0 must be a whole number"),
        ({"same_size_swap": 1}, ValueError, "same_size_swap=1 must be one of False, True"),
        ({"same_size_swap": "yes"}, ValueError, "same_size_swap='yes' must be one of False, True"),
        ({"same_size_swap": None}, ValueError, "same_size_swap=None must be one of False, True"),
    ],
)
def test_options_are_refused_in_words(load, options, error, match):
    with pytest.raises(error, match=match):
        load(**options)


def test_defaults(load):
    assert dict(load().options) == {
        "size": 3,
        "players": 2,
        "repetition_limit": 3,
        "max_plies": 300,
        "same_size_swap": False,
    }
    assert [load(size=size).max_plies for size in range(4, 9)] == [25 * size**2 for size in range(4, 9)]
    assert [load(size=size).prototype["pieces"][0] for size in range(3, 9)] == [3, 4, 5, 5, 5, 5]
    assert load(repetition_limit=None).options["repetition_limit"] is None
    assert load(size=np.int64(4)).options["size"] == 4
