"""The rules of the Tic-Tac-Dice family against a slow second version, written from the rule text alone.

A `check_` function takes a Game and asserts. Chance is tested by counting, with fixed seeds. An entry of a table may be
5 standard deviations off what is expected: by accident one entry in 1.7 million is, one in 100,000 where the count is
small. The largest table has 200 entries, so that with other seeds a test would raise a false alarm once in thousands of
runs at most.
"""

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from option_sets import compiled_late
from slow_rng import Replay
from slow_tic_tac_dice import (
    LISTED,
    MOST_DRAWN_ROUNDS,
    ROLLS,
    SlowTicTacDice,
    claiming_rolls,
    lines,
    next_decisions,
    walked_lines,
)

import ttt_envs
from ttt_envs.core import jit
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.rng import Purpose, derive
from ttt_envs.games.tic_tac_dice import rules
from ttt_envs.testing.positions import Play, difference, masks_of, observations_of, play_batch, positions

#: Positions, rolls or deals in one statistic.
MANY = 2000 if jit.DISABLED else 40_000

#: What the fast version's bytes mean in the slow one.
MARK = np.array([None, 0, 1], object)

IDS = ("tic_tac_dice", "big_tic_tac_dice", "tic_tac_super_dice")

# --- the fast version against the slow one, roll by roll ---

#: Game id, options, and how many games: 20,000 in all.
COMPARED = [
    *((game_id, {}, 2000) for game_id in IDS),
    *((game_id, {"rounds": "single"}, 3000) for game_id in IDS),
    ("tic_tac_dice", {"target_points": 9}, 500),
    ("big_tic_tac_dice", {"target_points": 2}, 1000),
    ("tic_tac_super_dice", {"size": 5, "target_points": 1}, 1000),
    ("big_tic_tac_dice", {"size": 5, "target_points": 3}, 1000),
    ("tic_tac_dice", {"size": 5, "win_length": 5, "target_points": 2}, 500),
    ("tic_tac_dice", {"size": 5, "win_length": 5, "rounds": "single"}, 1000),
]
CHUNK = 500


class Chance(Replay):
    """Dice and cards of that generator."""

    def roll(self) -> tuple[int, int]:
        one = 1 + self.below(6)
        return one, 1 + self.below(6)

    def deal(self, cards: int) -> list[int]:
        """Cards are drawn from a list of four aces, four twos, ...; one that lies already is drawn again."""
        deck = [rank for rank in range(1, 9) for _ in range(4)]
        drawn: list[int] = []
        while len(drawn) < cards:
            card = self.below(len(deck))
            if card not in drawn:
                drawn.append(card)
        return [deck[card] for card in drawn]


#: Plays so many steps of a batch, as `play_batch` does.
Player = Callable[[Batch, int], Play]


def compare_with_slow(game: Game, games: int, seed: int, player: Player = play_batch) -> Counter[str]:
    """Games with both versions, random ones by default, everything compared after every ply; what there was to compare.

    The slow version gets the rolls one by one, as the fast version's generator gave them, and must stop at the same
    one: the generator's state, which counts the draws, is compared too.
    """
    batch = Batch(game, games, seed=seed)
    seeds = [int(derive(seed, int(Purpose.GAME), 0)) for seed in batch.episode_seeds]
    play = player(batch, game.max_plies)
    states = play.states
    masks = np.empty((*states.shape, game.num_actions), np.bool_)
    for ply in range(len(states)):
        game.loops.mask_rows(states[ply], states[ply]["to_move"].astype(np.int64), masks[ply])
    actions = play.actions.max(axis=2)
    match = game.options["rounds"] == "match"
    seen: Counter[str] = Counter()
    for i in range(games):
        mine = states[:, i]
        fast = zip(
            mine["rng"].tolist(),
            mine["rank"].tolist(),
            MARK[mine["owner"]].tolist(),
            mine["dice"].tolist(),
            mine["to_move"].tolist(),
            mine["points"].tolist(),
            mine["drawn"].tolist(),
            mine["done"].tolist(),
            mine["rewards"].tolist(),
            [row.nonzero()[0].tolist() for row in masks[:, i]],
            strict=True,
        )
        chance = Chance(seeds[i])
        slow = SlowTicTacDice(chance, **game.options)
        for ply, expected in enumerate(fast):
            found = (
                chance.state,
                slow.layout,
                slow.owners,
                [0, 0] if slow.done else sorted(slow.dice),
                0 if slow.done else slow.to_move,
                slow.points if match else [0, 0],  # a single round has no points to count
                slow.drawn_rounds if match else 0,
                slow.done,
                list(slow.rewards),
                slow.legal_actions(),
            )
            assert found == expected, f"game {i} after {actions[:ply, i]}"
            if slow.done:
                break
            slow.play(int(actions[ply, i]))
            seen["plies"] += 1
        assert slow.done
        seen["rolls"] += len(slow.rolls)
        seen["matches of 32 draws"] += slow.drawn_rounds == MOST_DRAWN_ROUNDS
    return seen


