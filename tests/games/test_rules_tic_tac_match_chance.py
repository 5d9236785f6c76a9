"""Chance in Tic-Tac Match: deals, starts, and what a player may hold for possible are counted.

Chance is tested by counting, with fixed seeds: an entry of a table may be 5 standard deviations off what is expected.
"""

from collections import Counter
from itertools import product
from math import comb

import numpy as np
import pytest
from chances import chi_square_is_usual, close
from option_sets import compiled_late
from slow_tic_tac_match import Card, actions_of, kinds_of, possible_worlds

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.games.tic_tac_match import rules
from ttt_envs.testing.positions import masks_of, positions

ID = "tic_tac_match"

#: Deals or worlds in one statistic.
MANY = 400 if jit.DISABLED else 40_000

TWO, FOUR = ttt_envs.load(ID), ttt_envs.load(ID, players=4)
ALONE = ttt_envs.load(ID, players=4, teams=False)


def chance_of(drawn: int, cards: int, such: int, size: int) -> float:
    """That of `drawn` cards out of `size`, of which `such` are of a kind, so many (`cards`) are of that kind."""
    return comb(such, cards) * comb(size - such, drawn - cards) / comb(size, drawn) if cards <= drawn else 0.0


@pytest.mark.parametrize("game", [TWO, compiled_late(FOUR)])
def test_deals(game):
    """Every card is as likely in each hand, in the centre and among those revealed before it. For the default deck."""
    states = Batch(game, MANY, seed=5).states
    for kind, such in enumerate(states["deck"][0].tolist()):
        for players in (1, game.num_players):  # one hand, and all together
            hands = states["hand"][:, :players, kind].sum(axis=1)
            for cards in range(such + 1):
                close((hands == cards).sum(), MANY, chance_of(4 * players, cards, such, 60), f"{cards} of kind {kind}")
        for player in range(game.num_players):
            close((states["hand"][:, player, kind] == 1).sum(), MANY, chance_of(4, 1, such, 60), f"hand {player}")
    centre = states["top"][:, 4]
    close(np.bincount(centre, minlength=11), MANY, np.array([1 / 8] * 8 + [0] * 3), "the centre")
    assert (np.delete(states["top"], 4, axis=1) == rules.NOTHING).all()
    # Of 60 cards in random order the 48 symbols are nowhere special, so the cards before the first one are these:
    found = Counter(map(tuple, states["discard"][:, 8:].tolist()))
    assert not states["discard"][:, :8].any()
    for revealed in product(range(5), repeat=3):
        before = sum(revealed)
        ways = comb(4, revealed[0]) * comb(4, revealed[1]) * comb(4, revealed[2])
        chance = ways / comb(60, before) * 48 / (60 - before)
        close(np.array(found[revealed]), MANY, np.array(chance), f"{revealed} revealed")
    assert not states["covered"].any()


#: Decks so small that all hands can be listed, and in which the mover's hand tells that they can play.
SMALL = {"colours": 1, "max_turns": 2}
LISTED = [
    {**SMALL, "copies": 3, "flips": 1, "wipe_outs": 1, "double_plays": 2, "hand_size": 2},
    {**SMALL, "copies": 4, "flips": 1, "wipe_outs": 0, "double_plays": 4, "hand_size": 3},
    {**SMALL, "copies": 3, "flips": 1, "wipe_outs": 0, "double_plays": 5, "hand_size": 1, "players": 4},
]


def worlds(game: Game, state: np.void, player: int, n: int) -> np.ndarray:
    """n samples of what the player may hold for possible."""
    states = np.repeat(np.array([state]), n)
    seeds = np.arange(n, dtype=np.uint64) + np.uint64(2**40)
    game.loops.resample_rows(states, np.full(n, player), seeds)
    return states


def cards_of(counts: np.ndarray, kinds: list[Card]) -> list[Card]:
    return [kind for kind, n in zip(kinds, counts.tolist(), strict=True) for _ in range(n)]


