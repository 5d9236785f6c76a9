"""The rules of Tic-Tac Match against a slow second version, written from the rule text alone.

Chance is tested by counting, with fixed seeds: an entry of a table may be 5 standard deviations off what is expected.
"""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from option_sets import late
from slow_rng import Replay
from slow_tic_tac_match import (
    EXCHANGE,
    ROWS,
    WIPE_OUT,
    SlowTicTacMatch,
    numbers,
    shown,
)

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.rng import Purpose, derive
from ttt_envs.games.tic_tac_match import rules
from ttt_envs.testing.positions import after, difference, masks_of, play_batch

ID = "tic_tac_match"

#: A deck without Flips, in which a hand is one card: a Double Play cannot be played, and is exchanged.
STUCK = {"colours": 1, "copies": 3, "flips": 0, "wipe_outs": 0, "double_plays": 9, "hand_size": 1}

#: Options, how many games, and what is to be seen in each 500 of them. 20,000 games in all.
COMPARED: list[tuple[dict, int, tuple[str, ...]]] = [
    ({}, 300, ("new piles", "lines between", "lost by oneself")),
    ({"max_turns": 5}, 1500, ("turns used up",)),
    ({"players": 4}, 300, ("new piles", "lines between", "lost by oneself", "against a team-mate")),
    ({"players": 4, "teams": False, "wipe_outs": 9}, 300, ("new piles", "lines between")),
    ({"players": 4, "colours": 1, "copies": 9}, 2000, ("lines between", "against a team-mate")),
    ({"colours": 2}, 1000, ("new piles", "lines between", "lost by oneself")),
    ({"colours": 2, "hand_size": 3, "double_plays": 9}, 1000, ("exchanges", "lines between")),
    ({"colours": 2, "hand_size": 1, "copies": 3}, 300, ("exchanges", "new piles")),
    ({"colours": 1}, 8000, ("new piles", "lines between", "lost by oneself")),
    ({"colours": 1, "copies": 5, "flips": 0, "wipe_outs": 0, "double_plays": 9, "hand_size": 2}, 5290, ("exchanges",)),
    (STUCK, 10, ("exchanges", "nobody can play")),
]
CHUNK = 250
#: Games of each case in the default run, which shows what a case is for in most of them.
FEW = 60
#: Cases that the default run compares without the JIT alone.
COMPILED_ALONE = {2, 3, 4, 5, 6, 7, 9}


def compare_with_slow(game: Game, games: int, seed: int) -> Counter[str]:
    """Random games with both versions, everything compared after every card; what there was to compare.

    The slow version draws as the fast version's generator says, and must draw as often: the generator's state, which
    counts the draws, is compared too.
    """
    options = game.options
    batch = Batch(game, games, seed=seed)
    seeds = [int(derive(seed, int(Purpose.GAME), 0)) for seed in batch.episode_seeds]
    play = play_batch(batch, game.max_plies)
    states = play.states
    masks = np.stack([[masks_of(game, ply, player) for player in range(game.num_players)] for ply in states])
    waiting = states["done"][:, None] | (states["to_move"][:, None] != np.arange(game.num_players)[:, None])
    assert not masks[waiting].any(), "who waits has legal actions"
    legal = masks.any(axis=1)
    actions = play.actions.max(axis=2)
    number = numbers(options["players"], options["colours"])
    meant = {(player, number): action for (player, action), number in number.items()}
    seen: Counter[str] = Counter()
    for i in range(games):
        chance = Replay(seeds[i])
        slow = SlowTicTacMatch(chance.below, **options)
        fields = ("rng", *shown(slow))
        fast = zip(*(states[name][:, i].tolist() for name in fields), legal[:, i], strict=True)
        for ply, (*expected, row) in enumerate(fast):
            found = {"rng": chance.state, **shown(slow)}
            found["rewards"] = np.float32(slow.rewards).tolist()
            wrong = [name for name, value in zip(fields, expected, strict=True) if found[name] != value]
            assert not wrong, f"{wrong} differ in game {i} after {actions[:ply, i]}"
            assert row.nonzero()[0].tolist() == sorted(number[slow.to_move, action] for action in slow.legal)
            if slow.done:
                break
            mover, action = slow.to_move, meant[slow.to_move, int(actions[ply, i])]
            slow.play(action)
            seen["plies"] += 1
            seen["against a team-mate"] += action[0] == WIPE_OUT and (action[1] - mover) % 4 == 2
        assert slow.done
        won = slow.rewards[mover]
        seen["lines between"] += slow.pending == 2
        seen["lost by oneself"] += won < 0
        seen["turns used up"] += slow.turns == options["max_turns"]
        seen["nobody can play"] += won == 0 and slow.turns < options["max_turns"]
        seen["new piles"] += slow.reshuffles
        seen["exchanges"] += any(action == EXCHANGE for _, action in slow.log)
    return seen


