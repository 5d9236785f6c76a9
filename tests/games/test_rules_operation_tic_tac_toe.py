"""The rules of Operation Tic-Tac-Toe against a slow second version; chance, secrecy, bad input."""

import random
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import combinations, product

import numpy as np
import pytest
from slow_operation_tic_tac_toe import (
    ABILITY,
    PICK,
    PLACED,
    PREDICTED,
    ROLE,
    SPECIALISTS,
    SPY,
    TURN,
    Position,
    SlowOperation,
    has_line,
    no_room,
    resolve,
    start,
)
from test_rules_operation_tic_tac_toe_by_hand import (
    IN_HAND,
    OFFERED,
    UNUSED,
    USED,
    named,
    number,
)

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game

ID = "operation_tic_tac_toe"


load = partial(ttt_envs.load, ID)


# --- random games, with both versions ---

#: How the fast version writes what the slow one has in words.
PIECE = {None: 0, **{(p, kind): 1 + 9 * p + k for p in (0, 1) for k, kind in enumerate((SPY, *SPECIALISTS))}}
PHASE = {ROLE: 0, PICK: 1, TURN: 2, ABILITY: 3, None: 2}
ENDED = {None: 0, "line of X": 1, "line of O": 2, "both lines": 3, "no room": 4, "idle": 5, "agreed": 6}
FIELDS = (
    *("board", "standing", "hacker_on", "phase", "placer", "first", "pending", "idle", "wins", "round", "ended"),
    *("last", "last_ability", "to_move", "ply", "done", "rewards"),
)


@lru_cache(maxsize=10_000)
def numbers(names: tuple[str, ...]) -> list[int]:
    return sorted(number(name) for name in names)


def standing(slow: SlowOperation, player: int, name: str) -> int:
    if name in slow.offered[player]:
        return OFFERED
    if slow.position is not None and name in slow.position.hands[player]:
        return IN_HAND
    return UNUSED if name in slow.unused[player] else USED


def as_fast(slow: SlowOperation) -> list:
    here, acting = slow.position, slow.acting()
    first = -1 if slow.first is None else slow.first
    return [
        [PIECE[piece] for piece in here.board] if here else [0] * 9,
        [[standing(slow, player, name) for name in SPECIALISTS] for player in (0, 1)],
        list(here.hackers) if here else [False, False],
        PHASE[slow.phase],
        here.placer if here else first,
        first,
        -1 if slow.pending is None else slow.pending,
        here.idle if here else 0,
        slow.wins,
        slow.round,
        ENDED[slow.last_end],
        [number(name) for name in slow.submitted] or [-1, -1],
        -1 if slow.used_ability is None else number(slow.used_ability),
        acting[0] if len(acting) == 1 else 0 if slow.done else -1,
        slow.ply,
        slow.done,
        list(slow.rewards),
    ]


#: (slow game, both players' legal actions, generator) -> an action each, None for who does not act
Choose = Callable[[SlowOperation, list[list[str]], random.Random], list[str | None]]


def at_random(slow: SlowOperation, legal: list[list[str]], generator: random.Random) -> list[str | None]:
    return [generator.choice(names) if names else None for names in legal]


def stubborn(slow: SlowOperation, legal: list[list[str]], generator: random.Random) -> list[str | None]:
    """Lines are avoided, and half of the placements are blocked, so that other ends come up."""
    moves = at_random(slow, legal, generator)
    if slow.phase != TURN:
        return moves
    placer = slow.position.placer
    for _ in range(4):
        placement = PLACED.get(moves[placer])
        if placement and any(end.ended is None for end in resolve(slow.position, placement, ()).values()):
            break
        moves[placer] = generator.choice(legal[placer])
    placement = PLACED.get(moves[placer])
    if placement and generator.random() < 0.5:
        right = [name for name in legal[1 - placer] if placement[1] in PREDICTED.get(name, ())]
        moves[1 - placer] = generator.choice(right)
    return moves


def begin(game: Game, states: np.ndarray) -> list[SlowOperation]:
    """The slow versions of fresh games; who was drawn for a single round is taken over."""
    drawn = zip(named(states, IN_HAND), states["first"].tolist(), strict=True)
    return [
        SlowOperation(**{**game.options, "specialists": specialists, "first_placer": first})
        for specialists, first in drawn
    ]


def set_up(state: np.void, position: Position) -> None:
    state["board"] = [PIECE[piece] for piece in position.board]
    state["standing"] = [[IN_HAND if name in hand else USED for name in SPECIALISTS] for hand in position.hands]
    state["hacker_on"], state["idle"] = position.hackers, position.idle
    state["placer"] = state["first"] = position.placer


