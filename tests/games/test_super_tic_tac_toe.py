"""Super Tic-Tac-Toe: counts of move sequences, and what happens in positions that can be seen in the test."""

# ruff: noqa: F821 - perft's legal_mask and step are bound when it is compiled

import numpy as np
import pytest

import ttt_envs
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.games.super_tic_tac_toe.text import cells_of


def count_sequences(states, masks, cursors, depth):
    """Move sequences of `depth` plies from states[0]; the rest is scratch, `depth` long."""
    actions = np.zeros(2, np.int64)
    found, level = 0, 0
    cursors[0] = -1
    while level >= 0:
        if cursors[level] < 0:
            if states[level]["done"]:
                masks[level, :] = False
            else:
                legal_mask(states[level], states[level]["to_move"], masks[level])
            if level == depth - 1:
                found += masks[level].sum()
                level -= 1
                continue
            cursors[level] = 0
        while cursors[level] < masks.shape[1] and not masks[level, cursors[level]]:
            cursors[level] += 1
        if cursors[level] == masks.shape[1]:
            level -= 1
            continue
        states[level + 1] = states[level]
        actions[:] = cursors[level]
        step(states[level + 1], actions)
        cursors[level] += 1
        cursors[level + 1] = -1
        level += 1
    return found


def perft(game: Game, depth: int) -> int:
    count = jit.specialise(count_sequences, legal_mask=game.kernels.legal_mask, step=game.kernels.step)
    states = np.repeat(game.new_state(seed=0), depth)
    return int(count(states, np.zeros((depth, game.num_actions), np.bool_), np.zeros(depth, np.int64), depth))


def test_the_published_counts_of_ultimate():
    game = ttt_envs.load("super_tic_tac_toe", first_move="anywhere", won_boards="closed")
    assert perft(game, 3) == 6336
    assert perft(game, 6) == 4020960


# --- positions ---


def board(head: str, cells: str, owners: str) -> str:
    """A position's text from a first line, nine rows and the owners; bars are set here."""
    rows = [f"{row[:3]}|{row[3:6]}|{row[6:]}" for row in cells.split()]
    rows = [" | ".join(" ".join(part) for part in row.split("|")) for row in rows]
    line = "------+-------+------"
    return "\n".join([head, *rows[:3], line, *rows[3:6], line, *rows[6:], f"boards: {owners}"])


def play(game: Game, text: str, action: str) -> np.void:
    states = game.parse_state(text)
    assert action in legal(game, states[0]), action
    joint = np.full(2, game.parse_action(action))
    game.loops.step_one(states, 0, joint)
    return states[0]


def legal(game: Game, state: np.void) -> set[str]:
    states, mask = np.array([state]), np.zeros(81, np.bool_)
    game.loops.mask_one(states, 0, int(state["to_move"]), mask)
    return {game.action_names[action] for action in np.flatnonzero(mask)}


OPEN = {"won_boards": "open"}
CLOSED = {"won_boards": "closed"}


# X owns board 0; O is about to make a line in it too.
TWO_LINES = board(
    "O to move in board 0",
    """
    XXX......
    OO.......
    .........
    ...X.....
    ...O.....
    .........
    .........
    .........
    .........
    """,
    "X.. ... ...",
)


FULL_CENTRE = board(
    "X to move in board 0",
    """
    ....O....
    ....X....
    ....O....
    ...XOX.X.
    .X.OXX.O.
    ...OXO.O.
    .........
    .X..O....
    .........
    """,
    "... ... ...",
)


NEARLY_WON = board(
    "X to move in board 8",
    """
    XXX......
    .........
    OO.......
    ...X.....
    ...X.....
    ...XOO...
    ......XX.
    OO....O..
    ......O..
    """,
    "X.. .X. ...",
)


def test_a_third_board_in_a_row_wins_at_once():
    game = ttt_envs.load("super_tic_tac_toe")
    state = play(game, NEARLY_WON, "8/2")
    assert state["done"]
    assert state["rewards"].tolist() == [1, -1]
    assert legal(game, state) == set()
    assert game.format_state(state).startswith("over: X wins")
    other = play(game, NEARLY_WON, "8/4")
    assert not other["done"]
    assert not other["rewards"].any()


LAST_CELL = board(
    "X to move anywhere",
    """
    OOOXXXXO.
    OOXXXOXXO
    XOOOXXOXO
    XOOXOXXOX
    OXXOOXXXO
    OXXOXOXOX
    XOOXOXOXO
    OXOOOOXOO
    XXOXOXXOX
    """,
    "OX. X.X OO.",
)


