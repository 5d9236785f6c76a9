"""Kuhn poker, a game outside the package, in one file: `examples.kuhn_poker:make` stands where an id is taken.

Kuhn, "A simplified two-person poker", Contributions to the Theory of Games I, 1950. Each of two players antes 1 and is
dealt one of the cards jack, queen and king. Player 0 passes or bets 1; whoever faces a bet passes, which folds, or
bets as well, which calls. Two passes or two bets in a row are a showdown for the higher card. Rewards are half of what
is won, 0.5 or 1. Under optimal play player 0 may expect -1/18 of an ante, which is a reward of -1/36.

    ttt solve examples.kuhn_poker:make --target 1e-6 --out runs/kuhn

One player acts at a time, and what a player is shown tells all that they were ever shown: perfect recall.
"""

from typing import Any

import numpy as np

from ttt_envs.dev import Block, Faces, Game, Kernels, between, kernel, refuse, rng, state_dtype

JACK, QUEEN, KING = range(3)
PASS, BET = range(2)
NONE = -1

STATE = state_dtype(
    players=2,
    fields=[
        ("card", np.int8, (2,), between(JACK, KING)),  # JACK, QUEEN or KING of each player
        ("said", np.int8, (3,), between(NONE, BET)),  # the actions so far, PASS or BET; NONE for those to come
    ],
)

# --- rules ---


@kernel
def reset(state, seed):
    """Two of the three cards."""
    rng.start(state, seed)
    state["card"][0] = rng.below(state, 3)
    state["said"][:] = NONE
    deal(state, 1)


@kernel
def deal(state, player):
    """One of the two cards that the other player does not hold."""
    state["card"][player] = (state["card"][1 - player] + 1 + rng.below(state, 2)) % 3


@kernel
def legal_mask(state, player, out):
    """Both, always."""
    out[:] = player == state["to_move"]


@kernel
def count(state):
    """Return how many actions there were."""
    said = 0
    while said < 3 and state["said"][said] != NONE:
        said += 1
    return said


@kernel
def step(state, actions):
    """Note the action; a bet that was answered, or two passes, end the game."""
    said, action = count(state), actions[state["to_move"]]
    if said == 3 or (action != PASS and action != BET):
        refuse(state)
        return
    state["said"][said] = action
    state["to_move"] = 1 - state["to_move"]
    if said > 0 and not (state["said"][said] == BET and state["said"][said - 1] == PASS):
        settle(state)


@kernel
def settle(state):
    """Half of what is won: to the higher card, or to who has bet alone."""
    last = count(state) - 1
    winner = (last + 1) % 2
    if shown(state):
        winner = np.int64(state["card"][1] > state["card"][0])
    half = 0.5 + 0.5 * (shown(state) and state["said"][last] == BET)
    state["rewards"][winner] = half
    state["rewards"][1 - winner] = -half
    state["done"] = True


@kernel
def shown(state):
    """Return whether there was a showdown."""
    said = count(state)
    return said > 1 and state["said"][said - 1] == state["said"][said - 2]


@kernel
def resample(state, player, seed):
    """The other's card, unless it was shown; chance has no other part."""
    rng.start(state, seed)
    if not shown(state):
        deal(state, 1 - player)


RULES = "\n\n".join(
    (
        "Each of two players pays 1 and is dealt one of three cards, jack, queen and king, which the other does not "
        "see.",
        "Player 0 passes or bets 1 more. A player who faces a bet bets as well, or passes and so loses what they have "
        "paid. After two passes or two bets in a row the higher card wins all. The reward is half of what is won: 0.5 "
        "or 1.",
    )
)

# --- encoding ---


@kernel
def observe(state, player, out):
    """Fill `out` with the BLOCKS in their order."""
    out[:] = 0
    out[state["card"][player]] = 1
    if shown(state):
        out[3 + state["card"][1 - player]] = 1
    for k in range(count(state)):
        out[6 + 2 * k + state["said"][k]] = 1
    out[12] = player == 0


#: What each feature means.
BLOCKS = (
    Block("own card", (3,), "I hold the jack, queen, king", np.array([[[0, 1, 2]]])),
    Block("other card", (3,), "the other was shown to hold the jack, queen, king", np.array([[[0, 1, 2]]])),
    Block("said", (3, 2), "the first, second, third action was a pass, a bet"),
    Block("first", (1,), "I act first"),
)

# --- text ---

CARDS = ("jack", "queen", "king")
ACTION_NAMES = ("pass", "bet")


def format_state(state: Any, viewer: int | None = None) -> str:
    """Return one fact per line; a card is a question mark for who does not see it."""
    seen = [viewer in (None, player) or shown(state) for player in (0, 1)]
    cards = [CARDS[card] if here else "?" for card, here in zip(state["card"], seen, strict=True)]
    said = [ACTION_NAMES[each] for each in state["said"] if each != NONE]
    return f"cards: {' '.join(cards)}\nsaid: {' '.join(said)}"


def parse_state(text: str) -> np.ndarray:
    """Return the position of a text made by `format_state`: structured (1,)."""
    facts = dict(line.split(":", 1) for line in text.strip().splitlines() if ":" in line)
    if list(facts) != ["cards", "said"]:
        raise ValueError("a position needs the lines cards, said")
    cards, said = facts["cards"].split(), facts["said"].split()
    if len(set(cards)) != 2 or len(cards) != 2 or not set(cards) <= set(CARDS):
        raise ValueError(f"cards must be two different ones of {', '.join(CARDS)}, not {facts['cards'].strip()!r}")
    states = np.zeros(1, STATE)
    states["card"], states["said"] = [CARDS.index(card) for card in cards], NONE
    for action in said:
        if action not in ACTION_NAMES or states["done"][0]:
            raise ValueError(f"what was said must be a game of Kuhn poker, not {facts['said'].strip()!r}")
        step(states[0], np.full(2, ACTION_NAMES.index(action)))
        states["ply"] += 1
    return states


def draw(state: Any, viewer: int | None = None) -> str:
    """Return two cards, face down if the viewer does not see them, and a mark for each action: full for a bet."""
    cards, said = (line.split()[1:] for line in format_state(state, viewer).splitlines())
    hands = "".join(f'<text x="{12 + 32 * k}" y="28">{card[0].upper()}</text>' for k, card in enumerate(cards))
    marks = "".join(
        f'<circle cx="{16 + 16 * k}" cy="48" r="6" stroke="#333" fill="{"#333" if each == "bet" else "none"}"/>'
        for k, each in enumerate(said)
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64">{hands}{marks}</svg>'


# --- the game ---


def make() -> Game:
    """Return the game; it has no options."""
    return Game(
        id="kuhn_poker",
        title="Kuhn Poker",
        options={},
        factory=make,
        prototype=np.zeros(1, STATE),
        action_names=ACTION_NAMES,
        observation_layout=BLOCKS,
        simultaneous=False,
        chance="start",
        hidden_information=True,
        max_plies=3,
        teams=((0,), (1,)),
        players_differ="player 0 acts first",
        kernels=Kernels(reset, legal_mask, step, observe, resample),
        faces=Faces(
            format_state=format_state, read_state=parse_state, draw=draw, action_format="a name", rules_text=RULES
        ),
    )
