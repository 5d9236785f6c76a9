"""Leduc poker, a game outside the package, in one file: `examples.leduc_poker:make` stands where an id is taken.

Southey and others, "Bayes' bluff: opponent modelling in poker", UAI 2005. Six cards: jack, queen and king of two suits.
Each of two players antes 1 and is dealt a card. In a round of bets player 0 begins; a player raises, calls or, if the
other has put in more, folds. To call without such a debt is to check. Each round has two raises at most, of 2 in the
first round and of 4 in the second. Before the second round a card is laid open for both. At the end the player who
pairs it wins, or else the higher rank; equal ranks share the pot.

A player wins and loses at most 13, so that rewards are thirteenths of what is won, and an exploitability here is 1/13
of that in antes. Under optimal play player 0 may expect -0.0856 antes.

    ttt solve examples.leduc_poker:make --target 1e-5 --out runs/leduc
"""

from typing import Any

import numpy as np

from ttt_envs.dev import Block, Faces, Game, Kernels, between, kernel, refuse, rng, state_dtype

FOLD, CALL, RAISE = range(3)
NONE = -1
CARDS = 6  # card // 2 is its rank: jack, queen, king
MOST = 13  # what a player puts in at most: 1, and two raises of 2 and of 4

STATE = state_dtype(
    players=2,
    fields=[
        ("card", np.int8, (2,), between(0, CARDS - 1)),  # of each player
        ("board", np.int8, between(NONE, CARDS - 1)),  # the open card; NONE in the first round
        ("said", np.int8, (2, 4), between(NONE, RAISE)),  # the actions of each round; NONE for those to come
        ("paid", np.int8, (2,), between(1, MOST)),  # what each player has put in
    ],
)

# --- rules ---


@kernel
def reset(state, seed):
    """A card for each player."""
    rng.start(state, seed)
    state["board"], state["said"][:], state["paid"][:] = NONE, NONE, 1
    state["card"][:] = NONE
    for player in range(2):
        state["card"][player] = draw_card(state)


@kernel
def draw_card(state):
    """Return one of the cards that lie nowhere."""
    left = np.ones(CARDS, np.bool_)
    for card in (state["card"][0], state["card"][1], state["board"]):
        if card != NONE:
            left[card] = False
    return rng.pick(state, left)


@kernel
def round_of(state):
    """Return the row of `said` that is being filled."""
    return np.int64(state["board"] != NONE)


@kernel
def count(state, row, action):
    """Return how many actions of this kind a round had; of any kind for NONE."""
    found = 0
    for said in state["said"][row]:
        found += said != NONE and (action == NONE or said == action)
    return found


@kernel
def legal_mask(state, player, out):
    """Fold only a debt; raise twice a round at most."""
    acts, row = player == state["to_move"], round_of(state)
    out[FOLD] = acts and state["paid"][player] < state["paid"][1 - player]
    out[CALL] = acts
    out[RAISE] = acts and count(state, row, RAISE) < 2


@kernel
def step(state, actions):
    """A fold ends the game; a call that is not a round's first action ends the round."""
    player, row = np.int64(state["to_move"]), round_of(state)
    action, other, legal = actions[player], 1 - player, np.zeros(3, np.bool_)
    legal_mask(state, player, legal)
    before = count(state, row, NONE)
    if before == 4 or action < FOLD or action > RAISE or not legal[action]:
        refuse(state)
        return
    state["said"][row, before] = action
    state["to_move"] = other
    if action == FOLD:
        pay(state, other, state["paid"][player])
        return
    state["paid"][player] = min(state["paid"][other] + (2 + 2 * row) * (action == RAISE), MOST)
    if action == CALL and before > 0:
        if row == 0:
            state["board"], state["to_move"] = draw_card(state), 0
        else:
            mine, theirs = strength(state, player), strength(state, other)
            pay(state, player if mine > theirs else other, state["paid"][player] * (mine != theirs))


