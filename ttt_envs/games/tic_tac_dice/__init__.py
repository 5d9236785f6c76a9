"""Tic-Tac-Dice, Big Tic-Tac-Dice and Tic-Tac-Super-Dice: the dice determine which cells you may claim.

- **What it adds**: chance. Perfect information, two players, dice, a new layout of cards every round.
- **Action** `cell`, a letter, row by row (A to I on the 3x3 board): claim the card in that cell.
- **Rules**: in your turn, two dice are rolled. You must claim an unclaimed card whose rank is the number of one die or
  the sum of both; without such a card you pass. After doubles you roll again. A row of your markers ends the round and
  gives you 2 points. If all cards are claimed without a row, the player with more markers gets 1 point. A step skips
  rolls without a card to claim, so every decision has a legal claim.
- **Reward**: in a match, +1 to the winner and -1 to the loser; in a single round, its points divided by 2.
- **Observation**: see `encoding.blocks`; 123 features in a match to 5 points on the 3x3 board, 113 in a single round.
- **Options**: see `make`. A match on a board with an even number of cards is a draw after 32 rounds without points.
- **Presets**: three game ids with different default options: `tic_tac_dice` 3x3, three in a row; `big_tic_tac_dice`
  4x4, three in a row anywhere; `tic_tac_super_dice` 4x4, four in a row.
- **Oracle**: on the 3x3 board, a single round is solved exactly for any layout, and a match up to the sampling error of
  a table of scores: see `solver`. The command `ttt solve big_tic_tac_dice layout` solves single layouts of a 4x4 board.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from ttt_envs.core.game import Extras, Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.options import choice, whole
from ttt_envs.core.oracle import Oracle, SolveCommand
from ttt_envs.core.presentation import Faces
from ttt_envs.games.tic_tac_dice import encoding, manual, rules, symmetry, text
from ttt_envs.games.tic_tac_dice.drawing import clicks, draw, spots
from ttt_envs.games.tic_tac_dice.lessons import LESSONS
from ttt_envs.games.tic_tac_dice.tips import tips

ROUNDS = ("match", "single")


def make(*, size: int = 3, win_length: int = 3, target_points: int = 5, rounds: str = "match") -> Game:
    """Return the game with these options.

    Args:
        size: 3 to 5: number of rows and columns.
        win_length: 3 to `size`: number of markers in a row that wins a round.
        target_points: 1 to 99: number of points that wins a match.
        rounds: "match" (rounds until a player has `target_points`) or "single" (a game is one round).

    Raises:
        ValueError: an option has a wrong value; the message names the option.
        TypeError: an option has a wrong type.
    """
    return _make("tic_tac_dice", "Tic-Tac-Dice", make, locals())


def make_big(*, size: int = 4, win_length: int = 3, target_points: int = 5, rounds: str = "match") -> Game:
    return _make("big_tic_tac_dice", "Big Tic-Tac-Dice", make_big, locals())


def make_super(*, size: int = 4, win_length: int = 4, target_points: int = 5, rounds: str = "match") -> Game:
    return _make("tic_tac_super_dice", "Tic-Tac-Super-Dice", make_super, locals())


make_big.__doc__ = make_super.__doc__ = make.__doc__


def _make(game_id: str, title: str, factory: Callable[..., Game], given: Mapping[str, Any]) -> Game:
    size = whole("size", given["size"], min(rules.SIZES), max(rules.SIZES))
    options: dict[str, Any] = {
        "size": size,
        "win_length": whole("win_length", given["win_length"], 3, size),
        "target_points": whole("target_points", given["target_points"], 1, rules.MOST_TARGET),
        "rounds": choice("rounds", given["rounds"], ROUNDS),
    }
    target = options["target_points"] if options["rounds"] == "match" else 0
    prototype = np.zeros(1, rules.STATE[size])
    prototype["size"], prototype["win_length"], prototype["target"] = size, options["win_length"], target
    return Game(
        id=game_id,
        title=title,
        options=options,
        factory=factory,
        same_play={} if target else {"target_points": ...},
        prototype=prototype,
        action_names=text.action_names(size),
        observation_layout=encoding.blocks(size, target),
        simultaneous=False,
        chance="play",
        hidden_information=False,
        max_plies=size * size * rules.most_rounds(size, target),
        teams=((0,), (1,)),
        rotate_players=symmetry.rotate_players,
        kernels=Kernels(rules.reset, rules.legal_mask, rules.step, encoding.observe, rules.resample),
        faces=Faces(
            format_state=text.format_state,
            read_state=partial(text.parse_state, prototype=prototype),
            draw=draw,
            action_format=f"a cell's letter, A to {text.action_names(size)[-1]}, row by row from the top left",
            spoken_action_names=tuple(f"card {name}" for name in text.action_names(size)),
            rules_text=manual.rules_text(**options),
            legend=manual.LEGEND,
            lessons=LESSONS if factory is make else (),
            pitch=manual.pitch(size, options["win_length"]),
            ending=text.ending,
            player_names=tuple(text.MARKS[1:]),
            text_styles=text.STYLES,
            spots=spots,
            clicks=clicks,
            tips=tips,
            aside=text.aside,
            finished_round=text.finished_round,
        ),
        extras=Extras(
            oracle=partial(_oracle, options),
            solve_commands=_solve_commands,
            symmetries=lambda: tuple(symmetry.symmetries(size, target)),
            current_round=partial(_current_round, cache(partial(factory, **{**options, "rounds": "single"})))
            if target
            else None,
            round_rewards=rules.round_rewards if target else None,
        ),
    )


def _current_round(single: Callable[[], Game], states: np.ndarray) -> tuple[Game, np.ndarray, np.ndarray]:
    new = states.copy()
    new["target"] = new["points"] = new["drawn"] = 0
    new["last"] = rules.NO_ROUND
    new["ply"] = (new["owner"] != rules.EMPTY).sum(axis=1)
    return single(), np.arange(len(new)), new


def _oracle(options: dict[str, Any]) -> Oracle:
    from ttt_envs.games.tic_tac_dice.solver import oracle_for

    return oracle_for(**options)


def _solve_commands() -> Mapping[str, type[SolveCommand]]:
    from ttt_envs.games.tic_tac_dice.solver.command import COMMANDS

    return COMMANDS