def compare_with_slow(
    game: Game,
    games: int,
    seed: int,
    choose: Choose = at_random,
    starts: list[Position] | None = None,
) -> Counter[str]:
    """Play with both versions, everything compared after every step; what there was to compare."""
    generator = random.Random(seed)
    batch = Batch(game, games, seed=seed)
    slows = begin(game, batch.states)
    for i, position in enumerate(starts or ()):
        set_up(batch.states[i], position)
        slows[i].position, slows[i].first = position, position.placer
    seen: Counter[str] = Counter()
    going = list(range(games))
    while going:
        states = batch.states[going]
        legal: list[list[list[int]]] = [[[], []] for _ in going]
        for player in (0, 1):
            for k, action in np.argwhere(batch.masks(player)[going]).tolist():
                legal[k][player].append(action)
        joint = np.full((games, 2), -1)
        moves = []
        for i, masks, *fast in zip(going, legal, *(states[name].tolist() for name in FIELDS), strict=True):
            slow = slows[i]
            names = [slow.legal(player) for player in (0, 1)]
            seen["forced passes"] += ["pass"] in names
            assert fast == as_fast(slow)
            assert masks == [numbers(tuple(part)) for part in names]
            moves.append(choose(slow, names, generator))
            joint[i] = [-1 if name is None else number(name) for name in moves[-1]]
            seen.update(name.split()[0] for name in moves[-1] if name)
        batch.step(joint)
        for i, move, offers in zip(going, moves, named(batch.states[going], OFFERED), strict=True):
            if not slows[i].done:
                slows[i].play(move, offers)
        going = [i for i, done in zip(going, states["done"].tolist(), strict=True) if not done]
    for slow in slows:
        seen.update([slow.last_end, f"round {slow.round}"])
    return seen


#: (matches, options, how they are played): 20,000 in fifty parts, of which the default suite has one.
MATCHES = [
    (6000, {}, at_random),
    (2500, {}, stubborn),
    (2500, {"max_idle_turns": 2, "max_rounds": 10}, stubborn),
    (2000, {"rounds_to_win": 99, "max_rounds": 11}, at_random),
    (1500, {"rounds_to_win": 3, "max_rounds": 4}, at_random),
    (2000, {"rounds_to_win": 1}, at_random),
    (1500, {"allow_pass": True, "draw_offers": True, "max_idle_turns": 1}, at_random),
    (1000, {"allow_pass": True, "max_idle_turns": 99}, at_random),
    (1000, {"draw_offers": True, "max_idle_turns": 3, "max_rounds": 9}, stubborn),
]

#: Specialists of a player, as a round begins: none or one, and any two in overtime.
HANDS = [(), *((name,) for name in SPECIALISTS)]
OVERTIME_HANDS = list(combinations(SPECIALISTS, 2))


def all_starts(hands: list[tuple[str, ...]]) -> list[Position]:
    return [start(placer, pair) for pair in product(hands, repeat=2) for placer in (0, 1)]


#: (how often, starts, options, how they are played): 50,000 rounds in fifty parts, of which the default suite
#: has one.
ROUNDS = [
    (140, all_starts(HANDS), {}, at_random),
    (120, all_starts(HANDS), {"max_idle_turns": 7}, stubborn),
    (2, all_starts(OVERTIME_HANDS), {}, at_random),
    (2, all_starts(OVERTIME_HANDS), {"max_idle_turns": 4}, stubborn),
    (10, all_starts(HANDS), {"allow_pass": True, "draw_offers": True}, at_random),
    (10, all_starts(HANDS), {"max_idle_turns": 1}, at_random),
    (10, all_starts(HANDS), {"allow_pass": True, "max_idle_turns": 3}, stubborn),
]


def in_parts(number_of_parts: int) -> pytest.MarkDecorator:
    """Parametrised by `part`; the first part is in the default suite."""
    rest = [pytest.param(part, marks=pytest.mark.slow) for part in range(1, number_of_parts)]
    return pytest.mark.parametrize("part", [0, *rest])


