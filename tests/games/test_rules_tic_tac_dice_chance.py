"""Chance in the Tic-Tac-Dice family: dice, claims, deals and starts are counted.

Chance is tested by counting, with fixed seeds. An entry of a table may be
5 standard deviations off what is expected: by accident one entry in 1.7 million is, one in 100,000 where the count is
small. The largest table has 200 entries, so that with other seeds a test would raise a false alarm once in thousands of
runs at most.
"""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from chances import chi_square_is_usual, close
from dice_positions import IDS, MATCH, SINGLE, blank, claimed, decision_chances, decisions, reseeded
from option_sets import compiled_late
from slow_tic_tac_dice import ROLLS, claiming_rolls

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.compile import jit
from ttt_envs.testing.positions import difference, masks_of, observations_of, positions

#: Positions, rolls or deals in one statistic.
MANY = 500 if jit.DISABLED else 40_000


# --- chance ---


#: Rolls out of 36 that allow to claim ranks 1 to 8.
CLAIMS = (11, 12, 13, 14, 15, 16, 6, 5)


@pytest.mark.parametrize("game_id", IDS)
def test_claims(game_id):
    """Each rank can be claimed by as many of the 36 rolls, dice set by hand."""
    game = ttt_envs.load(game_id)
    states = blank(game, 36)
    states["dice"] = np.sort(ROLLS, axis=1)
    masks = masks_of(game, states, 0)
    for cell, rank in enumerate(states["rank"][0]):
        assert masks[:, cell].sum() == CLAIMS[rank - 1], f"rank {rank}"
        by = [roll for roll, legal in zip(ROLLS, masks[:, cell], strict=True) if legal]
        assert by == claiming_rolls({rank}), f"rank {rank}"
    assert not masks_of(game, states, 1).any()


def test_next_decisions():
    """Who claims next, and by which dice, as often as the 36 rolls have it; passes and extra turns included.

    The ranks left are such that no roll is useless, or some, or most (an eight alone). 3x3 board, X claims an ace.
    """
    for left in ({1, 2, 3, 4, 5, 6, 7, 8}, {8}, {7, 8}, {1, 6}, {2}):
        ranks = (sorted(left) * 4)[: 8 if len(left) == 8 else len(left)]
        for low, high in ((1, 1), (1, 2)):
            states = blank(MATCH, MANY // 2)
            states["rank"] = [*ranks, *[3, 4, 5, 6, 3, 4, 5, 6][len(ranks) :], 1]
            # Other cards are claimed, by turns in pairs, so that nobody has a row.
            states["owner"] = [0] * len(ranks) + [1, 1, 2, 2, 1, 1, 2, 2][len(ranks) :] + [0]
            states["dice"] = low, high
            after = claimed(MATCH, reseeded(MATCH, states), 8)
            roller = 0 if low == high else 1
            chances, found = decision_chances(left, roller), decisions(after)
            close(found, len(after), chances, f"ranks {left} after {low} {high}")
            close(found[0].sum(), len(after), chances[0].sum(), f"X, ranks {left} after {low} {high}")


@pytest.mark.parametrize("size", [3, 4, compiled_late(5)])
def test_deals(size):
    """Layouts are dealt without replacement, and every card is as likely in every cell.

    With replacement two cells would be alike with chance 1/8 and not 3/31, which is 19 standard deviations off here.
    """
    game = ttt_envs.load("tic_tac_dice", size=size)
    ranks = Batch(game, MANY, seed=5).states["rank"]
    cells = ranks.shape[1]
    assert ranks.min() == 1
    assert ranks.max() == 8
    counts = np.stack([(ranks == rank).sum(axis=1) for rank in range(1, 9)])
    assert counts.max() <= 4, "five cards of a rank"
    for k in range(5):
        chance = comb(4, k) * comb(28, cells - k) / comb(32, cells)
        close((counts == k).sum(axis=1), MANY, chance, f"{k} cards of a rank")
    close(np.stack([(ranks == rank).sum(axis=0) for rank in range(1, 9)]), MANY, 1 / 8, "a rank in a cell")
    pairs = list(combinations(range(cells), 2))[:120]
    alike = [(ranks[:, a] == ranks[:, b]).sum() for a, b in pairs]
    close(np.array(alike), MANY, 3 / 31, "two cells alike")


# --- what a player cannot know: only the future ---


@pytest.mark.parametrize("game_id", IDS)
def test_the_generator_is_all_that_is_hidden(game_id):
    """Positions with other generators look the same, and `resample` makes them the same and changes nothing else."""
    game = ttt_envs.load(game_id)
    states = positions(game, 12 if jit.DISABLED else 100)
    twins = states.copy()
    twins["rng"] += np.uint64(12345)
    seeds = np.arange(len(states), dtype=np.uint64)
    for player in (0, 1):
        assert np.array_equal(observations_of(game, states, player), observations_of(game, twins, player))
        assert np.array_equal(masks_of(game, states, player), masks_of(game, twins, player))
        for state, twin in zip(states[:20], twins[:20], strict=True):
            assert game.format_state(state, player) == game.format_state(twin, player)
            assert game.draw(state, player) == game.draw(twin, player)
        resampled = [each.copy() for each in (states, twins)]
        for each in resampled:
            game.loops.resample_rows(each, np.full(len(each), player), seeds)
            assert difference(each, states) == ["rng"]
        assert resampled[0].tobytes() == resampled[1].tobytes()
        assert len(np.unique(resampled[0]["rng"])) == len(states)


@pytest.mark.parametrize(
    ("text", "cell", "left", "roller"),
    [
        ("X claims by dice 1 3\nA 1X   B 2O   C 3*\nD 4O   E 5    F 6O\nG 7    H 8    I 5X\nply 5", "C", {5, 7, 8}, 1),
        (
            "O claims by dice 3 3, then rolls again\nA 1X   B 2O   C 3*\nD 4O   E 5X   F 6X\nG 7O   H 8    I 8\nply 6",
            "C",
            {8},
            1,
        ),
    ],
    ids=["the other rolls", "the claimer rolls again"],
)
def test_resampled_futures_are_as_likely_as_the_dice_say(text, cell, left, roller):
    """Two positions with different generators, each with seeds of its own: chi-square of the next claims."""
    n = 4_000 if jit.DISABLED else 10_000
    counts = []
    for k in (1, 2):
        states = np.repeat(SINGLE.parse_state(text), n)
        states["rng"] = k
        counts.append(decisions(claimed(SINGLE, reseeded(SINGLE, states, k), SINGLE.parse_action(cell))))
    expected = n * decision_chances(left, roller)
    assert not any(count[expected == 0].any() for count in counts)
    possible = expected > 0
    one, two, expected = counts[0][possible], counts[1][possible], expected[possible]
    assert expected.min() > 20
    for count in (one, two):
        assert chi_square_is_usual(((count - expected) ** 2 / expected).sum(), len(expected) - 1)
    assert chi_square_is_usual(((one - two) ** 2 / (one + two)).sum(), len(expected) - 1)
