"""Operation Tic-Tac-Toe: a secret placement against a secret prediction, with specialists that change the board.

- **What it adds**: simultaneous choices, so that optimal play is a mixed strategy. There are two players. Only the
  choices of the present moment and the specialists that will be offered later are hidden.
- **A turn**: the Placer chooses a room, A to I, and a piece: a spy for an empty room, or a specialist from their hand.
  At the same time the Predictor names any room, empty or not. If the two rooms are the same, the placement is blocked:
  a spy returns to the supply, a specialist is used up. Otherwise the piece is placed, and the Placer alone decides how
  to use its ability. Then a player with three own pieces in a row wins the round, whoever made the row. The roles swap.
- **Specialists**: each player has one of each kind. Their abilities never affect another specialist:

  - sniper: may remove an enemy spy in its row or column; ninja: one in an adjacent room, also diagonally;
  - assassin: is placed into the room of an enemy spy, who is removed;
  - courier: is placed into the room of an own spy, who moves to an orthogonally adjacent empty room;
  - mole: must, if it can, swap an own and an enemy spy, both in rooms adjacent to it;
  - pusher: may move one room north, east, south or west, pushing what is in its way; a piece off the board is removed;
  - grappler: may swap places with an enemy spy in an orthogonally adjacent room;
  - hacker: its owner predicts two rooms instead of one, until they block a placement.

- **A match** goes to the first player to win `rounds_to_win` rounds. In each round one player decides who places first:
  player 0 in the first, then the loser, or after a draw the player who did not place first. Then each player picks one
  of at most three specialists offered to them at random, both at once; it is gone afterwards, placed or not. From round
  9 on, all specialists are available again, and each player picks any two in every round.
- **A round is drawn** if both players have a row; if at most one room is empty and no specialist in hand can enter an
  occupied room; if `max_idle_turns` turns in a row have changed nothing; or if both players offer a draw. After
  `max_rounds` rounds, the player with more wins has won the match.
- **Actions** are one list for all phases, such as `mole to E`, `predict A`, `predict A+I`, `remove B`, `move to D`,
  `swap B E`, `grapple F`, `push north`, `no ability`, `place first`, `choose sniper`, `choose sniper and ninja`. A
  Placer who can place nothing has the action `pass`. The Placer decides on an ability whenever it can have an effect,
  even if only one choice is legal.
- **Reward**: +1 to the winner of the match, or of the single round, and -1 to the loser.
- **Observation**: see `encoding.blocks`; 147 features in a match to 4 wins, 93 in a single round. Two things are left
  out: the kind of a specialist in a room, because it has no effect any more (an active hacker has a feature of its
  own), and the choices of earlier turns.
- **Options**: see `make`. If `specialists` and `first_placer` are given, nothing is random.
- **Oracle**: see `solver`.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from ttt_envs.core.game import Extras, Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.options import choice, unknown, whole
from ttt_envs.core.oracle import Oracle, SolveCommand
from ttt_envs.core.presentation import Faces
from ttt_envs.games.operation_tic_tac_toe import encoding, manual, rules, symmetry, text
from ttt_envs.games.operation_tic_tac_toe.drawing import clicks, draw, spots
from ttt_envs.games.operation_tic_tac_toe.lessons import LESSONS
from ttt_envs.games.operation_tic_tac_toe.text import Hand
from ttt_envs.games.operation_tic_tac_toe.tips import tips

ID = "operation_tic_tac_toe"

MODES = ("match", "round")


def make(
    *,
    mode: str = "match",
    rounds_to_win: int = 4,
    max_rounds: int = 40,
    max_idle_turns: int = 20,
    allow_pass: bool = False,
    draw_offers: bool = False,
    specialists: tuple[Hand, Hand] | str | None = None,
    first_placer: int | None = None,
) -> Game:
    """Return the game with these options.

    Args:
        mode: "match" (rounds until a player has won `rounds_to_win`) or "round" (a game is one round).
        rounds_to_win: 1 to 99: number of won rounds that wins a match.
        max_rounds: 1 to 99: after this many rounds, the player with more wins has won the match.
        max_idle_turns: 1 to 99: a round is drawn after this many turns in a row without a change.
        allow_pass: True: both players may pass in any turn.
        draw_offers: True: both players may offer a draw in any turn.
        specialists: only with mode="round". None draws a random specialist for each player. Otherwise a pair, for
            player 0 and player 1: each is None, a name or two names; as text "none,none", "sniper,mole" or
            "sniper+mole,hacker".
        first_placer: only with mode="round": 0 or 1, the player who places first; None: a random one.

    Raises:
        ValueError: an option has a wrong value; the message names the option.
        TypeError: an option has a wrong type.
    """
    is_match = choice("mode", mode, MODES) == "match"
    for name, value in (("specialists", specialists), ("first_placer", first_placer)):
        if is_match and value is not None:
            raise ValueError(f"option {name}={value!r} needs mode='round': in a match the players decide that")
    if first_placer is not None:
        first_placer = whole("first_placer", first_placer, 0, 1)
    options: dict[str, Any] = {
        "mode": mode,
        "rounds_to_win": whole("rounds_to_win", rounds_to_win, 1, 99),
        "max_rounds": whole("max_rounds", max_rounds, 1, 99),
        "max_idle_turns": whole("max_idle_turns", max_idle_turns, 1, 99),
        "allow_pass": choice("allow_pass", allow_pass, (False, True)),
        "draw_offers": choice("draw_offers", draw_offers, (False, True)),
        "specialists": None if specialists is None else _hands(specialists),
        "first_placer": first_placer,
    }
    prototype = np.zeros(1, rules.STATE)
    prototype["is_match"] = is_match
    for name in ("rounds_to_win", "max_rounds", "max_idle_turns", "allow_pass", "draw_offers"):
        prototype[name] = options[name]
    prototype["given"] = _given(options["specialists"])
    prototype["given_first"] = rules.NOBODY if first_placer is None else first_placer
    same_play: dict[str, Any] = {"max_rounds": ...}
    if not is_match:
        same_play |= {"rounds_to_win": ..., "first_placer": ..., "specialists": None}
    drawn = specialists is None or first_placer is None
    observation = encoding.blocks(is_match, options["rounds_to_win"], options["max_idle_turns"])
    return Game(
        id=ID,
        title="Operation Tic-Tac-Toe",
        options=options,
        factory=make,
        same_play=same_play,
        prototype=prototype,
        action_names=text.ACTIONS,
        observation_layout=observation,
        simultaneous=True,
        chance="play" if is_match else "start" if drawn else "none",
        hidden_information=False,
        max_plies=rules.most_plies(prototype[0]),
        teams=((0,), (1,)),
        rotate_players=symmetry.rotate_players,
        kernels=Kernels(
            rules.reset,
            rules.legal_mask,
            rules.step,
            encoding.observe,
            rules.resample,
            rules.is_legal,
            rules.random_action,
        ),
        faces=Faces(
            format_state=text.format_state,
            read_state=partial(text.parse_state, prototype=prototype),
            draw=draw,
            action_format="what is submitted, such as 'spy to E' or only 'E', 'mole to E', 'predict A', 'remove B' or "
            "'push north'",
            short_action_names=text.SHORT_ACTIONS,
            rules_text=manual.rules_text(**options),
            legend=manual.LEGEND,
            lessons=LESSONS,
            pitch=manual.PITCH,
            ending=manual.ending,
            player_names=tuple(text.MARKS),
            text_styles=text.STYLES,
            spots=spots,
            clicks=clicks,
            tips=tips,
            finished_round=text.finished_round,
        ),
        extras=Extras(
            oracle=partial(_oracle, options),
            solve_commands=_solve_commands,
            symmetries=lambda: tuple(symmetry.symmetries(sum(block.size for block in observation))),
            current_round=partial(_current_round, cache(partial(make, **{**options, "mode": "round"})))
            if is_match
            else None,
            round_rewards=rules.round_rewards if is_match else None,
        ),
    )


def _current_round(single: Callable[[], Game], states: np.ndarray) -> tuple[Game, np.ndarray, np.ndarray]:
    rows = np.flatnonzero(states["phase"] >= rules.TURN)
    new = states[rows]
    new["is_match"], new["round"], new["wins"], new["ended"] = False, 1, 0, rules.NO_ROUND
    # A specialist that is not in hand has no effect on this round, so it counts as used up.
    new["standing"] = np.where(new["standing"] == rules.IN_HAND, rules.IN_HAND, rules.USED)
    return single(), rows, new


def _hands(specialists: Any) -> tuple[Hand, Hand]:
    """Return the option `specialists` as tuples; raise ValueError, with the reason, if it is not a pair of hands."""
    wrong = (
        f"option specialists={specialists!r} must be None or a pair, player 0's and player 1's, "
        "each of them None, a specialist's name or two different names; or text such as 'none,none', 'sniper,mole' or "
        "'sniper+mole,hacker'"
    )
    if isinstance(specialists, str):
        specialists = [_hand_of(word.strip().split("+")) for word in specialists.split(",")]
    if not isinstance(specialists, (tuple, list)) or len(specialists) != 2:
        raise ValueError(wrong)
    hands = [tuple(hand) if isinstance(hand, list) else hand for hand in specialists]
    for hand in hands:
        names = _names(hand)
        if not all(isinstance(name, str) for name in names) or (isinstance(hand, tuple) and len(names) != 2):
            raise ValueError(wrong)
        for name in names:
            if name not in text.SPECIALIST_NAMES:
                raise ValueError(f"option specialists: {unknown('specialist', name, text.SPECIALIST_NAMES)}")
        if len(set(names)) < len(names):
            raise ValueError(f"{wrong}: a player has only one {names[0]}")
    return hands[0], hands[1]


def _hand_of(names: list[str]) -> Any:
    if len(names) > 1:
        return tuple(name.strip() for name in names)
    return None if names[0].lower() == "none" else names[0]


def _names(hand: Any) -> tuple[Any, ...]:
    return () if hand is None else hand if isinstance(hand, tuple) else (hand,)


def _given(hands: tuple[Hand, Hand] | None) -> list[list[int]]:
    if hands is None:
        return [[rules.DRAWN, rules.SPY]] * 2
    kinds = [[rules.KIND_NAMES.index(name) for name in _names(hand)] for hand in hands]
    return [[*held, rules.SPY, rules.SPY][:2] for held in kinds]


def _oracle(options: dict[str, Any]) -> Oracle:
    from ttt_envs.games.operation_tic_tac_toe.solver import oracle_for

    return oracle_for(make(**options))


def _solve_commands() -> Mapping[str, type[SolveCommand]]:
    from ttt_envs.games.operation_tic_tac_toe.solver.command import COMMANDS

    return COMMANDS
