"""The rules of the Tic-Tac-Dice family, and nothing else.

Cards lie face up in a square, whose cells are numbered row-major. Two dice determine which cards may be claimed; action
`cell` claims the card in that cell. Source of the rules: Howard Fosdick, "Tic-Tac-Dice", BestFreeNewGames.com.

A set of cells is a number whose bit k is set if cell k is in it.

Decisions (a claim, in `step`) and chance (`deal`, `roll`) are separate functions, so that a solver can set `dice`.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile.bits import set_size, where_equal, write_set
from ttt_envs.core.compile.jit import allocates_nothing, kernel
from ttt_envs.core.lines import has_row
from ttt_envs.core.loops import refuse
from ttt_envs.core.state import between, option, state_dtype

EMPTY = 0
NONE = -1
RANKS = 8
CARDS_OF_A_RANK = 4
DECK = RANKS * CARDS_OF_A_RANK
SIZES = (3, 4, 5)  # a square of 36 cards would need more than the deck has

#: How a round ended; NO_ROUND until the first round has ended.
ENDS = NO_ROUND, ROW_OF_X, ROW_OF_O, MORE_OF_X, MORE_OF_O, DRAWN = range(6)

#: The largest value of the option target_points.
MOST_TARGET = 99

ROW_POINTS = 2
COUNT_POINTS = 1

# After this many rounds without points the match is a draw: on a board with an even number of cells, all rounds could
# be drawn.
MOST_DRAWN_ROUNDS = 32

STATE = {
    size: state_dtype(
        players=2,
        fields=[
            ("rank", np.int8, (size * size,), between(1, RANKS)),  # the rank of the card in each cell
            ("owner", np.int8, (size * size,), between(EMPTY, 2)),  # who has claimed each card: EMPTY or player + 1
            ("dice", np.int8, (2,), between(0, 6)),  # this turn's dice, the lower one first; 0 when the game is over
            ("points", np.int8, (2,), between(0, MOST_TARGET + ROW_POINTS - 1)),  # each player's points in the match
            ("drawn", np.int8, between(0, MOST_DRAWN_ROUNDS)),  # rounds of the match without points
            ("size", np.int8, option(size, size)),  # option of that name
            ("win_length", np.int8, option(3, size)),  # option of that name
            ("target", np.int8, option(0, MOST_TARGET)),  # option target_points; 0 if a game is a single round
        ],
        shown=[
            # The cell of the last claim of this round, or NONE.
            ("last_claim", np.int8, between(NONE, size * size - 1)),
            ("last", np.int8, between(NO_ROUND, DRAWN)),  # how the round before this one ended: an index of ENDS
        ],
    )
    for size in SIZES
}


def most_rounds(size: int, target: int) -> int:
    """Return the largest number of rounds of a game; `target` is 0 for a single round.

    A round gives at least one point unless it is drawn, which is possible only with an even number of cells.
    """
    if not target:
        return 1
    return 2 * target - 1 + (MOST_DRAWN_ROUNDS - 1 if size % 2 == 0 else 0)


@kernel
def reset(state, seed):
    """Begin a match without points, and its first round."""
    rng.start(state, seed)
    begin_round(state)


@kernel
def begin_round(state):
    """Roll for the start until the players' sums differ; then deal the layout and roll the starter's dice."""
    first, second = 0, 0
    while first == second:
        first = die(state) + die(state)
        second = die(state) + die(state)
    state["to_move"] = 0 if first > second else 1
    state["last_claim"] = NONE
    deal(state)
    roll(state)


@kernel
def deal(state):
    """Deal cards from the shuffled deck, without replacement."""
    dealt = np.int64(0)  # bit k: card k of the deck lies in the layout
    for cell in range(state["rank"].shape[0]):
        card = rng.below(state, DECK)
        while dealt >> card & 1:
            card = rng.below(state, DECK)
        dealt |= np.int64(1) << card
        state["rank"][cell] = card // CARDS_OF_A_RANK + 1
        state["owner"][cell] = EMPTY


@kernel
def roll(state):
    """Roll until a card can be claimed. After a roll without one, the other player rolls, or after doubles the same."""
    while True:
        one, two = die(state), die(state)
        state["dice"][0], state["dice"][1] = min(one, two), max(one, two)
        if claimable(state) != 0:
            return
        if one != two:
            state["to_move"] = 1 - state["to_move"]


@kernel
@allocates_nothing
def legal_mask(state, player, out):
    """Write the legal actions: the cards that the dice allow."""
    cells = claimable(state) if player == state["to_move"] else np.int64(0)
    write_set(cells, state["rank"].shape[0], out, 0)


@kernel
def claimable(state):
    """Return the cells whose cards are unclaimed and allowed by the dice, as a set."""
    one, two = np.int64(state["dice"][0]), np.int64(state["dice"][1])
    rank = state["rank"]
    return markers(state, EMPTY) & (where_equal(rank, one) | where_equal(rank, two) | where_equal(rank, one + two))


@kernel
@allocates_nothing
def step(state, actions):
    """Claim a card. If it makes a row or is the last one, end the round; otherwise roll the dice for the next turn."""
    player = np.int64(state["to_move"])
    cell = actions[player]
    if not 0 <= cell < state["rank"].shape[0] or claimable(state) >> cell & 1 == 0:
        refuse(state)
        return
    state["owner"][cell] = player + 1
    state["last_claim"] = cell
    if has_row(markers(state, player + 1), state["size"], state["win_length"]):
        end_round(state, player, ROW_POINTS)
    elif markers(state, EMPTY) == 0:
        ahead = np.int64(set_size(markers(state, 1))) - np.int64(set_size(markers(state, 2)))
        end_round(state, 0 if ahead > 0 else 1, COUNT_POINTS if ahead != 0 else 0)
    else:
        if not doubles(state):
            state["to_move"] = 1 - player
        roll(state)


@kernel
def end_round(state, player, points):
    """Give `player` the points of the round, 0 if it is drawn; then begin the next round or end the game."""
    if state["target"] == 0:  # a single round
        end_game(state, player, points / ROW_POINTS)
        return
    state["points"][player] += points
    state["drawn"] += points == 0
    if state["points"][player] >= state["target"]:
        end_game(state, player, 1.0)
    elif state["drawn"] >= MOST_DRAWN_ROUNDS:
        end_game(state, player, 0.0)
    else:
        state["last"] = DRAWN if points == 0 else player + (ROW_OF_X if points == ROW_POINTS else MORE_OF_X)
        begin_round(state)


@kernel
def end_game(state, player, reward):
    """End the game: `player` gets the reward, the other player its negative."""
    state["done"] = True
    state["rewards"][player] = reward
    state["rewards"][1 - player] = 0 - reward  # a draw pays 0, and not -0
    state["to_move"] = 0
    state["dice"][:] = 0


@kernel
def die(state):
    """Return a die's number, 1 to 6."""
    return 1 + rng.below(state, 6)


@kernel
def doubles(state):
    """Return whether both dice are equal, so that the same player rolls again."""
    return state["dice"][0] == state["dice"][1]


@kernel
def markers(state, mark):
    """Return the set of cells with this mark, which is player + 1 or EMPTY."""
    return where_equal(state["owner"], mark)


@kernel
def resample(state, player, seed):
    """Replace the random future dice and layouts by those of another seed; nothing else is hidden."""
    rng.start(state, seed)


@kernel
def round_rewards(states, out):
    """Write each player's sum of rewards for rounds: the lead in points / ROW_POINTS; see `core.game.Extras`."""
    for i in range(states.shape[0]):
        for player in range(2):
            ahead = np.int64(states[i]["points"][player]) - np.int64(states[i]["points"][1 - player])
            out[i, player] = ahead / ROW_POINTS