def parts() -> list:
    found = []
    for case, (options, games, _) in enumerate(COMPARED):
        words = ",".join(f"{name}={value}" for name, value in options.items())
        for part in range(-(-games // CHUNK)):
            # A form of record that no other test has is compiled for a long time.
            marks = [pytest.mark.slow] if part or (case in COMPILED_ALONE and not jit.DISABLED) else []
            found.append(pytest.param(case, part, id=f"{words or 'default'}-{part}", marks=marks))
    return found


@pytest.mark.parametrize(("case", "part"), parts())
def test_fast_and_slow_agree(case, part):
    options, games, wanted = COMPARED[case]
    if jit.DISABLED and part:
        pytest.skip("the first part is enough with the JIT off")
    games = min(games, CHUNK if part else FEW) if not jit.DISABLED else 3
    seen = compare_with_slow(ttt_envs.load(ID, **options), games, seed=part)
    assert jit.DISABLED or not [word for word in wanted if not seen[word]], f"only {seen} were seen"


def reseeded(states: np.ndarray) -> np.ndarray:
    states = states.copy()
    states["rng"] = np.random.default_rng(0).integers(2**63, size=len(states))
    return states


TWO, FOUR = ttt_envs.load(ID), ttt_envs.load(ID, players=4)
ALONE = ttt_envs.load(ID, players=4, teams=False)


# --- positions ---


def position(game: Game, first: str, board: str, ids: str, *hands: str, pile: str = "", covered: str = "none") -> str:
    """A position as text: `board` is nine words. A `pile` that is given leaves the rest of the deck to the discards."""
    cells = [f"{name} {word:<2}" for name, word in zip("ABCDEFGHI", board.split(), strict=True)]
    rows = ["  ".join(cells[row : row + 3]).rstrip() for row in (0, 3, 6)]
    held = [f"hand {player}: {hand}" for player, hand in enumerate(hands)]
    parts = [first, *rows, f"ID cards: {ids}", *held, f"covered: {covered}", "discards: {}", "turn 5, ply 7"]
    text = "\n".join(parts)
    if not pile:
        return text.format("none")
    rest = game.format_state(game.parse_state(text.format("none"))[0]).partition("pile: ")[2].splitlines()[0]
    left = Counter({kind: int(n) for n, kind in map(str.split, rest.split(", "))})
    left -= Counter({kind: int(n) for n, kind in map(str.split, pile.split(", "))})
    return text.format(", ".join(f"{n} {kind}" for kind, n in left.items()))


def played(game: Game, text: str, *plays: str, futures: int = 20) -> np.ndarray:
    states = reseeded(np.repeat(game.parse_state(text), futures))
    lines = game.format_state(states[0]).splitlines()
    assert [line for line in lines if not line.startswith("pile: ")] == text.splitlines()
    for name in plays:
        action = game.parse_action(name)
        assert not states["done"].any()
        for player in range(game.num_players):
            assert (masks_of(game, states, player)[:, action] == (states["to_move"] == player)).all(), name
        states = after(game, states, np.full((futures, game.num_players), action))
    return states


def legal_names(game: Game, text: str) -> set[str]:
    state = game.parse_state(text)
    return {game.action_names[k] for k in masks_of(game, state, int(state["to_move"][0]))[0].nonzero()[0]}


def check_end(states: np.ndarray, *rewards: float) -> None:
    assert states["done"].all()
    assert np.allclose(states["rewards"], rewards)


BOARD = "rX rX . bX . rO . . gO"


def test_rows():
    """Three like cards end the game exactly if they lie in a row, whichever is laid last. With two players."""
    text = position(TWO, "seat 1 plays", ". . . . . . . . .", "X O", "4 F", "1 rX, 3 W")
    triples = list(combinations(range(9), 3))
    for last, identity in product(range(3), range(2)):
        states = np.repeat(TWO.parse_state(text), len(triples))
        states["identity"] = identity, 1 - identity
        for state, cells in zip(states, triples, strict=True):
            state["top"][list(cells)] = 0
            state["top"][cells[last]] = rules.NOTHING
        actions = np.repeat([[cells[last]] for cells in triples], 2, axis=1)
        ends = after(TWO, states, actions)
        expected = np.array([cells in ROWS for cells in triples])
        assert np.array_equal(ends["done"], expected)
        assert np.array_equal(ends["rewards"][:, identity], np.where(expected, 1, 0)), "X wins"
        assert np.array_equal(ends["rewards"][:, 1 - identity], np.where(expected, -1, 0))


def test_lines_are_looked_for_between_the_cards_of_a_double_play():
    """The first card of a Double Play can end the game, for either side; nothing is played or drawn after it."""
    for ids, rewards in (("O X", (-1, 1)), ("X O", (1, -1))):
        text = position(TWO, "seat 1 plays", BOARD, ids, "4 yO", "1 rX, 2 bO, 1 D")
        ends = played(TWO, text, "double play", "red X to C")
        check_end(ends, *rewards)
        assert (ends["hand"][:, 1].sum(axis=1) == 2).all()
        assert (ends["turn"] == 5).all()
        assert np.array_equal(ends["pile"], TWO.parse_state(text)["pile"].repeat(len(ends), axis=0))


def test_the_symbol_shown_at_that_moment_wins():
    """Not who completes the row, but whose ID card shows its symbol then: a Flip before it turns that round."""
    for ids, rewards in (("O X", (-1, 1)), ("X O", (1, -1))):
        text = position(TWO, "seat 1 plays", BOARD, ids, "1 rX, 3 yO", "1 rX, 1 bO, 1 F, 1 D")
        check_end(played(TWO, text, "red X to C"), *rewards)
        swapped = [-reward for reward in rewards]
        check_end(played(TWO, text, "double play", "flip", "red X to C"), *swapped)
        flipped = played(TWO, text, "flip")
        assert (flipped["identity"] == 1 - TWO.parse_state(text)["identity"]).all()
        assert not flipped["done"].any()
        check_end(played(TWO, text, "flip", "red X to C"), *swapped)


@late
def test_sides_share():
    """Team-mates alike; who is alone gets all, or pays all; a Flip turns everybody's card."""
    hands = ("4 yO", "1 rX, 1 F, 2 D", "1 rX, 3 gO", "4 bO")
    for game, ids, rewards in (
        (FOUR, "X O X O", (0.5, -0.5, 0.5, -0.5)),
        (FOUR, "O X O X", (-0.5, 0.5, -0.5, 0.5)),
        (ALONE, "X O O O", (1, -1 / 3, -1 / 3, -1 / 3)),
        (ALONE, "O X X X", (-1, 1 / 3, 1 / 3, 1 / 3)),
    ):
        text = position(game, "seat 1 plays", BOARD, ids, *hands)
        check_end(played(game, text, "red X to C"), *rewards)
        check_end(played(game, text, "double play", "flip", "red X to C"), *[-reward for reward in rewards])
        check_end(played(game, text, "flip", "red X to C"), *[-reward for reward in rewards])


def test_a_card_shares_exactly_one_thing_with_the_one_under_it():
    text = position(TWO, "seat 1 plays", "rX rO bX bO . . . . .", "X O", "4 F", "2 rX, 2 bO")
    expected = {f"red X to {cell}" for cell in "BCEFGHI"} | {f"blue O to {cell}" for cell in "BCEFGHI"}
    assert legal_names(TWO, text) == expected


def test_the_first_card_of_a_double_play_leaves_a_second_one_or_ends_the_game():
    """On boards of few kinds, where few cards fit, as by trying each first card and each second one."""

    def fits(kind, top):
        return top == rules.NOTHING or (kind // 2 == top // 2) != (kind % 2 == top % 2)

    def second_or_line(top, hand, kind, cell):
        after = [kind if c == cell else top[c] for c in range(9)]
        left = [k for k in range(8) if hand[k] > (k == kind)]
        return any(fits(k, t) for k in left for t in after) or any(
            cell in row and all(after[c] == kind for c in row) for row in ROWS
        )

    generator, state, seen = np.random.default_rng(0), Batch(TWO, 1).states[0], Counter()
    for _ in range(400):
        state["top"] = generator.choice(generator.integers(rules.NOTHING, 8, 3), 9, p=(0.8, 0.1, 0.1))
        hand = state["hand"][0]
        hand[:] = 0
        hand[generator.integers(0, 8, 2)] = generator.integers(1, 3)
        top, board = state["top"].tolist(), rules.read_board(state)
        cards = rules.laid(board, rules.held(hand))
        first = [(k, c) for k in range(8) for c in range(9) if hand[k] and fits(k, top[c])]
        wanted = [9 * k + c for k, c in first if second_or_line(top, hand, k, c)]
        halves = [int(rules.going_on(state, board, 0, cards[half], 4 * half)) for half in range(2)]
        assert [a for a in range(72) if halves[a // 36] >> a % 36 & 1] == wanted, (top, hand)
        assert rules.can_begin_double(state, board, 0) == bool(wanted), (top, hand)
        seen["none" if not wanted else "all" if len(wanted) == len(first) else "some"] += 1
    assert min(seen["none"], seen["some"], seen["all"]) > 5, seen


def test_a_double_play_needs_two_cards():
    """Or one that ends the game: then that one must be played, and where it does."""
    game = ttt_envs.load(ID, hand_size=2)
    for hand, legal in (("1 bO, 1 D", False), ("1 rX, 1 D", True), ("1 F, 1 D", False), ("1 W, 1 D", False)):
        text = position(game, "seat 1 plays", BOARD, "X O", "2 F", hand)
        assert ("double play" in legal_names(game, text)) == legal, hand
    text = position(game, "seat 1 plays, 2 more cards of a double play", BOARD, "X O", "2 F", "1 rX")
    assert legal_names(game, text) == {"red X to C"}
    game = ttt_envs.load(ID, hand_size=3)
    text = position(game, "seat 1 plays, 2 more cards of a double play", BOARD, "X O", "3 F", "1 F, 1 W")
    with pytest.raises(ValueError, match="nobody has a legal action"):
        game.parse_state(text)


# --- what cards do ---


def test_the_pile_is_made_anew_as_soon_as_it_is_empty():
    """Made of discards and covered cards as soon as the last card is drawn; the top cards stay. With two players."""
    text = position(TWO, "seat 1 plays", BOARD, "X O", "4 gX", "4 bO", pile="1 rO", covered="3 yX, 1 yO")
    before, states = TWO.parse_state(text), played(TWO, text, "blue O to D")
    assert (states["hand"][:, 1, 1] == 1).all(), "the last card is drawn"
    new = (before["discard"] + before["covered"])[0]
    new[2] += 1  # the card that was just covered
    assert (states["pile"] == new).all()
    assert not states["discard"].any()
    assert not states["covered"].any()
    assert (np.delete(states["top"], 3, axis=1) == np.delete(before["top"], 3, axis=1)).all()


@late
def test_wipe_out():
    """The mover draws first, then the victim, who may be a team-mate and plays next; then it goes on clockwise.

    The pile has one card, so that the mover gets that one, and the victim's cards come from a new pile in which the
    victim's old ones are not yet, but the Wipe-Out is. With four players.
    """
    hands, one = ("4 gX", "3 rO, 1 W", "4 bO", "4 yO"), np.eye(11, dtype=int)
    for k in (1, 2, 3):
        victim = (1 + k) % 4
        text = position(FOUR, "seat 1 plays", BOARD, "X O X O", *hands, pile="1 gO", covered="6 yX")
        before, states = FOUR.parse_state(text)[0], played(FOUR, text, f"wipe-out +{k}")
        assert (states["hand"][:, 1] == before["hand"][1] + one[7] - one[9]).all()
        assert (states["discard"] == before["hand"][victim]).all()
        new = before["discard"] + before["covered"] + one[9]
        assert (states["pile"] + states["hand"][:, victim] == new).all()
        for other in {0, 2, 3} - {victim}:
            assert (states["hand"][:, other] == before["hand"][other]).all()
        assert (states["to_move"] == victim).all()
        assert (states["turn"] == 6).all()
        symbols = masks_of(FOUR, states, victim)[:, :72]
        ends = after(FOUR, states, np.repeat(symbols.argmax(axis=1)[:, None], 4, axis=1))
        next_ones = ends["to_move"][symbols.any(axis=1) & ~ends["done"]]
        assert len(next_ones)
        assert (next_ones == (victim + 1) % 4).all()


def test_a_hand_without_a_legal_play_is_exchanged():
    """A hand without a legal play is thrown away at the start of the turn, which is then taken. With two players."""
    text = position(TWO, "seat 1 plays", BOARD, "X O", "4 D", "4 bO")
    before, states = TWO.parse_state(text), played(TWO, text, "blue O to E")
    assert (states["to_move"] == 0).all()
    assert (states["discard"] == np.eye(11, dtype=int)[10] * 4).all()
    assert not states["hand"][:, :, 10].any()
    assert (states["hand"].sum(axis=2) == 4).all()
    assert (states["turn"] == 6).all()
    assert (states["pile"].sum(axis=1) == before["pile"].sum() - 5).all()


@pytest.mark.parametrize("action", ["blue O to E", "flip", "wipe-out +1"])
def test_nobody_draws_after_the_last_turn(action):
    game = ttt_envs.load(ID, max_turns=6)
    text = position(game, "seat 1 plays", BOARD, "X O", "4 gX", "2 bO, 1 F, 1 W")
    ends = played(game, text, action)
    check_end(ends, 0, 0)
    assert (ends["hand"].sum(axis=2) == (4, 3)).all()


GOOD = position(TWO, "seat 1 plays", BOARD, "X O", "4 gX", "2 rX, 1 bO, 1 F", covered="1 yX")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("C .", "C F", "a cell holds"),
        ("C .", "", "three rows of three cells"),
        ("hand 0: 4 gX\n", "", "'hand 0' is missing"),
        ("4 gX", "6 gX, 1 gX", "the deck has 6 cards gX"),
        ("4 gX", "4 zX", "not '4 zX'"),
        ("turn 5, ply 7", "turn 5, ply 7\nevents: 0 flip", "events"),
        ("turn 5, ply 7", "turn 5, ply 7\npile: 1 rX", "rest of the deck"),
    ],
)
def test_a_text_that_cannot_be_is_refused_in_words(old, new, message):
    assert TWO.parse_state(GOOD)["to_move"] == 1
    assert old in GOOD
    with pytest.raises(ValueError, match=message):
        TWO.parse_state(GOOD.replace(old, new))


def test_ends_are_read_back():
    """Won, drawn by turns, and drawn because nobody can play; all but the generator."""
    for options in ({}, {"max_turns": 5}, STUCK):
        game = ttt_envs.load(ID, **options)
        for state in play_batch(Batch(game, 4 if jit.DISABLED else 40, seed=8), game.max_plies).states[-1]:
            assert difference(game.parse_state(game.format_state(state))[0], state) == ["rng"]


# --- options ---


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"players": 3}, ValueError, "players=3 must be one of 2, 4"),
        ({"teams": False}, ValueError, "teams=False is for players=4"),
        ({"max_turns": 0}, ValueError, "max_turns=0 must be from 1 to 10000"),
        ({"hand_sizes": 4}, TypeError, "did you mean 'hand_size'"),
        ({"players": 4, "colours": 1, "copies": 8}, ValueError, "4 hands of 4 cards could hold all 16 symbol cards"),
        (
            {"colours": 1, "copies": 5, "flips": 0, "wipe_outs": 0, "double_plays": 1, "hand_size": 1},
            ValueError,
            "of its 11 cards 2 are in 2 hands and up to 9 lie on top; at least 12 cards are needed",
        ),
    ],
)
def test_wrong_options_are_refused_in_words(options, error, message):
    with pytest.raises(error, match=message):
        ttt_envs.load(ID, **options)


@pytest.mark.parametrize("max_turns", [1, 2, 3, 9])
@pytest.mark.parametrize("special", [0, 1])
def test_the_smallest_decks_do_not_run_out(max_turns, special):
    """The smallest deck that is allowed, as many cards on top as can be: the pile is never empty."""
    for flips in range(10):
        options = {"colours": 1, "copies": 2, "hand_size": 1, "flips": flips, "wipe_outs": 0, "double_plays": special}
        try:
            game = ttt_envs.load(ID, **options, max_turns=max_turns)
        except ValueError:
            continue
        states = play_batch(Batch(game, 5 if jit.DISABLED else 100, seed=1), game.max_plies).states
        assert states["pile"].any(axis=2).all()
        return
    raise AssertionError("no such deck is allowed")
