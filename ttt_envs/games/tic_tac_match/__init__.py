"""Tic-Tac Match: hidden hands, two sides that can change their symbol, and cards that cover cards.

- **What it adds**: hidden information and teams. Two players, or four as two teams (or as one against three).
- **Actions**: `red X to E` lays a symbol card on a cell (A to I, row by row), then `flip`, `wipe-out +k` against the
  player k seats later, and `double play`. An action names the kind of a card, not its place in the hand.
- **Rules**: in your turn, play one card, then draw up to a full hand. A symbol card goes on an empty cell, or on a top
  card that has either the same colour or the same symbol, but not both. Flip turns over all ID cards. Wipe-Out
  exchanges another player's hand for a new one, and that player is next. Double Play lets you play two cards, symbols
  or Flips, as two decisions. Three top cards of one colour and symbol in a row end the game, even between the two cards
  of a Double Play. The side whose ID cards show the symbol at that moment wins, whoever laid the card. If a player
  cannot play any card, the step exchanges the hand for a new one. When the pile is empty, the discards and the covered
  cards become the new pile. Seat 0 deals, seat 1 begins.
- **Reward**: the winning side shares +1, the losing side -1; after `max_turns` turns it is a draw.
- **Observation**: see `encoding.blocks`; 416 features with two players. Other players' hands and the pile's order are
  never observed.
- **Options**: see `make`.
- **`resample`** uses what the observer sees now. A player who remembers which cards went into a new pile knows slightly
  more.
"""

from functools import partial
from typing import Any

import numpy as np

from ttt_envs.core.game import Extras, Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.options import choice, whole
from ttt_envs.core.presentation import Faces
from ttt_envs.games.tic_tac_match import encoding, manual, rules, symmetry, text
from ttt_envs.games.tic_tac_match.drawing import clicks, draw, spots
from ttt_envs.games.tic_tac_match.lessons import LESSONS
from ttt_envs.games.tic_tac_match.tips import tips

ID = "tic_tac_match"


def make(
    *,
    players: int = 2,
    teams: bool = True,
    max_turns: int = 1000,
    colours: int = 4,
    copies: int = 6,
    flips: int = 4,
    wipe_outs: int = 4,
    double_plays: int = 4,
    hand_size: int = 4,
) -> Game:
    """Return the game with these options.

    Args:
        players: 2 or 4.
        teams: True: with four players, seats 0 and 2 play against 1 and 3; False: seat 0 plays alone
            against the others.
        max_turns: 1 to 10,000: the game is a draw after this many turns.
        colours: 1 to 4: colours of the symbol cards.
        copies: 1 to 9: cards of each symbol in each colour.
        flips: 0 to 9: Flip cards in the deck.
        wipe_outs: 0 to 9: Wipe-Out cards in the deck.
        double_plays: 0 to 9: Double Play cards in the deck.
        hand_size: 1 to 9: cards that a player holds.

    Raises:
        ValueError: an option has a wrong value; the message names the option.
        TypeError: an option has a wrong type.
    """
    options: dict[str, Any] = {
        "players": choice("players", players, (2, 4)),
        "teams": choice("teams", teams, (True, False)),
        "max_turns": whole("max_turns", max_turns, 1, 10_000),
        "colours": whole("colours", colours, 1, len(text.COLOURS)),
        "copies": whole("copies", copies, 1, rules.MOST_CARDS),
        "flips": whole("flips", flips, 0, rules.MOST_CARDS),
        "wipe_outs": whole("wipe_outs", wipe_outs, 0, rules.MOST_CARDS),
        "double_plays": whole("double_plays", double_plays, 0, rules.MOST_CARDS),
        "hand_size": whole("hand_size", hand_size, 1, 9),
    }
    if players == 2 and not teams:
        raise ValueError("option teams=False is for players=4: the dealer alone against the three others")
    deck = [copies] * 2 * colours + [flips, wipe_outs, double_plays]
    _check_deck(deck, players, hand_size, max_turns)
    prototype = np.zeros(1, rules.state_dtype_for(players, colours))
    prototype["deck"], prototype["hand_size"], prototype["max_turns"] = deck, hand_size, max_turns
    prototype["team_of"] = [player % 2 if teams else player > 0 for player in range(players)]
    sides = prototype["team_of"][0]
    return Game(
        id=ID,
        title="Tic-Tac Match",
        options=options,
        factory=make,
        same_play={"max_turns": ...},
        prototype=prototype,
        action_names=text.action_names(players, colours),
        observation_layout=encoding.blocks(players, deck, hand_size),
        simultaneous=False,
        chance="play",
        hidden_information=True,
        max_plies=max_turns * (3 if double_plays else 1),
        teams=tuple(tuple(int(each) for each in np.flatnonzero(sides == side)) for side in (0, 1)),
        rotate_players=symmetry.rotate_players,
        kernels=Kernels(rules.reset, rules.legal_mask, rules.step, encoding.observe, rules.resample, rules.is_legal),
        faces=Faces(
            format_state=text.format_state,
            read_state=partial(text.parse_state, prototype=prototype),
            draw=draw,
            action_format="a card and where it goes: 'red X to E' or 'rX E', 'flip', 'wipe-out +1', 'double play'",
            short_action_names=text.action_names(players, colours, short=True),
            rules_text=manual.rules_text(**options),
            legend=manual.legend(**options),
            lessons=LESSONS,
            pitch=manual.PITCH,
            ending=text.ending,
            player_names=tuple(f"seat {player}" for player in range(players)),
            text_styles=text.STYLES,
            spots=spots,
            clicks=clicks,
            tips=tips,
        ),
        extras=Extras(
            symmetries=lambda: tuple(symmetry.symmetries(players, deck, hand_size)),
        ),
    )


def _check_deck(deck: list[int], players: int, hand_size: int, max_turns: int) -> None:
    """Raise ValueError if the game cannot begin or continue with these cards."""
    held, symbols = players * hand_size, sum(deck[:-3])
    if symbols <= held:
        raise ValueError(
            f"this deck cannot be dealt: {players} hands of {hand_size} cards could hold all {symbols} symbol cards, "
            "and one must come to the centre; take a smaller hand_size, or more copies or colours"
        )
    laid = min(rules.CELLS, 1 + max_turns * (2 if deck[-1] else 1))
    if sum(deck) <= held + laid:
        raise ValueError(
            f"this deck runs out: of its {sum(deck)} cards {held} are in {players} hands and up to {laid} lie on top; "
            f"at least {held + laid + 1} cards are needed, or a smaller hand_size"
        )