@kernel
def strength(state, player):
    """Return the rank of a player's card, above all others if the open card has the same."""
    rank = state["card"][player] // 2
    return rank + 3 * (rank == state["board"] // 2)


@kernel
def pay(state, winner, chips):
    """End the game: the winner gets these chips of the other."""
    state["rewards"][winner] = chips / MOST
    state["rewards"][1 - winner] = -chips / MOST
    state["done"] = True


@kernel
def shown(state):
    """Return whether there was a showdown."""
    return state["done"] and count(state, 0, FOLD) + count(state, 1, FOLD) == 0


@kernel
def resample(state, player, seed):
    """The other's card, unless it was shown, and the generator, which draws the open card."""
    rng.start(state, seed)
    if not shown(state):
        state["card"][1 - player] = NONE
        state["card"][1 - player] = draw_card(state)


RULES = "\n\n".join(
    (
        "There are six cards: jack, queen and king of spades and of hearts. Each of two players puts in 1 and is dealt "
        "a card, which the other does not see. Two rounds of bets follow, and player 0 begins each.",
        "A player calls, which is to put in as much as the other has; raises, which is to put in 2 more than that, or "
        "4 more in the second round; or folds, if the other has put in more, and so loses what they have put in. A "
        "round has two raises at most, and ends with a call that is not its first action.",
        "Between the rounds a card is laid open for both. After the second round the player whose card has its rank "
        "wins, or else the higher rank; equal ranks win nothing. The reward is what is won, divided by 13.",
    )
)

# --- encoding ---


@kernel
def observe(state, player, out):
    """Fill `out` with the BLOCKS in their order."""
    out[:] = 0
    out[state["card"][player]] = 1
    if state["board"] != NONE:
        out[CARDS + state["board"]] = 1
    if shown(state):
        out[2 * CARDS + state["card"][1 - player]] = 1
    for row in range(2):
        for k in range(4):
            if state["said"][row, k] != NONE:
                out[3 * CARDS + 12 * row + 3 * k + state["said"][row, k]] = 1
    out[3 * CARDS + 24] = player == 0


#: What each feature means; cards are counted from the jack of spades to the king of hearts.
BLOCKS = (
    Block("own card", (CARDS,), "I hold this card", np.arange(CARDS).reshape(1, 1, CARDS)),
    Block("open card", (CARDS,), "this card lies open", np.arange(CARDS).reshape(1, 1, CARDS)),
    Block("other card", (CARDS,), "the other was shown to hold this card", np.arange(CARDS).reshape(1, 1, CARDS)),
    Block("said", (2, 4, 3), "in [round, turn] there was a fold, a call, a raise"),
    Block("first", (1,), "I act first"),
)

# --- text ---

NAMES = ("Js", "Jh", "Qs", "Qh", "Ks", "Kh")
ACTION_NAMES = ("fold", "call", "raise")


def format_state(state: Any, viewer: int | None = None) -> str:
    """Return one fact per line; a card is a question mark for who does not see it, a dash before it is dealt."""
    seen = [viewer in (None, player) or shown(state) for player in (0, 1)]
    cards = [NAMES[card] if here else "?" for card, here in zip(state["card"], seen, strict=True)]
    said = [" ".join(ACTION_NAMES[each] for each in row if each != NONE) for row in state["said"]]
    board = "-" if state["board"] == NONE else NAMES[state["board"]]
    return f"cards: {' '.join(cards)}\nopen: {board}\nfirst: {said[0]}\nsecond: {said[1]}"


def parse_state(text: str) -> np.ndarray:
    """Return the position of a text made by `format_state`: structured (1,)."""
    facts = {name: words.split() for name, _, words in (line.partition(":") for line in text.strip().splitlines())}
    if list(facts) != ["cards", "open", "first", "second"] or [len(facts["cards"]), len(facts["open"])] != [2, 1]:
        raise ValueError("a position needs the lines cards, open, first, second, with two cards and one")
    dealt = [card for card in facts["cards"] + facts["open"] if card != "-"]
    if not set(dealt) <= set(NAMES) or len(set(dealt)) < len(dealt) or "-" in facts["cards"]:
        raise ValueError(f"cards must be different ones of {', '.join(NAMES)}")
    states = np.zeros(1, STATE)
    state = states[0]
    reset(state, 0)
    state["card"] = [NAMES.index(card) for card in facts["cards"]]
    for name in ("first", "second"):
        for action in facts[name]:
            ply = int((state["said"] != NONE).sum())
            if action in ACTION_NAMES and not state["done"] and (name == "second") == (state["board"] != NONE):
                step(state, np.full(2, ACTION_NAMES.index(action)))
            if (state["said"] != NONE).sum() == ply:
                raise ValueError(f"{name} must be a round of Leduc poker, not {' '.join(facts[name])!r}")
            state["ply"] += 1
        if (state["board"] != NONE) != (facts["open"] != ["-"]):
            raise ValueError("a card lies open from the second round on")
        if name == "first" and state["board"] != NONE:
            state["board"] = NAMES.index(facts["open"][0])
    state["rng"] = 0
    return states


def draw(state: Any, viewer: int | None = None) -> str:
    """Return the two hands and the open card between them, as text."""
    words = format_state(state, viewer).replace("\n", " ").split()
    cards = "".join(f'<text x="{12 + 40 * k}" y="28">{words[at]}</text>' for k, at in enumerate((1, 4, 2)))
    paid = "".join(f'<text x="{12 + 80 * k}" y="54">{chips}</text>' for k, chips in enumerate(state["paid"]))
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="130" height="64">{cards}{paid}</svg>'


# --- the game ---


def make() -> Game:
    """Return the game; it has no options."""
    prototype = np.zeros(1, STATE)
    prototype["paid"] = 1
    return Game(
        id="leduc_poker",
        title="Leduc Poker",
        options={},
        factory=make,
        prototype=prototype,
        action_names=ACTION_NAMES,
        observation_layout=BLOCKS,
        simultaneous=False,
        chance="play",
        hidden_information=True,
        max_plies=8,
        teams=((0,), (1,)),
        players_differ="player 0 acts first",
        kernels=Kernels(reset, legal_mask, step, observe, resample),
        faces=Faces(
            format_state=format_state, read_state=parse_state, draw=draw, action_format="a name", rules_text=RULES
        ),
    )
