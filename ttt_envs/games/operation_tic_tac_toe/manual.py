"""The rules of Operation Tic-Tac-Toe for a player."""

from typing import Any

from ttt_envs.games.operation_tic_tac_toe import text
from ttt_envs.games.operation_tic_tac_toe.rules import OFFERS, ROUNDS_OF_OFFERS

#: The effect of each specialist, in the order of `rules.KIND_NAMES`.
SPECIALISTS = (
    "Sniper, into an empty room: may remove one enemy spy in the same row or column, at any distance ('remove B').",
    "Ninja, into an empty room: may remove one enemy spy in an adjacent room, also diagonally ('remove B').",
    "Assassin, into a room with an enemy spy: that spy is removed.",
    "Courier, into a room with a friendly spy that has an empty room next to it (horizontally or vertically): the spy "
    "moves to one such room ('move to D').",
    "Mole, into an empty room: must, if it can, swap a friendly spy and an enemy spy that both stand in rooms adjacent "
    "to the mole, also diagonally ('swap B E').",
    "Pusher, into an empty room: may move one room north, east, south or west ('push north'). Pieces in its way, as "
    "far as they stand without a gap, are pushed one room each; a piece pushed off the board is removed, whoever "
    "owns it. A direction with a specialist among them is not allowed.",
    "Grappler, into an empty room: may swap places with an enemy spy in the next room, horizontally or vertically "
    "('grapple F').",
    "Hacker, into an empty room: from their next prediction on, its owner predicts two rooms instead of one ('predict "
    "A+I'), until a prediction of theirs blocks.",
)

#: How to read a position that is written as text.
LEGEND = "In a position as text x is a spy of X, o a spy of O, and X:mole the mole of X."

#: A summary for the list of games.
PITCH = "One player places a piece in secret while the other predicts the room: a piece whose room was guessed is lost."


def rules_text(
    *,
    mode: str,
    rounds_to_win: int,
    max_rounds: int,
    max_idle_turns: int,
    allow_pass: bool,
    draw_offers: bool,
    specialists: Any,
    first_placer: int | None,
) -> str:
    """Return the rules with these options; see `Faces.rules_text` for the form."""
    setting = _match(rounds_to_win, max_rounds) if mode == "match" else _single_round(specialists, first_placer)
    passing = "A Placer who can place nothing passes."
    if allow_pass:
        passing += " Both players may also pass in any turn ('pass'): a pass places or predicts nothing."
    drawn = [
        "both players have a row of three at once",
        "at the end of a turn at most one room is empty, and no specialist that is still in hand can enter an "
        "occupied room",
        f"{max_idle_turns} turns in a row have changed neither the board nor any specialist (in hand or used up, "
        "hacker on or off)",
    ]
    if draw_offers:
        passing += " Both may offer a draw in any turn ('offer draw'); an offer that the other does not make too is a "
        passing += "pass."
        drawn.append("both players offer a draw in the same turn")
    paragraphs = (
        "Two players, X and O, place pieces in a house of nine rooms, A to I, row by row from the top left. Three own "
        "pieces in a row (a row, column or diagonal) win a round.",
        *setting,
        "In each turn one player is the Placer and the other the Predictor. They choose at the same moment, in secret. "
        "The Placer chooses a room and a piece to place there: a spy, into an empty room ('spy to E', or only 'E'), or "
        "a specialist in hand, into a room that it may enter ('mole to E'). The Predictor names a room, empty or "
        "occupied ('predict E'). Both choices are then shown. Spies never run out.",
        "If the Predictor named the Placer's room, the placement is blocked: a spy returns to the supply, a specialist "
        "is used up without effect, and a hacker of the Predictor is switched off. Otherwise the piece is placed, and "
        "the Placer decides on its ability if there is something to decide; an ability that 'may' be used can be left "
        f"with 'no ability'. {passing}",
        "Specialists, of which each player has one of each kind:",
        "\n".join(f"- {each}" for each in SPECIALISTS),
        "An ability works once, when the specialist is placed. It never affects another specialist: specialists on the "
        "board are not removed, swapped, grappled or pushed, only spies are.",
        "After each turn, a player with three own pieces in a row, spies and specialists alike, wins the round, no "
        f"matter who brought it about. The round is drawn if {'; or if '.join(drawn)}. Otherwise the roles swap for "
        "the next turn.",
    )
    return "\n\n".join(paragraphs)


def _match(rounds_to_win: int, max_rounds: int) -> list[str]:
    first = rounds_to_win if rounds_to_win > 1 else "one"
    match = (
        f"A game is a match: the first player to win {first} round{'s' if rounds_to_win > 1 else ''} wins it. A drawn "
        f"round counts for nobody. After {max_rounds} round{'s' if max_rounds > 1 else ''} the player with more wins "
        "takes the match, and equal wins are a draw. The winner gets +1, the loser -1; a draw pays 0."
    )
    begin = (
        "A round begins with an empty house. First one player decides who places first ('place first' or 'predict "
        "first'): X in round 1, later the loser of the round before, or after a drawn round the player who did not "
        f"place first in it. Then each player is offered {OFFERS} random specialists of those they have not used yet "
        "(fewer when fewer are left); both see both offers, and both choose one at the same moment ('choose sniper'). "
        "The chosen specialist may be placed once in this round, and is used up afterwards, placed or not."
    )
    if max_rounds > ROUNDS_OF_OFFERS:
        begin += (
            f" From round {ROUNDS_OF_OFFERS + 1} on all specialists have returned: each player chooses any two of the "
            "eight in every round ('choose sniper and ninja'), and may place both, one in a turn."
        )
    return [match, begin]


def _single_round(specialists: Any, first_placer: int | None) -> list[str]:
    if specialists is None:
        held = "Each player holds one random specialist."
    else:
        held = " ".join(f"{mark} holds {_hand(hand)}." for mark, hand in zip("XO", specialists, strict=True))
    first = "A random player" if first_placer is None else "XO"[first_placer]
    return [
        f"A game is a single round. {held} A specialist may be placed once. {first} places first. The winner gets +1, "
        "the loser -1; a draw pays 0."
    ]


def _hand(hand: Any) -> str:
    if hand is None:
        return "no specialist"
    return f"the {' and the '.join([hand] if isinstance(hand, str) else hand)}"


#: Phrases for the ways in which a round can end, in the order of `rules.ENDS`.
ENDINGS = (
    "",
    "three in a row",
    "three in a row",
    "both have three in a row",
    "no room is left",
    "nobody got further for too long",
    "both wanted it",
)


def ending(state: Any) -> str:
    """Return the reason why a finished game or round ended; see `Faces.ending`."""
    if text.is_forfeit(state):
        return "the other side made no legal choice"
    if state["is_match"] and state["done"]:
        more, fewer = sorted(map(int, state["wins"]), reverse=True)
        return f"{more} rounds to {fewer}"
    how = ENDINGS[state["ended"]]
    winner = "" if state["done"] or state["ended"] not in (1, 2) else f"{text.MARKS[state['ended'] - 1]} wins it with "
    return f"{winner}{how}"
