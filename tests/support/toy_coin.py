"""A toy game for the tests: who bluffs about a hidden coin. Written as a game's folder would be, in one file.

Player 0, the teller, sees a coin; the others guess. It has what core and wrappers must not assume away:
hidden information, choices at once by all or by some, a turn of one player out of order, chance in mid-game,
two players or three.

- CLAIM: all at once, the teller says what the coin shows (truly or not), each guesser guesses.
- ANSWER: the guessers who disagree with the claim, at once, stay or switch. Left out if there are none.
- TOSS: the teller alone keeps the coin, or tosses it again if he may; after a toss it all begins anew.

When the coin is kept, the guessers who are right win, or the teller if nobody is.
"""

from functools import partial
from typing import Any

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.game import Extras, Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.observation_layout import Block
from ttt_envs.core.options import whole
from ttt_envs.core.presentation import Faces
from ttt_envs.core.state import SIMULTANEOUS, between, state_dtype
from ttt_envs.core.symmetry import Symmetry

HEADS, TAILS, STAY, SWITCH, KEEP, TOSS_AGAIN = range(6)
NONE = -1
CLAIM, ANSWER, TOSS = range(3)

STATE = {
    players: state_dtype(
        players=players,
        fields=[
            ("coin", np.int8, between(HEADS, TAILS)),  # HEADS or TAILS; the teller's secret until the end
            # The teller's claim and the others' guesses: HEADS, TAILS or NONE.
            ("said", np.int8, (players,), between(NONE, TAILS)),
            ("phase", np.int8, between(CLAIM, TOSS)),
            ("tosses", np.int8, between(0, 5)),  # option of that name: how often the teller may still toss again
        ],
    )
    for players in (2, 3)
}

# --- rules ---


@kernel
def reset(state, seed):
    """A tossed coin."""
    rng.start(state, seed)
    state["coin"] = rng.below(state, 2)
    begin(state)


@kernel
def begin(state):
    """All speak at once."""
    state["said"][:] = NONE
    state["phase"] = CLAIM
    state["to_move"] = SIMULTANEOUS


@kernel
def legal_mask(state, player, out):
    """Which of the six actions the phase allows this player."""
    out[:] = False
    if state["phase"] == CLAIM:
        out[HEADS] = True
        out[TAILS] = True
    elif state["phase"] == ANSWER:
        if disagrees(state, player):
            out[STAY] = True
            out[SWITCH] = True
    elif player == 0:
        out[KEEP] = True
        out[TOSS_AGAIN] = state["tosses"] > 0


@kernel
def disagrees(state, player):
    """Whether this player guessed otherwise than the teller claims."""
    return player > 0 and state["said"][player] != state["said"][0]


@kernel
def step(state, actions):
    """From phase to phase; a phase without a choice is left out."""
    players = state["said"].shape[0]
    if state["phase"] == CLAIM:
        for player in range(players):
            state["said"][player] = actions[player]
        state["phase"] = TOSS
        state["to_move"] = 0
        for player in range(players):
            if disagrees(state, player):
                state["phase"] = ANSWER
                state["to_move"] = SIMULTANEOUS
    elif state["phase"] == ANSWER:
        for player in range(players):
            if disagrees(state, player) and actions[player] == SWITCH:
                state["said"][player] = state["said"][0]
        state["phase"] = TOSS
        state["to_move"] = 0
    elif actions[0] == TOSS_AGAIN:
        # Whether the coin turns over is drawn, not its side, so that heads and tails are alike in all.
        state["coin"] = (state["coin"] + rng.below(state, 2)) % 2
        state["tosses"] -= 1
        begin(state)
    else:
        settle(state)


@kernel
def settle(state):
    """The winners share +1, the others -1."""
    players = state["said"].shape[0]
    right = 0
    for player in range(1, players):
        right += state["said"][player] == state["coin"]
    for player in range(players):
        wins = player > 0 and state["said"][player] == state["coin"]
        if right == 0:
            wins = player == 0
        winners = max(right, 1)
        state["rewards"][player] = 1.0 / winners if wins else -1.0 / (players - winners)
    state["done"] = True


@kernel
def resample(state, player, seed):
    """Guessers do not know the coin before the end; nobody knows the tosses to come."""
    rng.start(state, seed)
    if player != 0 and not state["done"]:
        state["coin"] = rng.below(state, 2)


# --- encoding ---


@kernel
def observe(state, player, out):
    """Fill `out` with the BLOCKS in their order."""
    players = state["said"].shape[0]
    out[:] = 0
    if player == 0 or state["done"]:
        out[state["coin"]] = 1
    at = 2
    for k in range(players):
        # Oneself first, then the others in turn order.
        said = state["said"][(player + k) % players]
        if said != NONE:
            out[at + 2 * k + said] = 1
    at += 2 * players
    if state["phase"] != CLAIM:
        out[at + state["phase"] - 1] = 1
    out[at + 2] = player == 0
    out[at + 3] = player == players - 1


def blocks(players: int) -> tuple[Block, ...]:
    """What each feature means."""
    square = np.array([[[0, -1], [-1, 1]]])
    return (
        Block("coin", (2,), "the coin shows heads, tails; both 0 for a guesser", square),
        Block("said", (players, 2), "heads, tails said by me and then by the others in turn order"),
        Block("phase", (2,), "some may answer; the teller may toss again"),
        Block("teller", (1,), "I am the teller"),
        Block("last", (1,), "I am the last player"),
    )


