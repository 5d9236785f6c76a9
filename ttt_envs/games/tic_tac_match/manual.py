"""The rules of Tic-Tac Match for a player."""

from typing import Any

from ttt_envs.games.tic_tac_match.rules import MOST_EXCHANGES
from ttt_envs.games.tic_tac_match.text import COLOURS

#: A summary for the list of games.
PITCH = "Play cards from a hidden hand for three of your symbol in one colour, until a Flip turns your symbol over."


def legend(*, flips: int, wipe_outs: int, double_plays: int, **_: Any) -> str:
    """Return how to read a position that is written as text, in a game with these options."""
    specials = {"Flip": flips, "Wipe-Out": wipe_outs, "Double Play": double_plays}
    shorts = "".join(f", {name[0]} a {name}" for name, number in specials.items() if number)
    return f"In a position as text rX is a red X{shorts}."


def rules_text(
    *,
    players: int,
    teams: bool,
    max_turns: int,
    colours: int,
    copies: int,
    flips: int,
    wipe_outs: int,
    double_plays: int,
    hand_size: int,
    **_: Any,
) -> str:
    """Return the rules with these options; see `Faces.rules_text` for the form."""
    if players == 2:
        sides, mates = "Two players, seats 0 and 1, play against each other.", ""
    elif teams:
        sides, mates = "Four players form two sides: seats 0 and 2 against seats 1 and 3.", " (a team-mate's too)"
    else:
        sides, mates = "Seat 0, the dealer, plays alone against seats 1, 2 and 3.", " (a team-mate's too)"
    names = COLOURS[:colours]
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if colours > 1 else names[0]
    specials = {"Flip": flips, "Wipe-Out": wipe_outs, "Double Play": double_plays}
    extra = "".join(f", {number} {name}" for name, number in specials.items() if number)
    total = 2 * colours * copies + sum(specials.values())
    cards = [
        "- Symbol: onto an empty cell, or onto a top card with which it shares exactly one of colour and symbol (the "
        "same colour and the other symbol, or the same symbol in another colour). It covers the card below. Written "
        f"'{names[0]} X to E'.",
        "- Flip: to the discards. Every player's ID card is turned over. Written 'flip'.",
        "- Wipe-Out: to the discards; the player draws a replacement at once. A chosen other player"
        f"{', a team-mate too,' if players > 2 else ''} discards their whole hand, draws {hand_size} new cards and "
        "takes the next turn; play goes on from there in the order of seats. Written 'wipe-out +k' for the player k "
        "seats further.",
        "- Double Play: to the discards. Then the player plays exactly two more cards, one after the other, each a "
        f"Symbol{' or a Flip' if flips else ''}. It may be played only if two such plays are possible, or a first one "
        "that ends the game. Written 'double play'; the two cards are moves of their own.",
    ]
    held = [line for line, number in zip(cards, (1, *specials.values()), strict=True) if number]
    between = ", also between the two cards of a Double Play," if double_plays else ""
    flip = " A Flip first can turn a loss into a win." if flips else ""
    paragraphs = (
        f"{sides} The {total} cards are X and O in {listed}, {copies} of each{extra}. The board has nine cells, A to "
        "I, row by row from the top left.",
        f"Each player is dealt {hand_size} cards. Then cards are revealed until a symbol comes: it is laid on the "
        "centre cell, E, and the others go to the discards. Every player has an ID card that shows X or O: the ID "
        "cards of seat 0's side show the symbol of that first card, those of the other side the other symbol. Seat 1 "
        "begins, and the turn passes in the order of seats.",
        f"At each turn a player plays exactly one card, and then draws until they hold {hand_size} cards again:",
        "\n".join(held),
        f"After every single card{between} the board is looked at. Three top cards of the same colour and the same "
        "symbol in a row (a row, column or diagonal) end the game: the side whose ID cards show that symbol at this "
        "moment wins, whoever laid the card. So a player who completes a row of the other side's symbol loses."
        f"{flip} The winning side shares +1, the losing side shares -1.",
        f"A player who has no legal play discards the whole hand and draws {hand_size} new cards, automatically and as "
        "often as needed, and then plays. As soon as the draw pile is empty, the discards and the covered cards are "
        "shuffled into a new one; the top cards stay.",
        "Everybody sees the board with its covered cards, the discards, the ID cards and how many cards each player "
        f"holds. Other players' hands{mates} and the draw pile are hidden. The game is a draw, which pays 0, after "
        f"{max_turns:,} turns, or if a hand is exchanged {MOST_EXCHANGES:,} times in a row.",
    )
    return "\n\n".join(paragraphs)
