"""The rules of the Tic-Tac-Dice family for a player."""

from ttt_envs.games.tic_tac_dice.rules import CARDS_OF_A_RANK, COUNT_POINTS, DECK, MOST_DRAWN_ROUNDS, RANKS, ROW_POINTS

#: How to read a position that is written as text.
LEGEND = "In a position as text 5X is a card of rank 5 with a marker of X, and * marks the cards that the dice allow."


def pitch(size: int, win_length: int) -> str:
    """Return a summary for the list of games."""
    board, row = f"{size}×{size}", {3: "Three", 4: "Four"}.get(win_length, win_length)
    return f"Roll two dice and claim a card of the {board} with one of them or their sum. {row} in a row wins a round."


def rules_text(size: int, win_length: int, target_points: int, rounds: str) -> str:
    """Return the rules with these options; see `Faces.rules_text` for the form."""
    cells, even = size * size, size % 2 == 0
    last = chr(ord("A") + cells - 1)
    anywhere = "" if size == win_length else ", anywhere on the board"
    if rounds == "match":
        row, count = f"scores {ROW_POINTS} points", f"scores {COUNT_POINTS} point"
        after = (
            "Then the next round begins, with new cards and a new roll for the start. The first player with "
            f"{target_points} points or more wins the match and gets +1, the other -1."
        )
        if even:
            after += f" A match in which {MOST_DRAWN_ROUNDS} rounds scored nothing is a draw, which pays 0."
        game = f"A game is a match of several rounds, to {target_points} points."
    else:
        row, count = "gets +1, the other -1", "gets +1/2, the other -1/2"
        after = ""
        game = "A game is a single round."
    tie = " If both have as many, nobody scores." if even else ""
    paragraphs = (
        f"Two players, X and O, claim cards with dice. The deck has {DECK} cards: the ranks 1 to {RANKS}, "
        f"{CARDS_OF_A_RANK} of each. {game}",
        f"A round begins with a roll for the start: both players roll two dice, and the higher total starts; ties are "
        f"rolled again. Then {cells} cards of the shuffled deck are dealt face up as a square of {size}x{size} cells, "
        f"A to {last}, row by row from the top left.",
        "At each turn the player rolls two dice and claims exactly one unclaimed card whose rank is the number on "
        "either die or the sum of both, by putting a marker on it. Claiming is compulsory. If no card fits, the player "
        "claims nothing; such rolls are passed over automatically, so that a player is asked only when there is a card "
        "to claim. Then it is the other player's turn; but after doubles (two equal dice) the same player rolls "
        "again, whether or not there was a card to claim, as often as that happens. Claimed cards stay claimed.",
        f"A move is the letter of a cell: A to {last}.",
        f"The first player with {win_length} markers in a row (horizontally, vertically or diagonally{anywhere}) ends "
        f"the round and {row}. If all cards are claimed without such a row, the player with more markers {count}."
        f"{tie}{' ' if after else ''}{after}",
    )
    return "\n\n".join(paragraphs)
