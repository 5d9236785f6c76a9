"""The rules of the Tic-Tac-Dice family against a slow second version, written from the rule text alone; rows and
options.
"""

from collections import Counter
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from dice_positions import IDS, blank, claimed
from option_sets import compiled_late
from slow_rng import Replay
from slow_tic_tac_dice import MOST_DRAWN_ROUNDS, SlowTicTacDice, lines

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.rng import Purpose, derive
from ttt_envs.testing.positions import Play, play_batch

#: What the fast version's bytes mean in the slow one.
MARK = np.array([None, 0, 1], object)

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
#: Games in a part, and in the default run.
CHUNK, FEW = 500, 100


class Chance(Replay):
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
                    min(games, CHUNK if part else FEW),
                    part,
                    id=f"{game_id}-{words or 'default'}-{part}",
                    marks=[pytest.mark.slow] if part or (options.get("size") == 5 and not jit.DISABLED) else [],
                )
            )
    return found


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
    games = 1 if jit.DISABLED else 2
    assert compare_with_slow(game, games, seed=0, player=play_against_rows)["matches of 32 draws"] == games


def test_the_rows_that_the_rule_text_counts():
    assert [len(lines(*each)) for each in ((3, 3), (4, 3), (4, 4))] == [8, 24, 10]


@pytest.mark.parametrize(("size", "win_length"), [(3, 3), (4, 3), (4, 4), *(compiled_late(5, k) for k in (3, 4, 5))])
def test_rows(size, win_length):
    """In a single round: of all sets of markers, or 65,536 of them, exactly those with a line win.

    Thus cells in a row that go on beyond an edge are no line, and every line is one, whichever cell comes last.
    """
    game = ttt_envs.load("tic_tac_dice", size=size, win_length=win_length, rounds="single")
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 2}, "size=2 must be from 3 to 5"),
        ({"win_length": 2}, "win_length=2 must be (from )?3"),
        ({"rounds": "best"}, "rounds='best' must be one of 'match', 'single'"),
    ],
)
def test_wrong_options_are_refused_in_words(options, message):
    with pytest.raises(ValueError, match=message):
        ttt_envs.load("tic_tac_dice", **options)


def test_presets_are_one_game():
    """With the same options the three ids play the same games."""
    options = {"size": 4, "win_length": 4, "target_points": 3, "rounds": "match"}
    plays = [play_batch(Batch(ttt_envs.load(game_id, **options), 5, seed=1), 20) for game_id in IDS]
    for play in plays[1:]:
        assert play.states.tobytes() == plays[0].states.tobytes()