def parts() -> list:
    """Each case in parts, so that they share the cores."""
    found = []
    for game_id, options, games in COMPARED:
        if jit.DISABLED:
            games //= 200
        for part in range(-(-games // CHUNK)):
            words = ",".join(f"{name}={value}" for name, value in options.items())
            found.append(
                pytest.param(
                    game_id,
                    options,
                    min(games, CHUNK),
                    part,
                    id=f"{game_id}-{words or 'default'}-{part}",
                    marks=[pytest.mark.slow] if part or (options.get("size") == 5 and not jit.DISABLED) else [],
                )
            )
    return found


def test_twenty_thousand_games_are_compared():
    assert sum(games for _, _, games in COMPARED) == 20_000


@pytest.mark.parametrize(("game_id", "options", "games", "part"), parts())
def test_fast_and_slow_agree(game_id, options, games, part):
    game = ttt_envs.load(game_id, **options)
    seen = compare_with_slow(game, games, seed=part)
    assert seen["plies"] >= games * game.options["win_length"]
    # Without the JIT there are too few games to be sure of one.
    assert jit.DISABLED or seen["rolls"] > seen["plies"], "no roll was passed over, so that passing was not tested"


def play_against_rows(batch: Batch, steps: int) -> Play:
    """All spoil rows, their own too, so that most rounds are decided on count, or drawn."""
    options = batch.game.options
    cells = np.arange(options["size"] ** 2)
    through = np.stack([np.isin(cells, line) for line in lines(options["size"], options["win_length"])])
    states, actions = [batch.states.copy()], []
    while not batch.states["done"].all() and len(actions) < steps:
        own = (batch.states["to_move"] + 1)[:, None]
        owner = batch.states["owner"]
        mine, theirs = (owner == own) @ through.T, (owner == 3 - own) @ through.T  # who has a marker on each line
        dislike = np.where(theirs, -1 * ~mine, 10 * mine) @ through
        actions.append(np.where(batch.masks(), dislike, 1000).argmin(axis=1))
        batch.step(actions[-1])
        states.append(batch.states.copy())
    return Play(np.stack(states), np.stack(actions)[:, :, None])


def test_matches_of_drawn_rounds_end():
    """In a match to 99 points 32 drawn rounds come first, if all spoil rows."""
    game = ttt_envs.load("tic_tac_super_dice", target_points=99)
    games = 1 if jit.DISABLED else 10
    assert compare_with_slow(game, games, seed=0, player=play_against_rows)["matches of 32 draws"] == games


# --- rows ---


@pytest.mark.parametrize(("size", "win_length"), list(LISTED))
def test_walked_lines_are_the_listed_ones(size, win_length):
    listed = LISTED[size, win_length]
    assert len(set(listed)) == len(listed) == {(3, 3): 8, (4, 3): 24, (4, 4): 10}[size, win_length]
    walked = {frozenset(line) for line in walked_lines(size, win_length)}
    assert {frozenset(line) for line in listed} == walked


def test_a_full_3x3_board_without_a_row_is_split_5_to_4():
    for owners in product((0, 1), repeat=9):
        if not any(owners[a] == owners[b] == owners[c] for a, b, c in lines(3, 3)):
            assert sum(owners) in (4, 5)


def blank(game: Game, n: int) -> np.ndarray:
    """n positions without markers, ranks 1 to 8 over and over, X to claim by dice 1 and 2."""
    states = np.repeat(game.prototype, n)
    states["rank"] = np.arange(states["rank"].shape[1]) % 8 + 1
    states["dice"] = 1, 2
    return states


def claimed(game: Game, states: np.ndarray, cells: np.ndarray | int) -> np.ndarray:
    """The positions after the player to move has claimed these cells, which the dice must allow."""
    states = states.copy()
    actions = np.broadcast_to(np.asarray(cells, np.int64), states.shape)
    game.loops.step_rows(states, np.arange(len(states)), np.ascontiguousarray(actions[:, None]))
    return states


def check_rows(game: Game) -> None:
    """In a single round: of all sets of markers, or 65,536 of them, exactly those with a line win.

    Thus cells in a row that go on beyond an edge are no line, and every line is one, whichever cell comes last.
    """
    size, win_length = game.options["size"], game.options["win_length"]
    cells = size * size
    most = 512 if jit.DISABLED else 2**16
    if 2**cells <= most:
        sets = (np.arange(2**cells)[:, None] >> np.arange(cells) & 1).astype(bool)
    else:
        generator = np.random.default_rng(0)
        sets = generator.random((most, cells)) < generator.uniform(0.2, 0.8, (most, 1))
        short = list(combinations(range(cells), win_length))
        for i in range(0, most // 2):  # sets as small as a line, in which a wrong line would stand alone
            sets[i] = np.isin(np.arange(cells), short[i * len(short) // (most // 2)])
        sets[-len(lines(size, win_length)) :] = [np.isin(np.arange(cells), line) for line in lines(size, win_length)]
    sets = sets[sets.any(axis=1)]
    expected = np.zeros(len(sets), bool)
    for line in lines(size, win_length):
        expected |= sets[:, list(line)].all(axis=1)
    last = (sets * np.random.default_rng(1).random(sets.shape)).argmax(axis=1)  # any one of them is claimed last
    for player in (0, 1):
        states = blank(game, len(sets))
        states["owner"] = sets * (player + 1)
        states["owner"][np.arange(len(sets)), last] = 0
        states["rank"][np.arange(len(sets)), last] = 1
        states["to_move"] = player
        after = claimed(game, states, last)
        rewards = after["rewards"][:, player]
        assert np.array_equal(rewards == 1, expected)
        assert np.array_equal(after["done"], expected | sets.all(axis=1))
        assert np.array_equal(rewards, -after["rewards"][:, 1 - player])


@pytest.mark.parametrize(("size", "win_length"), [(3, 3), (4, 3), (4, 4), *(compiled_late(5, k) for k in (3, 4, 5))])
def test_rows(size, win_length):
    check_rows(ttt_envs.load("tic_tac_dice", size=size, win_length=win_length, rounds="single"))


# --- chance ---


def close(counts: np.ndarray, n: np.ndarray | int, chances: np.ndarray | float, what: str) -> None:
    """Each count of n lies within 5 standard deviations of n * chance, and what is impossible does not occur.

    Of the others, those expected less than 20 times are not looked at.
    """
    counts, chances = np.broadcast_arrays(np.asarray(counts, float), np.asarray(chances, float))
    assert not counts[chances == 0].any(), f"{what}: impossible"
    likely = n * chances >= 20
    n = np.broadcast_to(n, counts.shape)[likely]
    off = (counts[likely] - n * chances[likely]) / np.sqrt(n * chances[likely] * (1 - chances[likely]) + 1e-9)
    assert (np.abs(off) < 5).all(), f"{what}: {np.abs(off).max():.1f} standard deviations off"


def reseeded(game: Game, states: np.ndarray, seed: int = 0) -> np.ndarray:
    """The same positions with other futures, one for each."""
    states = states.copy()
    seeds = np.arange(len(states), dtype=np.uint64) + np.uint64(seed << 32)
    game.loops.resample_rows(states, states["to_move"].astype(np.int64), seeds)
    return states


def decisions(states: np.ndarray) -> np.ndarray:
    """How often each player claims by each pair of dice, the lower one first: (2, 7, 7)."""
    counts = np.zeros((2, 7, 7))
    np.add.at(counts, (states["to_move"], states["dice"][:, 0], states["dice"][:, 1]), 1)
    return counts


def decision_chances(ranks: set[int], roller: int) -> np.ndarray:
    """Their exact chances when `roller` rolls and cards of these ranks are unclaimed."""
    chances = np.zeros((2, 7, 7))
    for (player, a, b), chance in next_decisions(ranks, roller).items():
        chances[player, min(a, b), max(a, b)] += float(chance)
    assert abs(chances.sum() - 1) < 1e-12
    return chances


#: Rolls out of 36 that allow to claim ranks 1 to 8.
CLAIMS = (11, 12, 13, 14, 15, 16, 6, 5)


def test_the_rule_text_gives_these_claims():
    assert tuple(len(claiming_rolls({rank})) for rank in range(1, 9)) == CLAIMS


def check_claims(game: Game) -> None:
    """Each rank can be claimed by as many of the 36 rolls, dice set by hand."""
    states = blank(game, 36)
    states["dice"] = np.sort(ROLLS, axis=1)
    masks = masks_of(game, states, 0)
    for cell, rank in enumerate(states["rank"][0]):
        assert masks[:, cell].sum() == CLAIMS[rank - 1], f"rank {rank}"
        by = [roll for roll, legal in zip(ROLLS, masks[:, cell], strict=True) if legal]
        assert by == claiming_rolls({rank}), f"rank {rank}"
    assert not masks_of(game, states, 1).any()


def check_rolled_claims(game: Game) -> None:
    """With every rank unclaimed no roll is passed over: the rolls are 36 equally likely ones, and so are claims.

    Such a position is left of the 3x3 board when the second of two aces is claimed.
    """
    after = claimed(game, reseeded(game, blank(game, MANY)), 8)
    masks = masks_of(game, after, 1)
    close(masks[:, :8].sum(axis=0), MANY, np.array(CLAIMS) / 36, "claims of ranks 1 to 8")
    assert not masks[:, 8].any()
    rolled = decisions(after)[1]
    expected = np.triu(np.full((7, 7), 2 / 36)) - np.eye(7) / 36
    expected[0] = 0
    close(rolled, MANY, expected, "rolls")


def check_next_decisions(game: Game) -> None:
    """Who claims next, and by which dice, as often as the 36 rolls have it; passes and extra turns included.

    The ranks left are such that no roll is useless, or some, or most (an eight alone). 3x3 board, X claims an ace.
    """
    for left in ({1, 2, 3, 4, 5, 6, 7, 8}, {8}, {7, 8}, {1, 6}, {2}):
        ranks = (sorted(left) * 4)[: 8 if len(left) == 8 else len(left)]
        for low, high in ((1, 1), (1, 2)):
            states = blank(game, MANY // 2)
            states["rank"] = [*ranks, *[3, 4, 5, 6, 3, 4, 5, 6][len(ranks) :], 1]
            # Other cards are claimed, by turns in pairs, so that nobody has a row.
            states["owner"] = [0] * len(ranks) + [1, 1, 2, 2, 1, 1, 2, 2][len(ranks) :] + [0]
            states["dice"] = low, high
            after = claimed(game, reseeded(game, states), 8)
            roller = 0 if low == high else 1
            chances, found = decision_chances(left, roller), decisions(after)
            close(found, len(after), chances, f"ranks {left} after {low} {high}")
            close(found[0].sum(), len(after), chances[0].sum(), f"X, ranks {left} after {low} {high}")


def check_deals(game: Game) -> None:
    """Layouts are dealt without replacement, and every card is as likely in every cell.

    With replacement two cells would be alike with chance 1/8 and not 3/31, which is 19 standard deviations off here.
    """
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


@cache
def ranks_in(bits: int) -> frozenset[int]:
    return frozenset(rank for rank in range(1, 9) if bits >> rank & 1)


def check_starts(game: Game) -> None:
    """Each player starts half of the rounds, and the first claim's dice are as likely as the layout has it.

    Who starts is seen where no roll is useless; elsewhere the dice may have gone round before the first claim.
    """
    states = Batch(game, MANY, seed=6).states
    layouts, of = np.unique(np.bitwise_or.reduce(1 << states["rank"].astype(np.int64), axis=1), return_inverse=True)
    sizes = np.bincount(of)
    chances = np.stack(
        [sum(decision_chances(set(ranks_in(bits)), roller) for roller in (0, 1)) / 2 for bits in layouts]
    )
    expected = np.tensordot(sizes, chances, 1)
    spread = np.sqrt(np.tensordot(sizes, chances * (1 - chances), 1)) + 1e-9
    off = np.where(expected >= 20, decisions(states) - expected, 0) / spread
    assert np.abs(off).max() < 5, f"first claims: {np.abs(off).max():.1f} standard deviations off"
    close((states["to_move"] == 0).sum(), MANY, 0.5, "X claims first")
    at_once = np.array([len(claiming_rolls(set(ranks_in(bits)))) == 36 for bits in layouts])[of]
    assert at_once.sum() > MANY / 50
    close((states["to_move"][at_once] == 0).sum(), int(at_once.sum()), 0.5, "X starts")


def check_next_round(game: Game) -> None:
    """In a match the round after a row starts afresh: a new layout and each player first half of the time."""
    states = blank(game, MANY // 4)
    states["owner"][:, :2] = 1
    after = claimed(game, reseeded(game, states), 2)
    n = len(after)
    assert not after["done"].any()
    assert not after["owner"].any()
    close((after["to_move"] == 0).sum(), n, 0.5, "X claims first")
    close(np.stack([(after["rank"] == rank).sum(axis=0) for rank in range(1, 9)]), n, 1 / 8, "a rank in a cell")
    close((after["rank"][:, 0] == after["rank"][:, 8]).sum(), n, 3 / 31, "two cells alike")


MATCH = ttt_envs.load("tic_tac_dice")
SINGLE = ttt_envs.load("tic_tac_dice", rounds="single")


@pytest.mark.parametrize("game_id", IDS)
def test_claims(game_id):
    check_claims(ttt_envs.load(game_id))


def test_rolled_claims():
    check_rolled_claims(MATCH)


def test_next_decisions():
    check_next_decisions(MATCH)


@pytest.mark.parametrize("size", [3, 4, compiled_late(5)])
def test_deals(size):
    check_deals(ttt_envs.load("tic_tac_dice", size=size))


@pytest.mark.parametrize("size", [3, 4, compiled_late(5)])
def test_starts(size):
    check_starts(ttt_envs.load("tic_tac_dice", size=size))


def test_next_round():
    check_next_round(MATCH)


@jit.kernel
def roll_dice(state, out):
    """Single dice, as the rules draw them."""
    for i in range(out.shape[0]):
        out[i] = rules.die(state)


def test_dice_are_fair_and_independent():
    dice = np.empty(4 * MANY, np.int64)
    roll_dice(SINGLE.new_state(7)[0], dice)
    assert set(dice.tolist()) == {1, 2, 3, 4, 5, 6}
    close(np.bincount(dice)[1:], len(dice), 1 / 6, "a die")
    for apart in (1, 2, 3):
        pairs = 6 * (dice[:-apart] - 1) + dice[apart:] - 1
        close(np.bincount(pairs), len(pairs), 1 / 36, f"dice {apart} draws apart")


# --- positions ---


def played(game: Game, text: str, cell: str, futures: int = 20) -> np.ndarray:
    """What comes of claiming a cell that the dice allow, with several futures."""
    states = np.repeat(game.parse_state(text), futures)
    assert game.format_state(states[0]).splitlines()[1:] == text.strip().splitlines()[1:]
    action = game.parse_action(cell)
    for player in (0, 1):
        assert masks_of(game, states, player)[0, action] == (states["to_move"][0] == player)
    after = claimed(game, reseeded(game, states), action)
    assert (after["ply"] == states["ply"] + 1).all()
    return after


def swapped(text: str) -> str:
    """The same position with the players' parts exchanged."""
    first, *cells, facts = text.strip().splitlines()
    other = str.maketrans("XO", "OX")
    cells = [re.sub(r"\d[XO]", lambda card: card[0].translate(other), row) for row in cells]  # O is a cell, too
    facts = re.sub(r"X (\d+) O (\d+)", r"X \2 O \1", facts)
    return "\n".join([first.translate(other), *cells, facts])


def check_round_ends(game: Game, text: str, cell: str, points: tuple[int, int], drawn: int = 0) -> None:
    """In a match: the next round has begun, with these points."""
    after = played(game, text, cell)
    assert (after["points"] == points).all()
    assert (after["drawn"] == drawn).all()
    assert not after["done"].any()
    assert not after["rewards"].any()
    assert not after["owner"].any()
    assert len(np.unique(after["rank"], axis=0)) > 1, "the next round has a layout of its own"


def check_goes_on(game: Game, text: str, cell: str) -> np.ndarray:
    """The round goes on, with one marker more."""
    before, after = game.parse_state(text), played(game, text, cell)
    assert not after["done"].any()
    assert not after["rewards"].any()
    assert (after["points"] == before["points"]).all()
    assert (after["drawn"] == before["drawn"]).all()
    expected = before["owner"][0].copy()
    expected[game.parse_action(cell)] = before["to_move"][0] + 1
    assert (after["owner"] == expected).all()
    assert (after["rank"] == before["rank"]).all()
    return after


def check_game_ends(game: Game, text: str, cell: str, over: str, rewards: tuple[float, float]) -> None:
    """Exactly this end, the same in every future."""
    after = played(game, text, cell, futures=3)
    assert after["done"].all()
    assert (after["rewards"] == rewards).all()
    for state in after:
        assert game.format_state(state) == f"{over.strip()}\nlast claim: {text.strip()[0]} {cell}"


def row_text(game: Game, line: tuple[int, ...], last: int) -> str:
    """X has the line but for one cell, and the dice allow claiming that one."""
    size, target = game.options["size"], game.options["target_points"]
    ranks = [cell % 8 + 1 for cell in range(size * size)]
    low, high = {7: (3, 4), 8: (3, 5)}.get(ranks[last], (min(ranks[last], 6), 2 if ranks[last] != 2 else 1))
    allowed = {low, high, low + high}
    cells = []
    for cell, rank in enumerate(ranks):
        mark = "X" if cell in line and cell != last else "*" if rank in allowed else " "
        cells.append(f"{chr(ord('A') + cell)} {rank}{mark}")
    rows = ["   ".join(cells[size * row : size * row + size]).rstrip() for row in range(size)]
    low, high = sorted((low, high))
    return "\n".join([f"X claims by dice {low} {high}", *rows, f"points X 0 O 1 of {target}, ply {len(line) + 5}"])


@pytest.mark.parametrize("game_id", IDS)
def test_each_row_gives_two_points(game_id):
    game = ttt_envs.load(game_id)
    for line in lines(game.options["size"], game.options["win_length"]):
        for last in line[:: len(line) - 1] if jit.DISABLED else line:
            text = row_text(game, line, last)
            cell = chr(ord("A") + last)
            check_round_ends(game, text, cell, (2, 1))
            check_round_ends(game, swapped(text), cell, (1, 2))


X_HAS_FIVE = """
{who} claims by dice {dice}
A 1X   B 2O   C 3X
D 4X   E 5O   F 6O
G 7{g}   H 8X   I 1{i}
{facts}
"""


def full_text(last: str, dice: str, facts: str) -> str:
    """The 3x3 board without a row, one card before it is full: X will have five markers, whoever is last."""
    marks = {"g": "O", "i": "X"}
    marks[last.lower()] = "*"
    return X_HAS_FIVE.format(who="XO"[last == "G"], dice=dice, facts=facts, **marks)


def check_count_points(game: Game) -> None:
    """A full board without a row: 1 point for more markers, whoever claimed the last card. 3x3, first to 5."""
    for last, dice in (("I", "1 3"), ("G", "3 4"), ("I", "1 1, then rolls again")):
        text = full_text(last, dice, "points X 2 O 0 of 5, ply 16")
        check_round_ends(game, text, last, (3, 0))
        check_round_ends(game, swapped(text), last, (0, 3))


def test_more_markers_give_one_point():
    check_count_points(MATCH)


DRAWN_4X4 = """
X claims by dice {dice}
A 1X   B 2X   C 3O   D 4O
E 5O   F 6O   G 7X   H 8X
I 1X   J 2X   K 3O   L 4O
M 5O   N 6O   O 7X   P 8*
{facts}
"""


@pytest.mark.parametrize("game_id", ["big_tic_tac_dice", "tic_tac_super_dice"])
def test_as_many_markers_give_no_point(game_id):
    """Eight each on the 4x4 board."""
    game = ttt_envs.load(game_id)
    for dice in ("2 6", "3 5", "4 4, then rolls again"):
        text = DRAWN_4X4.format(dice=dice, facts="points X 2 O 4 of 5, ply 40")
        check_round_ends(game, text, "P", (2, 4), drawn=1)
        check_round_ends(game, swapped(text), "P", (4, 2), drawn=1)


@pytest.mark.parametrize("game_id", ["big_tic_tac_dice", "tic_tac_super_dice"])
def test_the_32nd_drawn_round_ends_the_match(game_id):
    game = ttt_envs.load(game_id)
    facts = "points X 2 O 4 of 5, ply {}, drawn rounds {}"
    text = DRAWN_4X4.format(dice="2 6", facts=facts.format(600, 30))
    check_round_ends(game, text, "P", (2, 4), drawn=31)
    text = DRAWN_4X4.format(dice="2 6", facts=facts.format(600, 31))
    over = DRAWN_4X4.replace("8*", "8X").replace("X claims by dice {dice}", "over: draw, 32 rounds without points")
    over = over.format(facts=facts.format(601, 32))
    check_game_ends(game, text, "P", over, (0, 0))


def test_points_after_31_drawn_rounds_go_on():
    game = ttt_envs.load("tic_tac_super_dice")
    text = DRAWN_4X4.replace("N 6O", "N 6X").format(dice="2 6", facts="points X 2 O 4 of 5, ply 600, drawn rounds 31")
    check_round_ends(game, text, "P", (3, 4), drawn=31)  # nine against seven


ROW_ON_TOP = """
{first}
A 1X   B 2X   C 3{c}
D 4O   E 5    F 6O
G 7    H 8    I 1{i}
{facts}
"""


def check_match_ends(game: Game) -> None:
    """By reaching the target or going beyond it; never before. 3x3, first to 5."""
    before = ROW_ON_TOP.format(first="X claims by dice 1 3", c="*", i="*", facts="points X {} O {} of 5, ply 24")
    over = ROW_ON_TOP.format(first="over: X wins, row A B C", c="X", i="", facts="points X {} O {} of 5, ply 25")
    check_round_ends(game, before.format(2, 4), "C", (4, 4))
    for points in ((3, 0), (4, 3), (4, 4)):
        end = over.format(points[0] + 2, points[1])
        check_game_ends(game, before.format(*points), "C", end, (1, -1))
        check_game_ends(game, swapped(before.format(*points)), "C", swapped(end), (-1, 1))
    # On count: 3 + 1 is not enough, 4 + 1 is.
    facts = "points X {} O 4 of 5, ply {}"
    check_round_ends(game, full_text("G", "3 4", facts.format(3, 40)), "G", (4, 4))
    end = X_HAS_FIVE.replace("{who} claims by dice {dice}", "over: X wins, 5 markers to 4").format(
        g="O", i="X", facts=facts.format(5, 41)
    )
    check_game_ends(game, full_text("G", "3 4", facts.format(4, 40)), "G", end, (1, -1))


def test_the_target_ends_the_match():
    check_match_ends(MATCH)


def check_doubles(game: Game) -> None:
    """After doubles the claimer rolls again, else the other one; every rank is left, so no roll is passed over. 3x3."""
    text = (
        "{} claims by dice {}\nA 1*   B 2*   C 3{c}\nD 4    E 5    F 6\nG 7    H 8    I 1*\npoints X 0 O 0 of 5, ply 0"
    )
    doubled = text.format("X", "1 1, then rolls again", c="")
    assert (check_goes_on(game, doubled, "I")["to_move"] == 0).all()
    assert (check_goes_on(game, swapped(doubled), "I")["to_move"] == 1).all()
    plain = text.format("X", "1 2", c="*")
    assert (check_goes_on(game, plain, "I")["to_move"] == 1).all()
    assert (check_goes_on(game, swapped(plain), "A")["to_move"] == 0).all()


def test_doubles_keep_the_turn():
    check_doubles(MATCH)


def test_nobody_rolls_again_after_the_end():
    """Doubles with the last card, or with a row, and the round is over all the same."""
    before = full_text("I", "1 1, then rolls again", "ply 8")
    over = X_HAS_FIVE.replace("{who} claims by dice {dice}", "over: X wins, 5 markers to 4").format(
        g="O", i="X", facts="ply 9"
    )
    check_game_ends(SINGLE, before, "I", over, (0.5, -0.5))
    before = ROW_ON_TOP.format(first="X claims by dice 3 3, then rolls again", c="*", i="", facts="ply 4")
    over = ROW_ON_TOP.format(first="over: X wins, row A B C", c="X", i="", facts="ply 5")
    check_game_ends(SINGLE, before, "C", over, (1, -1))


def test_a_single_round_pays_half_its_points():
    before = ROW_ON_TOP.format(first="X claims by dice 1 3", c="*", i="*", facts="ply 4")
    over = ROW_ON_TOP.format(first="over: X wins, row A B C", c="X", i="", facts="ply 5")
    check_game_ends(SINGLE, before, "C", over, (1, -1))
    check_game_ends(SINGLE, swapped(before), "C", swapped(over), (-1, 1))
    for last, dice in (("I", "1 3"), ("G", "3 4")):
        before = full_text(last, dice, "ply 8")
        over = X_HAS_FIVE.replace("{who} claims by dice {dice}", "over: X wins, 5 markers to 4").format(
            g="O", i="X", facts="ply 9"
        )
        check_game_ends(SINGLE, before, last, over, (0.5, -0.5))
        check_game_ends(SINGLE, swapped(before), last, swapped(over), (-0.5, 0.5))
    for game_id in ("big_tic_tac_dice", "tic_tac_super_dice"):
        over = (
            DRAWN_4X4.replace("8*", "8X")
            .replace("X claims by dice {dice}", "over: draw, 8 markers each")
            .format(facts="ply 16")
        )
        game = ttt_envs.load(game_id, rounds="single")
        check_game_ends(game, DRAWN_4X4.format(dice="2 6", facts="ply 15"), "P", over, (0, 0))


def test_a_full_board_with_a_row_is_a_row():
    """Two points (or +1) even where the other has more markers."""
    text = "X claims by dice 1 4\nA 1X   B 2O   C 3O\nD 4O   E 5*   F 6O\nG 7O   H 8O   I 1X\n{}"
    after = played(SINGLE, text.format("ply 8"), "E")
    assert (after["rewards"] == (1, -1)).all()
    check_round_ends(MATCH, text.format("points X 0 O 0 of 5, ply 8"), "E", (2, 0))


SHORT_ROWS_4X4 = """
X claims by dice 1 2
A 1{a}   B 2{b}   C 3{c}   D 4{d}
E 5{e}   F 6    G 7O   H 8O
I 1*   J 2*   K 3*   L 4
M 5    N 6    O 7    P 8
points X 0 O 0 of 5, ply 8
"""


def test_four_in_a_row_are_needed_for_super():
    game = ttt_envs.load("tic_tac_super_dice")
    marks = {"a": "X", "b": "X", "c": "*", "d": "", "e": "O"}
    check_goes_on(game, SHORT_ROWS_4X4.format(**marks), "C")
    check_round_ends(ttt_envs.load("big_tic_tac_dice"), SHORT_ROWS_4X4.format(**marks), "C", (2, 0))
    check_round_ends(game, SHORT_ROWS_4X4.format(**{**marks, "d": "X"}), "C", (2, 0))


def test_no_row_goes_round_the_edge():
    """C, D and E follow each other, but lie in two rows of the board."""
    marks = {"a": "O", "b": "*", "c": "*", "d": "X", "e": "X"}
    check_goes_on(ttt_envs.load("big_tic_tac_dice"), SHORT_ROWS_4X4.format(**marks), "C")


# --- texts that are refused ---

GOOD = """X claims by dice 2 5
A 5X   B 2*   C 8O
D 1    E 1    F 7*
G 3    H 4    I 6
points X 2 O 3 of 5, ply 20"""

ROW = GOOD.replace("B 2*", "B 2X").replace("C 8O", "C 8X").replace("7*", "7O")

FULL_4X4 = DRAWN_4X4.replace("8*", "8X").replace("X claims by dice {dice}", "over: draw").strip()


def test_good_texts_are_read():
    for text in (
        GOOD,
        GOOD.replace("*", " "),  # the dice say where the stars belong
        GOOD.replace("2 5", "5 2"),
        GOOD.replace("\n", "  \n\n  "),
        f"\n{GOOD}\n",
    ):
        assert MATCH.format_state(MATCH.parse_state(text)[0]) == GOOD
    single = GOOD.replace("points X 2 O 3 of 5, ply 20", "ply 2")
    assert SINGLE.format_state(SINGLE.parse_state(single)[0]) == single
    over = ROW.replace("X claims by dice 2 5", "over: X wins, row A B C").replace("X 2 O 3", "X 5 O 3")
    assert MATCH.format_state(MATCH.parse_state(over)[0]) == over


REFUSED = {
    "five of a rank": (("C 8O", "C 1O", "G 3", "G 1", "H 4", "H 1"), "4 cards of a rank, but .* 5 of rank 1"),
    "rank 9": (("I 6", "I 9"), "rank is from 1 to 8, not 9"),
    "rank 0": (("I 6", "I 0"), "rank is from 1 to 8, not 0"),
    "a huge rank": (("I 6", "I 99999999999999999999"), "3 rows of 3 cells"),
    "a cell missing": (("I 6", ""), "3 rows of 3 cells"),
    "a cell too many": (("I 6", "I 6   J 2"), "3 rows of 3 cells"),
    "a row missing": (("G 3    H 4    I 6\n", ""), "3 rows of 3 cells"),
    "cells exchanged": (("B 2*   C 8O", "C 8O   B 2*"), "3 rows of 3 cells"),
    "no such mark": (("C 8O", "C 8Z"), "3 rows of 3 cells"),
    "words between": (("D 1", "D 1 and"), "3 rows of 3 cells"),
    "a row, and not over": (("B 2*", "B 2X", "C 8O", "C 8X"), "X has a row, so the round is over"),
    "O's row, and not over": (("A 5X", "A 5O", "B 2*", "B 2O"), "O has a row, so the round is over"),
    "useless dice": (("2 5", "5 5, then rolls again", "*", ""), "dice 5 5 allow no card"),
    "a star elsewhere": (("D 1", "D 1*"), "dice 2 5 allow cells B, F to be claimed"),
    "a star missing": (("F 7*", "F 7"), "dice 2 5 allow cells B, F to be claimed"),
    "the target reached": (("X 2 O 3", "X 5 O 3"), "5 points win the match, so .* must say that it is over"),
    "the target reached by O": (("X 2 O 3", "X 2 O 6"), "5 points win the match, so .* must say that it is over"),
    "another target": (("of 5", "of 9"), "last line must be like"),
    "no points": (("points X 2 O 3 of 5, ", ""), "last line must be like"),
    "no number of plies": (("ply 20", "ply many"), "last line must be like"),
    "more after the plies": (("ply 20", "ply 20!"), "last line must be like"),
    "no last line": (("points X 2 O 3 of 5, ply 20", ""), "3 rows of 3 cells"),
    "fewer plies than markers": (("ply 20", "ply 1"), "2 markers take at least as many plies, not 1"),
    "drawn rounds": (("ply 20", "ply 20, drawn rounds 1"), "drawn rounds 1 do not fit"),
    "again without doubles": (("2 5", "2 5, then rolls again"), "stands after doubles, and only there"),
    "doubles without again": (("2 5", "2 2"), "stands after doubles, and only there"),
    "a seven on the dice": (("2 5", "2 7"), "first line must be like"),
    "a third player": (("X claims", "Z claims"), "first line must be like"),
    "no first line": (("X claims by dice 2 5\n", ""), "3 rows of 3 cells"),
    "over without a row": (("X claims by dice 2 5", "over: X wins"), "but the board or the points do not"),
    "nothing": ((GOOD, ""), "3 rows of 3 cells"),
}


def changed(text: str, *pairs: str) -> str:
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("name", list(REFUSED))
def test_wrong_texts_are_refused_in_words(name):
    pairs, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        MATCH.parse_state(changed(GOOD, *pairs))


@pytest.mark.parametrize(
    ("first", "facts", "message"),
    [
        ("over: O wins", "X 5 O 3", "first line must be 'over: X wins, row A B C'"),
        ("over: draw", "X 5 O 3", "first line must be 'over: X wins, row A B C'"),
        ("over: X", "X 5 O 3", "first line must be 'over: X wins, row A B C'"),
        ("over: X wins", "X 4 O 3", "but the board or the points do not"),
        ("over: X wins", "X 7 O 3", "5 points win the match, so nobody gets to 7"),
        ("over: X wins", "X 128 O 3", "nobody gets to 128"),
        ("over: X wins", "X 5 O 5", "but the board or the points do not"),
        ("over: O wins", "X 3 O 5", "but the board or the points do not"),
    ],
)
def test_wrong_ends_are_refused_in_words(first, facts, message):
    with pytest.raises(ValueError, match=message):
        MATCH.parse_state(changed(ROW, "X claims by dice 2 5", first, "X 2 O 3", facts))


def test_other_wrong_texts():
    with pytest.raises(ValueError, match="2 markers take as many plies, not 3"):
        SINGLE.parse_state(changed(GOOD, "points X 2 O 3 of 5, ply 20", "ply 3"))
    with pytest.raises(ValueError, match="drawn rounds 1 do not fit"):
        SINGLE.parse_state(changed(GOOD, "points X 2 O 3 of 5, ply 20", "ply 2, drawn rounds 1"))
    with pytest.raises(ValueError, match="last line must be like 'ply 0'"):
        SINGLE.parse_state(GOOD)
    with pytest.raises(ValueError, match="but the board or the points do not"):  # both have a row
        MATCH.parse_state(
            changed(ROW, "X claims by dice 2 5", "over: X wins", "X 2", "X 5", "D 1 ", "D 1O", "E 1 ", "E 1O")
        )
    with pytest.raises(ValueError, match="allow no card"):  # a full board is over
        SINGLE.parse_state(changed(full_text("I", "1 3", "ply 9"), "1*", "1X"))
    game = ttt_envs.load("big_tic_tac_dice")
    with pytest.raises(ValueError, match="drawn rounds 33 do not fit"):
        game.parse_state(FULL_4X4.format(facts="points X 0 O 0 of 5, ply 600, drawn rounds 33"))
    with pytest.raises(ValueError, match="but the board or the points do not"):
        game.parse_state(FULL_4X4.format(facts="points X 0 O 0 of 5, ply 600, drawn rounds 31"))
    with pytest.raises(ValueError, match="4 rows of 4 cells, A to P"):
        game.parse_state(GOOD)


@pytest.mark.parametrize("game_id", IDS)
def test_ends_are_read_back(game_id):
    """The ends of random games; the generator, which nobody sees, is not in the text."""
    for options in ({}, {"rounds": "single"}):
        game = ttt_envs.load(game_id, **options)
        play = play_batch(Batch(game, 4 if jit.DISABLED else 60, seed=8), game.max_plies)
        for state in play.states[-1]:
            assert difference(game.parse_state(game.format_state(state))[0], state) == ["rng"]


def test_the_next_round_tells_how_the_last_one_ended():
    """By the points that it gave; before there was one, nothing is told."""
    game = ttt_envs.load("tic_tac_super_dice", target_points=4)
    states = play_batch(Batch(game, 6 if jit.DISABLED else 60, seed=12), game.max_plies).states
    told = set()
    for before, after in zip(states[:-1].ravel(), states[1:].ravel(), strict=True):
        if after["done"]:
            continue
        if (after["owner"] != 0).sum() > (before["owner"] != 0).sum():
            assert after["last"] == before["last"]
            continue
        x, o = (after["points"] - before["points"]).tolist()
        words = {(2, 0): "row of X", (0, 2): "row of O", (1, 0): "more of X", (0, 1): "more of O", (0, 0): "drawn"}
        assert game.format_state(after).endswith(f", last round: {words[x, o]}")
        told.add(words[x, o])
    assert len(told) >= (2 if jit.DISABLED else 5)
    assert "last round" not in game.format_state(states[0, 0])
    with pytest.raises(ValueError, match="no round before"):
        SINGLE.parse_state(changed(GOOD, "points X 2 O 3 of 5, ply 20", "ply 2, last round: drawn"))


def test_a_draw_is_read_back_to_the_byte():
    """A state's bytes are its hash and its file, so that 0 must not become -0."""
    game = ttt_envs.load("tic_tac_super_dice", rounds="single")
    end = played(game, DRAWN_4X4.format(dice="2 6", facts="ply 15"), "P", futures=1)
    end["rng"] = 0
    assert game.parse_state(game.format_state(end[0])).tobytes() == end.tobytes()


def test_a_hundred_points_are_read_back():
    """98 points and a row, in a match to 99."""
    game = ttt_envs.load("tic_tac_dice", target_points=99)
    text = ROW_ON_TOP.format(first="X claims by dice 1 3", c="*", i="*", facts="points X 98 O 3 of 99, ply 400")
    after = played(game, text, "C", futures=1)
    assert after["points"].tolist() == [[100, 3]]
    assert game.parse_state(game.format_state(after[0]))["points"].tolist() == [[100, 3]]


@pytest.mark.parametrize("first", ["X claims by dice 2 6", "over: X wins"])
def test_a_match_is_over_after_32_drawn_rounds(first):
    game = ttt_envs.load("tic_tac_super_dice")
    text = DRAWN_4X4.replace("X claims by dice {dice}", first).format(
        facts="points X 4 O 4 of 5, ply 600, drawn rounds 32"
    )
    if first.startswith("over"):
        text = text.replace("8*", "8X").replace("N 6O", "N 6X").replace("X 4", "X 5")
    with pytest.raises(ValueError, match=r"drawn rounds 32|but the board or the points do not"):
        game.parse_state(text)


def test_a_star_after_the_end_is_refused():
    text = ROW_ON_TOP.format(first="over: X wins", c="X", i="*", facts="ply 5")
    with pytest.raises(ValueError, match="cannot be claimed"):
        SINGLE.parse_state(text)


def test_a_row_cannot_give_one_point():
    game = ttt_envs.load("tic_tac_dice", target_points=1)
    text = ROW_ON_TOP.format(first="over: X wins", c="X", i="", facts="points X 1 O 0 of 1, ply 5")
    with pytest.raises(ValueError, match="but the board or the points do not"):
        game.parse_state(text)


# --- options ---


@pytest.mark.parametrize("game_id", IDS)
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"size": 2}, ValueError, "size=2 must be from 3 to 5"),
        ({"size": 6}, ValueError, "size=6 must be from 3 to 5"),
        ({"win_length": 2}, ValueError, "win_length=2 must be from 3"),
        ({"size": 4, "win_length": 5}, ValueError, "win_length=5 must be from 3 to 4"),
        ({"size": 3, "win_length": 4}, ValueError, "win_length=4 must be from 3 to 3"),
        ({"target_points": 0}, ValueError, "target_points=0 must be from 1 to 99"),
        ({"target_points": 100}, ValueError, "target_points=100 must be from 1 to 99"),
        ({"rounds": "best"}, ValueError, "rounds='best' must be one of 'match', 'single'"),
        ({"rounds": None}, ValueError, "rounds=None must be one of"),
        ({"size": "3"}, TypeError, "size='3' must be a whole number, not str"),
        ({"size": 3.0}, TypeError, "size=3.0 must be a whole number, not float"),
        ({"win_length": True}, TypeError, "win_length=True must be a whole number, not bool"),
        ({"win_length": None}, TypeError, "win_length=None must be a whole number, not NoneType"),
        ({"target_points": 5.0}, TypeError, "target_points=5.0 must be a whole number, not float"),
        ({"target_points": [5]}, TypeError, "must be a whole number, not list"),
        ({"sise": 3}, TypeError, "did you mean 'size'"),
    ],
)
def test_wrong_options_are_refused_in_words(game_id, options, error, message):
    with pytest.raises(error, match=message):
        ttt_envs.load(game_id, **options)


def test_presets_are_one_game():
    """With the same options the three ids play the same games."""
    options = {"size": 4, "win_length": 4, "target_points": 3, "rounds": "match"}
    plays = [play_batch(Batch(ttt_envs.load(game_id, **options), 5, seed=1), 20) for game_id in IDS]
    for play in plays[1:]:
        assert play.states.tobytes() == plays[0].states.tobytes()


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


def chi_square_is_usual(chi_square: float, freedom: int) -> bool:
    """Whether it is within 5 standard deviations, in the scale in which it is nearly normal (Wilson and Hilferty)."""
    spread = 2 / (9 * freedom)
    return abs((chi_square / freedom) ** (1 / 3) - (1 - spread)) < 5 * spread**0.5


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
