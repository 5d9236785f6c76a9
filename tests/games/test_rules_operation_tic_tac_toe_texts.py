"""Options and texts of Operation Tic-Tac-Toe: what is refused, and why."""

from functools import partial

import pytest

import ttt_envs

ID = "operation_tic_tac_toe"


load = partial(ttt_envs.load, ID)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"mode": "rounds"}, ValueError, "mode='rounds' must be one of 'match', 'round'"),
        ({"rounds_to_win": 0}, ValueError, "rounds_to_win=0 must be from 1 to 99"),
        ({"specialists": ("sniper", "mole")}, ValueError, "specialists=.*mode='round'"),
        ({"first_placer": 0}, ValueError, "first_placer=0 .*mode='round'"),
        ({"mode": "round", "first_placer": 2}, ValueError, "first_placer=2 must be from 0 to 1"),
        ({"mode": "round", "specialists": ("snipper", None)}, ValueError, "'snipper'; did you mean 'sniper'"),
        *(
            ({"mode": "round", "specialists": wrong}, ValueError, "must be None or a pair, player 0's and player 1's")
            for wrong in (5, ("sniper",))
        ),
        ({"mode": "round", "specialists": (None, ("mole", "ninja", "pusher"))}, ValueError, "two different names"),
        ({"mode": "round", "specialists": (("mole", "mole"), None)}, ValueError, "a player has only one mole"),
    ],
    ids=str,
)
def test_options_are_refused_in_words(options, error, words):
    with pytest.raises(error, match=words):
        load(**options)


@pytest.mark.parametrize(
    ("text", "hands"),
    [
        ("none,none", (None, None)),
        ("pusher, grappler", ("pusher", "grappler")),
        ("none,sniper+mole", (None, ("sniper", "mole"))),
    ],
)
def test_specialists_as_text(text, hands):
    """As command lines give them."""
    assert load(mode="round", specialists=text).options == load(mode="round", specialists=hands).options


GOOD = """X places, O predicts
A x            B .            C O:sniper
D .            E X:mole       F .
G .            H o            I .
X: unused ninja, assassin, courier, pusher, grappler, hacker
O: unused assassin, courier, mole, pusher, grappler, hacker
round 2, wins X 1 O 0 of 4, first X, idle 0 of 20, ply 12
last turn: O sniper to C, X predict B, then no ability
last round: line of X"""

#: What is changed in GOOD, old and new, and what is said of it.
REFUSED = {
    "nothing": (GOOD, "", "a position needs a line on what is decided"),
    "a room missing": ("F .", "", "3 lines of 3 rooms, A to I"),
    "an unknown mark": ("H o", "H z", "in room H stands .* not 'z'"),
    "an unknown specialist": ("X:mole", "X:mule", "unknown specialist 'mule'; did you mean 'mole'"),
    "a specialist in two rooms": ("G .", "G X:mole", "X has only one mole"),
    "another standing": ("X: unused", "X: resting", "not 'resting ninja"),
    "another player": ("X: unused", "Y: unused", "must begin with 'X: '"),
    "another target": ("of 4", "of 5", "counts must be like"),
    "another's last turn": ("O sniper to C", "X sniper to C", "the last turn must be like"),
    "an unknown end": ("line of X", "tired", "the last round was one of line of X"),
    "another line": ("last round: line of X", "and so on", "only 'last turn: ...' and 'last round: ...' may stand"),
}


def test_the_text_that_is_changed_above_is_good():
    assert load().format_state(load().parse_state(GOOD)[0], None).split() == GOOD.split()


@pytest.mark.parametrize(("old", "new", "words"), REFUSED.values(), ids=REFUSED)
def test_a_text_is_refused_in_words(old, new, words):
    assert GOOD.count(old) == 1
    with pytest.raises(ValueError, match=words):
        load().parse_state(GOOD.replace(old, new))