@pytest.mark.parametrize(("matches", "options", "choose"), MATCHES)
@in_parts(100)
def test_fast_and_slow_agree_on_matches(matches, options, choose, part):
    compare_with_slow(load(**options), 10 if jit.DISABLED else matches // (100 if part else 300), part, choose)


@pytest.mark.parametrize(("often", "starts", "options", "choose"), ROUNDS)
@in_parts(50)
def test_fast_and_slow_agree_on_rounds(often, starts, options, choose, part):
    starts = random.Random(0).sample(starts * often, len(starts) * often)[part::50]
    starts = starts[:60] if jit.DISABLED else starts if part else starts[:150]
    compare_with_slow(load(mode="round", **options), len(starts), part, choose, starts)


def random_position(generator: random.Random) -> Position:
    """A position in a round, such as can come up or not: not yet over, specialists of all kinds stand about."""
    while True:
        kinds = [generator.sample(SPECIALISTS, 8), generator.sample(SPECIALISTS, 8)]
        board = [None] * 9
        for room in generator.sample(range(9), generator.choice((4, 5, 6, 7, 8, 8, 9))):
            player = generator.randrange(2)
            board[room] = player, SPY if generator.random() < 0.7 else kinds[player].pop()
        hands = [tuple(sorted(kinds[player][: generator.randrange(4)])) for player in (0, 1)]
        hackers = generator.random() < 0.3, generator.random() < 0.3
        position = Position(tuple(board), generator.randrange(2), tuple(hands), hackers, generator.randrange(5), None)
        if not no_room(position) and not has_line(position.board, 0) and not has_line(position.board, 1):
            return position


def test_fast_and_slow_agree_from_random_positions():
    """All that seldom comes up: every ability among many pieces, a Placer who has to pass, full boards."""
    generator, seen = random.Random(3), Counter()
    for choose in (at_random, stubborn):
        starts = [random_position(generator) for _ in range(100 if jit.DISABLED else 1000)]
        seen += compare_with_slow(load(mode="round", max_idle_turns=5), len(starts), 0, choose, starts)
    if not jit.DISABLED:
        wanted = ("remove", "move", "swap", "push", "grapple", "no", "forced passes", *list(ENDED)[1:-1])
        assert {name: seen[name] > 4 for name in wanted} == dict.fromkeys(wanted, True)


@pytest.mark.parametrize("given", [None, (None, None), ("sniper", None), (("hacker", "mole"), "mole")])
@pytest.mark.parametrize("first", [None, 0, 1])
def test_a_single_round_starts_as_told(given, first):
    """What is not told is drawn."""
    states = Batch(load(mode="round", specialists=given, first_placer=first), 200, seed=0).states
    hands = [tuple(tuple(sorted(names)) for names in both) for both in named(states, IN_HAND)]
    found = set(zip(hands, states["placer"].tolist(), strict=True))
    told = [{None: (), "sniper": ("sniper",), "mole": ("mole",)}.get(each, each) for each in given or ()]
    pairs = [tuple(told)] if given else product(HANDS[1:], repeat=2)
    expected = set(product(pairs, [0, 1] if first is None else [first]))
    assert found <= expected
    assert len(found) > len(expected) / 3
    assert (states["first"] == states["placer"]).all()


# --- chance ---

#: Deals in one statistic. An entry of a table may be 5 standard deviations off: one in 1.7 million is by accident.
MANY = 800 if jit.DISABLED else 40_000


def close(counts: np.ndarray, chance: float) -> None:
    off = (np.asarray(counts) - MANY * chance) / np.sqrt(MANY * chance * (1 - chance) + 1e-9)
    assert np.abs(off).max() < 5


@pytest.mark.parametrize("left", [2, 8])
def test_every_offer_is_as_likely(left):
    """All triples of what is left, for each player, and independently of the other one's."""
    batch = Batch(load(), MANY, seed=left)
    for player in (0, 1):
        batch.states["standing"][:, player, np.random.default_rng(player).permutation(8)[left:]] = USED
    batch.step(np.full((MANY, 2), number("place first")))
    offered = batch.states["standing"] == OFFERED
    size = min(3, left)
    for player in (0, 1):
        sets, counts = np.unique(offered[:, player], axis=0, return_counts=True)
        assert len(sets) == len(list(combinations(range(left), size)))
        assert (sets.sum(axis=1) == size).all()
        close(counts, 1 / len(sets))
        assert (offered[:, player] | (batch.states["standing"][:, player] != OFFERED)).all()
    together = np.einsum("na,nb->ab", offered[:, 0], offered[:, 1], dtype=np.int64, casting="unsafe")
    close(together[together > 0], (size / left) ** 2)
    assert (together > 0).sum() == left**2


def test_what_is_drawn_for_a_single_round_is_as_likely():
    states = Batch(load(mode="round"), MANY, seed=0).states
    held = (states["standing"] == IN_HAND).argmax(axis=2)
    close(np.bincount(16 * held[:, 0] + 2 * held[:, 1] + states["placer"], minlength=128), 1 / 128)