# --- text ---

SIDES = ("heads", "tails")
ACTION_NAMES = (*SIDES, "stay", "switch", "keep", "toss again")
PHASES = ("claim", "answer", "toss", "over")


def format_state(state: Any, viewer: int | None = None) -> str:
    """One fact a line; the coin is a question mark for who does not see it."""
    seen = viewer in (None, 0) or state["done"]
    said = ["-" if each == NONE else SIDES[each] for each in state["said"]]
    return "\n".join(
        [
            f"phase: {PHASES[3] if state['done'] else PHASES[state['phase']]}",
            f"coin: {SIDES[state['coin']] if seen else '?'}",
            f"claim: {said[0]}",
            f"guesses: {' '.join(said[1:])}",
            f"tosses: {state['tosses']}",
            f"ply: {state['ply']}",
        ]
    )


def parse_state(text: str, prototype: np.ndarray) -> np.ndarray:
    """The position of a text made by `format_state`: structured (1,)."""
    facts = dict(line.split(": ", 1) for line in text.strip().splitlines() if ": " in line)
    if list(facts) != ["phase", "coin", "claim", "guesses", "tosses", "ply"]:
        raise ValueError("a position needs the lines phase, coin, claim, guesses, tosses, ply")
    if facts["phase"] not in PHASES:
        raise ValueError(f"the phase must be one of {', '.join(PHASES)}, not {facts['phase']!r}")
    if facts["coin"] not in SIDES:
        raise ValueError(f"the coin must be heads or tails, not {facts['coin']!r}")
    states = prototype.copy()
    state = states[0]
    state["coin"] = SIDES.index(facts["coin"])
    said = [facts["claim"], *facts["guesses"].split()]
    state["said"] = [NONE if each == "-" else SIDES.index(each) for each in said]
    state["tosses"] = int(facts["tosses"])
    state["ply"] = int(facts["ply"])
    phase = PHASES.index(facts["phase"])
    state["phase"] = min(phase, TOSS)
    state["to_move"] = 0 if state["phase"] == TOSS else SIMULTANEOUS
    if phase == 3:
        settle(state)
    return states


def draw(state: Any, viewer: int | None = None) -> str:
    """A coin: dark for heads, light for tails, grey for unknown; a mark for each thing said."""
    seen = viewer in (None, 0) or state["done"]
    colour = ("#333", "#eee")[state["coin"]] if seen else "#999"
    marks = "".join(
        f'<rect x="{4 + 12 * k}" y="48" width="10" height="10" fill="{("#333", "#eee", "none")[said]}"/>'
        for k, said in enumerate(state["said"])
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64">'
        f'<circle cx="32" cy="24" r="16" fill="{colour}"/>{marks}</svg>'
    )


def rules_text(players: int, tosses: int) -> str:
    """The rules with these options, for a player."""
    guessers = "player 1 guesses" if players == 2 else "players 1 and 2 guess"
    again = f" or toss it again, at most {tosses} times in a game; then all of this begins anew" if tosses else ""
    return "\n\n".join(
        (
            f"Player 0, the teller, sees a coin, and {guessers} what it shows. All speak at once: the teller claims "
            "heads or tails, truly or not, and each guesser says heads or tails.",
            "A guesser who disagrees with the claim may then stay or switch to what was claimed. In the end the teller "
            f"alone decides to keep the coin{again}.",
            "When the coin is kept, the guessers who are right share +1 and all others share -1. If nobody is right, "
            "the teller gets +1 and the guessers share -1.",
        )
    )


# --- the game ---


def make(*, players: int = 2, tosses: int = 1) -> Game:
    """The game with these options."""
    options = {"players": whole("players", players, 2, 3), "tosses": whole("tosses", tosses, 0, 5)}
    prototype = np.zeros(1, STATE[players])
    prototype["tosses"] = tosses
    return Game(
        id="toy_coin",
        title="Hidden Coin",
        options=options,
        factory=make,
        prototype=prototype,
        action_names=ACTION_NAMES,
        observation_layout=blocks(players),
        simultaneous=True,
        chance="play",
        hidden_information=True,
        max_plies=3 * (tosses + 1),
        teams=tuple((player,) for player in range(players)),
        players_differ="player 0 tells, the others guess",
        kernels=Kernels(reset, legal_mask, step, observe, resample),
        faces=Faces(
            format_state=format_state,
            read_state=partial(parse_state, prototype=prototype),
            draw=draw,
            action_format="a name",
            rules_text=rules_text(players, tosses),
        ),
        extras=Extras(
            symmetries=partial(_symmetries, players),
        ),
    )


def _symmetries(players: int) -> tuple[Symmetry, ...]:
    """Heads and tails change places."""
    actions = np.array([TAILS, HEADS, STAY, SWITCH, KEEP, TOSS_AGAIN])
    sided = 2 + 2 * players
    features = np.concatenate([np.arange(sided).reshape(-1, 2)[:, ::-1].ravel(), np.arange(sided, sided + 4)])
    return (Symmetry("turn over", actions, features, _turned_over),)


def _turned_over(states: np.ndarray) -> np.ndarray:
    new = states.copy()
    new["coin"] = 1 - states["coin"]
    new["said"] = np.where(states["said"] == NONE, NONE, 1 - states["said"])
    return new