def check_worlds_are_uniform(game: Game, state: np.void) -> int:
    """Every hand of the others is as likely as there are ways to deal it so that the mover can play.

    Returns how many of the observers learn something from that, which would not be so with any hand.
    """
    n, learn = (200 if jit.DISABLED else 4000), 0
    kinds, mover = kinds_of(game.options["colours"]), int(state["to_move"])
    board = [None if top == rules.NOTHING else kinds[top] for top in state["top"]]

    def can_play(hand: list[Card]) -> bool:
        return bool(actions_of(board, hand, int(state["pending"]), [mover + 1]))

    for player in range(game.num_players):
        others = [other for other in range(game.num_players) if other != player]
        hidden = cards_of(state["pile"] + state["hand"][others].sum(axis=0, dtype=np.int8), kinds)
        sizes = state["hand"][others].sum(axis=1).tolist()
        at = others.index(mover) if mover != player else None
        ways = possible_worlds(hidden, sizes, at, can_play)
        learn += ways.total() < possible_worlds(hidden, sizes, None, can_play).total()
        dealt = worlds(game, state, player, n)["hand"][:, others]
        found = Counter(tuple(tuple(cards_of(hand, kinds)) for hand in hands) for hands in dealt)
        assert found.keys() <= ways.keys(), "impossible hands"
        expected = np.array([n * way / ways.total() for way in ways.values()])
        counts = np.array([found[hands] for hands in ways])
        rare = expected < 10
        expected, counts = (np.append(each[~rare], each[rare].sum()) for each in (expected, counts))
        expected, counts = expected[expected > 0], counts[expected > 0]
        if len(expected) > 1:
            chi_square = ((counts - expected) ** 2 / expected).sum()
            assert chi_square_is_usual(chi_square, len(expected) - 1), f"player {player}: {chi_square:.0f}"
    return learn


@pytest.mark.parametrize("case", [0, 1, compiled_late(2)])
def test_worlds_are_uniform_over_what_is_not_known(case):
    """Any hand of the others out of those possible, as often as it should be; in the games of a few cards."""
    game = ttt_envs.load(ID, **LISTED[case])
    states = positions(game, 60)
    states = states[~states["done"]][:: 3 if jit.DISABLED else 2]
    assert sum(check_worlds_are_uniform(game, state) for state in states), "that the mover can play tells nothing"


@pytest.mark.parametrize("game", [TWO, compiled_late(FOUR), compiled_late(ALONE)])
def test_worlds_of_the_default_deck(game):
    """All that the player sees stays; the others' cards are drawn from all that they do not see, and from nothing else.

    A player before whom other cards are hidden gets the same worlds for the same seed, to the byte.
    """
    n = MANY // 20
    states = positions(game, 40)
    for state, player in product(states[~states["done"]][:: 10 if jit.DISABLED else 5], range(game.num_players)):
        found = worlds(game, state, player, n)
        kept = [name for name in state.dtype.names if name not in ("rng", "hand", "pile")]
        assert (found[kept] == np.array([state])[kept]).all()
        assert (found["hand"][:, player] == state["hand"][player]).all()
        sizes = state["hand"].sum(axis=1, dtype=int)
        assert (found["hand"].sum(axis=2) == sizes).all()
        hidden = state["deck"].astype(int) - state["hand"][player] - state["covered"] - state["discard"]
        hidden -= np.bincount(state["top"][state["top"] >= 0], minlength=11)
        others = np.delete(found["hand"], player, axis=1)
        assert (others.sum(axis=1) + found["pile"] == hidden).all()
        assert masks_of(game, found, int(state["to_move"])).any(axis=1).all(), "the mover cannot play"
        assert len(np.unique(found["rng"])) == n
        for other in {*range(game.num_players)} - {player, *([int(state["to_move"])] if state["pending"] else [])}:
            for kind, such in enumerate(hidden.tolist()):
                for cards in range(such + 1):
                    chance = chance_of(int(sizes[other]), cards, such, int(hidden.sum()))
                    # That a mover can play makes no odds with this deck, but that of four Double Plays.
                    if chance * n > 20:
                        close((found["hand"][:, other, kind] == cards).sum(), n, np.array(chance), "cards in a hand")
        assert worlds(game, found[1], player, 3).tobytes() == found[:3].tobytes()