def test_a_full_board_without_three_in_a_row_is_a_draw():
    game = ttt_envs.load("super_tic_tac_toe")
    state = play(game, LAST_CELL, "2/2")
    assert state["done"]
    assert state["ply"] == 81
    assert not state["rewards"].any()
    assert legal(game, state) == set()
    assert game.format_state(state).startswith("over: draw")


# With closed boards only the last empty cell of board 0 can be played in.
LAST_OPEN_CELL = board(
    "O to move anywhere",
    """
    OXXO.XX..
    XO....OOO
    XOXOOO...
    O...X.O.X
    OOO.XXXOX
    .X..XO..X
    XX..XX.O.
    OOOXXOXO.
    ..XXO..OX
    """,
    ".OO OXX OXO",
)


def test_closed_is_over_when_every_board_is_owned_or_full():
    closed = ttt_envs.load("super_tic_tac_toe", **CLOSED)
    assert legal(closed, closed.parse_state(LAST_OPEN_CELL)[0]) == {"0/5"}
    state = play(closed, LAST_OPEN_CELL, "0/5")
    assert state["done"]
    assert (cells_of(state) == 0).any()
    assert not state["rewards"].any()
    assert closed.format_state(state).startswith("over: draw")
    assert not play(ttt_envs.load("super_tic_tac_toe", **OPEN), LAST_OPEN_CELL, "0/5")["done"]


# --- text ---


@pytest.mark.parametrize("text", [TWO_LINES, FULL_CENTRE, NEARLY_WON, LAST_CELL])
def test_text_is_read_and_written_alike(text):
    game = ttt_envs.load("super_tic_tac_toe")
    assert game.format_state(game.parse_state(text)[0]) == text


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (TWO_LINES, "", "a position needs nine rows of nine marks"),
        ("O O . | . . .", "O Q . | . . .", "each one of '.', 'X', 'O'"),
        ("boards: ", "owners: ", "the last line must be like 'boards: "),
        ("boards: X..", "boards: ...", "board 0 cannot belong to '.'.*lines in it"),
        ("O O . | . . .", "O O O | O . .", "X has as many marks as O or one more, not 4 against 5"),
        ("O to move", "X to move", "the first line must be 'O to move in board"),
        ("O to move in board 0", "over: draw", "over: draw' or 'over: X wins' and fit the board"),
    ],
)
def test_a_wrong_position_is_refused_in_words(old, new, words):
    game = ttt_envs.load("super_tic_tac_toe")
    assert old in TWO_LINES
    game.parse_state(TWO_LINES)
    with pytest.raises(ValueError, match=words):
        game.parse_state(TWO_LINES.replace(old, new, 1))


def test_nobody_is_sent_to_a_board_that_cannot_be_played_in():
    game = ttt_envs.load("super_tic_tac_toe")
    with pytest.raises(ValueError, match="nobody can be sent to board 4: it is full or closed"):
        game.parse_state(FULL_CENTRE.replace("in board 0", "in board 4"))
    closed = ttt_envs.load("super_tic_tac_toe", **CLOSED)
    with pytest.raises(ValueError, match="nobody can be sent to board 0: it is full or closed"):
        closed.parse_state(TWO_LINES)


def test_a_won_position_must_say_that_it_is_over():
    game = ttt_envs.load("super_tic_tac_toe")
    won = game.format_state(play(game, NEARLY_WON, "8/2"))
    with pytest.raises(ValueError, match="X owns three boards in a row, so the first line must say"):
        game.parse_state(won.replace("over: X wins", "O to move anywhere"))
    with pytest.raises(ValueError, match="fit the board"):
        game.parse_state(won.replace("over: X wins", "over: O wins"))


def test_planes_lie_as_the_board_does():
    """Row and column of the drawn board: cell (2, 7) is board 2, cell 7."""
    game = ttt_envs.load("super_tic_tac_toe", first_move="anywhere")
    env = ttt_envs.make_aec("super_tic_tac_toe", first_move="anywhere", encoding="planes")
    env.reset(seed=0)
    env.step(game.parse_action("2/7"))
    planes = env.observe("player_0")["observation"]
    assert np.argwhere(planes[0]).tolist() == [[2, 7]]
    assert not planes[1].any()
    assert np.argwhere(planes[4]).tolist() == [[r, c] for r in (6, 7, 8) for c in (3, 4, 5)]
    assert np.argwhere(env.observe("player_1")["observation"][1]).tolist() == [[2, 7]]
