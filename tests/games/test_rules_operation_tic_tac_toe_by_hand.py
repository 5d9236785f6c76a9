"""The rules of Operation Tic-Tac-Toe by hand: abilities, ends of a round and the match, as positions in text."""

import re
from functools import cache, partial
from itertools import combinations

import numpy as np
import pytest
from slow_operation_tic_tac_toe import LETTERS, SPECIALISTS, SPY

import ttt_envs
from ttt_envs.core.game import Game
from ttt_envs.testing.positions import after, difference, masks_of

ID = "operation_tic_tac_toe"

UNUSED, OFFERED, IN_HAND, USED = range(4)


load = partial(ttt_envs.load, ID)


@cache
def number(name: str) -> int:
    game = ttt_envs.load(ID)
    action = game.parse_action(name)
    assert game.action_names[action] == name
    return action


def named(states: np.ndarray, which: int) -> list[list[set[str]]]:
    found = states["standing"] == which
    return [[{name for name, has in zip(SPECIALISTS, row, strict=True) if has} for row in rows] for rows in found]


# --- positions as text ---


def text_of(says: str, board: str, x: str, o: str, facts: str) -> str:
    """The text of a position; the board's rows stand between slashes."""
    cells = [f"{letter} {cell}" for letter, cell in zip(LETTERS, board.replace("/", " ").split(), strict=True)]
    rows = [" ".join(cells[row : row + 3]) for row in (0, 3, 6)]
    return "\n".join([says, *rows, f"X: {x}", f"O: {o}", facts])


class Scene:
    """A state to play on from, with what is in it in words."""

    def __init__(self, game: Game, states: np.ndarray) -> None:
        self.game, self.states = game, states
        text = game.format_state(states[0], None)
        lines = text.splitlines()
        self.says = lines[0]
        self.board = " / ".join(" ".join(line.split()[1::2]) for line in lines[1:4])
        self.x, self.o = lines[4].removeprefix("X: "), lines[5].removeprefix("O: ")
        self.facts, self.more = lines[6], lines[7:]
        self.rewards = states["rewards"][0].tolist()
        masks = [masks_of(game, states, player)[0] for player in (0, 1)]
        self.legal = [{game.action_names[action] for action in np.flatnonzero(mask)} for mask in masks]
        # Whatever is looked at here can be read back from its text.
        again = game.parse_state(text)
        again["rng"] = states["rng"]
        assert again.tobytes() == states.tobytes(), difference(again, states)

    def play(self, x: str | None = None, o: str | None = None) -> "Scene":
        for legal, name in zip(self.legal, (x, o), strict=True):
            assert (name in legal) if name else not legal, f"{name} of {legal}: {self.says}, {self.board}"
        joint = np.array([[number(name) if name else -1 for name in (x, o)]])
        return Scene(self.game, after(self.game, self.states, joint))


def scene(says: str, board: str, x: str = "-", o: str = "-", **options) -> Scene:
    """A position of a single round whose players were given the specialists that are named in it."""
    facts = options.pop("facts", f"first X, idle 0 of {options.get('max_idle_turns', 20)}, ply 12")
    words = [
        re.findall(r"X:(\w+)", board) + re.findall(r"\w+", x),
        re.findall(r"O:(\w+)", board) + re.findall(r"\w+", o),
    ]
    given = [tuple(name for name in SPECIALISTS if name in part) for part in words]
    hands = tuple(hand if len(hand) == 2 else hand[0] if hand else None for hand in given)
    game = load(mode="round", specialists=hands, **options)
    return Scene(game, game.parse_state(text_of(says, board, x, o, facts)))


def swapped(player: int, board: str) -> str:
    """The board as it is, or with the players exchanged."""
    marks = {"x": "o", "o": "x", "X:": "O:", "O:": "X:"} if player else {}
    return " ".join(marks.get(cell[:2], cell[:2]) + cell[2:] for cell in board.split())


def placed_by(player: int, mine: str, others: str) -> dict[str, str]:
    """What the player plays and what the other one does, as arguments of `Scene.play`."""
    return {"xo"[player]: mine, "ox"[player]: others}


def elsewhere(room: str) -> str:
    return f"predict {'B' if room == 'A' else 'A'}"


#: (board, kinds, the rooms that X may place them into)
ENTRANCES = [
    (". . . / . . . / . . .", (SPY, *(set(SPECIALISTS) - {"assassin", "courier"})), "ABCDEFGHI"),
    (". . . / . . . / . . .", ("assassin", "courier"), ""),
    ("x o . / o x . / . x O:mole", (SPY, *(set(SPECIALISTS) - {"assassin", "courier"})), "CFG"),
    ("x o . / o x . / . x O:mole", ("assassin",), "BD"),
    ("O:mole x o / X:ninja o . / . . x", ("assassin",), "CE"),
    ("x o . / o x . / . x O:mole", ("courier",), "EH"),  # A has no empty room beside it, C is aslant of E
    ("x . o / x o . / . x X:mole", ("courier",), "ADH"),
    ("x o x / x o o / o x .", ("assassin",), "BEFG"),
    ("x o x / x o o / o x .", ("courier",), "H"),
    ("x o x / x o . / . x O:mole", ("courier",), "CDH"),
    ("x o x / x o o / o x X:mole", (SPY, "sniper", "courier"), ""),
]


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("board", "kinds", "rooms"), ENTRANCES)
def test_what_may_be_placed_where(board, kinds, rooms, player):
    for kind in kinds:
        # The assassin in the other's hand keeps a full board from being the end.
        hands = ["in hand assassin", "in hand assassin"]
        hands[player] = "-" if kind == SPY else f"in hand {kind}"
        found = scene(f"{'XO'[player]} places, {'OX'[player]} predicts", swapped(player, board), *hands)
        expected = {f"{kind} to {room}" for room in rooms}
        assert {name for name in found.legal[player] if name.startswith(f"{kind} to")} == expected
        assert found.legal[1 - player] == {f"predict {room}" for room in LETTERS}


#: specialist, room, the board before X places it, and for each use of its ability the board after; the use is None
#: where nothing is asked.
ABILITIES = [
    # In the row and the column, at any distance, over other pieces; not aslant, no friend, no specialist.
    ("sniper", "A", ". x o / O:mole . . / o . o", {
        "remove C": "X:sniper x . / O:mole . . / o . o",
        "remove G": "X:sniper x o / O:mole . . / . . o",
        "no ability": "X:sniper x o / O:mole . . / o . o",
    }),
    ("sniper", "E", "o o . / . . x / . O:ninja o", {
        "remove B": "o . . / . X:sniper x / . O:ninja o",
        "no ability": "o o . / . X:sniper x / . O:ninja o",
    }),
    ("sniper", "A", ". x . / x o . / . . o", {None: "X:sniper x . / x o . / . . o"}),
    # All around, aslant too; not further, and not round the edge.
    ("ninja", "E", "o x O:mole / o . . / . . o", {
        "remove A": ". x O:mole / o X:ninja . / . . o",
        "remove D": "o x O:mole / . X:ninja . / . . o",
        "remove I": "o x O:mole / o X:ninja . / . . .",
        "no ability": "o x O:mole / o X:ninja . / . . o",
    }),
    ("ninja", "C", "o o . / o . . / . o x", {
        "remove B": "o . X:ninja / o . . / . o x",
        "no ability": "o o X:ninja / o . . / . o x",
    }),
    ("ninja", "A", ". X:mole o / O:pusher x . / o . o", {None: "X:ninja X:mole o / O:pusher x . / o . o"}),
    ("assassin", "A", "o o . / X:mole . . / . . .", {None: "X:assassin o . / X:mole . . / . . ."}),
    # Must move the spy, even if there is one way only.
    ("courier", "E", "x o . / o x . / . x O:mole", {"move to F": "x o . / o X:courier x / . x O:mole"}),
    ("courier", "A", "x . . / . . . / . . o", {
        "move to B": "X:courier x . / . . . / . . o",
        "move to D": "X:courier . . / x . . / . . o",
    }),
    # Must swap if it can, spies only, both around the mole and not around each other.
    ("mole", "E", "x o . / . . X:ninja / O:pusher . o", {
        "swap A B": "o x . / . X:mole X:ninja / O:pusher . o",
        "swap A I": "o o . / . X:mole X:ninja / O:pusher . x",
    }),
    ("mole", "A", ". x . / o . . / . . o", {"swap B D": "X:mole o . / x . . / . . o"}),
    ("mole", "A", ". x o / . . . / o . o", {None: "X:mole x o / . . . / o . o"}),
    ("mole", "A", ". x . / O:ninja x . / o . o", {None: "X:mole x . / O:ninja x . / o . o"}),
    ("mole", "E", "o O:ninja . / X:pusher . . / . . o", {None: "o O:ninja . / X:pusher X:mole . / . . o"}),
    # The three examples, and what else there is to do in them.
    ("pusher", "D", ". . . / . o . / . . .", {
        "push east": ". . . / . X:pusher o / . . .",
        "push north": "X:pusher . . / . o . / . . .",
        "push south": ". . . / . o . / X:pusher . .",
        "no ability": ". . . / X:pusher o . / . . .",
    }),
    ("pusher", "E", ". . . / . . o / . . .", {
        "push east": ". . . / . . X:pusher / . . .",
        "push north": ". X:pusher . / . . o / . . .",
        "push south": ". . . / . . o / . X:pusher .",
        "push west": ". . . / X:pusher . o / . . .",
        "no ability": ". . . / . X:pusher o / . . .",
    }),
    ("pusher", "D", ". . . / . o O:mole / . . .", {
        "push north": "X:pusher . . / . o O:mole / . . .",
        "push south": ". . . / . o O:mole / X:pusher . .",
        "no ability": ". . . / X:pusher o O:mole / . . .",
    }),
    # Friends are pushed too, and off the board; beyond a gap nothing moves; no specialist is moved, friend or not.
    ("pusher", "A", ". x o / x . . / . . o", {
        "push east": ". X:pusher x / x . . / . . o",
        "push south": ". x o / X:pusher . . / x . o",
        "no ability": "X:pusher x o / x . . / . . o",
    }),
    ("pusher", "E", ". x . / X:mole . o / . o .", {
        "push north": ". X:pusher . / X:mole . o / . o .",
        "push east": ". x . / X:mole . X:pusher / . o .",
        "push south": ". x . / X:mole . o / . X:pusher .",
        "no ability": ". x . / X:mole X:pusher o / . o .",
    }),
    ("pusher", "G", "o . x / . . . / . . O:ninja", {
        "push north": "o . x / X:pusher . . / . . O:ninja",
        "push east": "o . x / . . . / . X:pusher O:ninja",
        "no ability": "o . x / . . . / X:pusher . O:ninja",
    }),
    ("pusher", "A", ". O:mole . / X:ninja . . / . . .", {None: "X:pusher O:mole . / X:ninja . . / . . ."}),
    # Beside, not aslant; spies of the enemy only.
    ("grappler", "E", "o o . / x . O:mole / . o .", {
        "grapple B": "o X:grappler . / x o O:mole / . o .",
        "grapple H": "o o . / x o O:mole / . X:grappler .",
        "no ability": "o o . / x X:grappler O:mole / . o .",
    }),
    ("grappler", "E", "o x . / X:ninja . . / . . o", {None: "o x . / X:ninja X:grappler . / . . o"}),
    ("hacker", "E", "o x . / . . . / . o .", {None: "o x . / . X:hacker . / . o ."}),
    (SPY, "E", "o x . / . . . / . o .", {None: "o x . / . x . / . o ."}),
]  # fmt: skip


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("kind", "room", "board", "uses"), ABILITIES)
def test_what_an_ability_does(kind, room, board, uses, player):
    """And that it is asked for if and only if there is something to do; the other one then does nothing."""
    me, other = "XO"[player], "OX"[player]
    hands = ["-", "-"]
    hands[player] = "-" if kind == SPY else f"in hand {kind}"
    before = scene(f"{me} places, {other} predicts", swapped(player, board), *hands)
    here = before.play(**placed_by(player, f"{kind} to {room}", elsewhere(room)))
    if None in uses:
        outcomes = {None: here}
    else:
        assert here.says == f"{me} decides on the ability in {room}"
        assert here.legal[player] == set(uses)
        outcomes = {use: here.play(**{"xo"[player]: use}) for use in uses}
    for use, board_after in uses.items():
        found = outcomes[use]
        assert found.board.split() == swapped(player, board_after).split(), use
        assert found.says == f"{other} places, {me} predicts"
        assert [found.x, found.o][player] == ("hacker on" if kind == "hacker" else "-")
        assert "idle 0 of 20" in found.facts


def test_a_blocked_specialist_is_used_up_and_a_blocked_spy_is_not():
    board = "o . . / . x . / . . ."
    here = scene("X places, O predicts", board, "in hand sniper", "in hand ninja")
    found = here.play("sniper to B", "predict B")
    assert (found.says, found.board, found.x, found.o) == ("O places, X predicts", board, "-", "in hand ninja")
    assert "idle 0 of 20" in found.facts  # its standing has changed
    found = here.play("spy to B", "predict B")
    assert (found.says, found.board, found.x) == ("O places, X predicts", board, "in hand sniper")
    assert "idle 1 of 20" in found.facts
    found = found.play("predict D", "ninja to D")
    assert (found.board, found.o, "idle 0 of" in found.facts) == (board, "-", True)
    assert not {name for name in found.play("spy to C", "predict A").legal[1] if "ninja" in name}


def test_a_hacker_predicts_two_rooms_until_he_blocks():
    pairs = {f"predict {a}+{b}" for a, b in combinations(LETTERS, 2)}
    singles = {f"predict {room}" for room in LETTERS}
    game = load(mode="round", specialists=("hacker", "sniper"), first_placer=0)
    here = Scene(game, game.new_state(seed=0)).play("hacker to A", "predict B")
    assert (here.says, here.x, here.legal[0]) == ("O places, X predicts", "hacker on", pairs)
    here = here.play("predict A+I", "spy to E")  # nobody there, and an occupied room named
    assert (here.x, here.legal[1]) == ("hacker on", singles)
    here = here.play("spy to I", "predict I")  # the other one's block does not matter
    assert (here.x, here.legal[0], "idle 1" in here.facts) == ("hacker on", pairs, True)
    for first, second in (("predict B+H", "spy to H"), ("predict F+H", "sniper to F"), ("predict D+F", "spy to F")):
        found = here.play(first, second)
        assert (found.board, found.x) == ("X:hacker . . / . o . / . . .", "-")
        assert "idle 0 of 20" in found.facts  # the hacker was on, and is not
        assert found.play("spy to I", "predict B").play("predict A", "spy to B").x == "-"
    blocked = scene("X places, O predicts", "o . . / . . . / . . .", "in hand hacker").play("hacker to B", "predict B")
    assert (blocked.x, blocked.legal[0]) == ("-", singles)


def test_both_hackers_are_on_by_themselves():
    here = scene("X places, O predicts", "o X:hacker . / O:hacker . . / . . .", *["hacker on"] * 2)
    found = here.play("spy to C", "predict C+D")
    assert (found.x, found.o) == ("hacker on", "-")
    found = found.play("predict C+E", "spy to E")
    assert (found.x, found.o, found.board) == ("-", "-", here.board)


# --- ends of a round ---

#: board, X's placement, use of the ability if there is one, how the round ended: None if it goes on
LINES_MADE = [
    ("x x . / o o . / . . .", "spy to C", None, "line of X"),
    ("x . . / . X:mole . / o o .", "spy to I", None, "line of X"),
    ("x . . / x . o / . o .", "hacker to G", None, "line of X"),
    ("x x o / . . . / o . .", "assassin to C", None, "line of X"),
    ("x . x / . x . / o . o", "courier to E", "move to B", "line of X"),
    ("x . x / . x . / o . o", "courier to E", "move to H", None),
    ("x o x / . o . / o . .", "spy to D", None, None),
    # A line that is there before the ability and not after it does not count.
    ("x x . / . o . / o . .", "pusher to C", "no ability", "line of X"),
    ("x x . / . o . / o . .", "pusher to C", "push south", None),
    ("x x . / . o o / . . .", "grappler to C", "grapple F", None),
    # One's own ability may make the other one's line.
    ("x o O:ninja / . . . / o . .", "mole to E", "swap A G", "line of O"),
    ("o . o / . o . / x . x", "grappler to B", "grapple E", "line of O"),
    ("o o . / . . o / . . .", "pusher to I", "push north", "line of O"),
    # Both at once.
    ("x o o / x . o / . . .", "mole to E", "swap A F", "both lines"),
    ("o o . / x x o / . . .", "pusher to I", "push north", "both lines"),
]


def check_end(here: Scene, ended: str | None, placer: int) -> None:
    """How a single round in which `placer` has just placed stands."""
    if ended is None:
        assert here.says == f"{'OX'[placer]} places, {'XO'[placer]} predicts"
        assert here.rewards == [0, 0]
        return
    winner = ended[-1] if ended.startswith("line of") else None
    assert here.says == f"over: {f'{winner} wins' if winner else 'draw'}, {'XO'[placer]} placed last"
    assert here.more[-1] == f"last round: {ended}"
    assert here.rewards == {"X": [1, -1], "O": [-1, 1], None: [0, 0]}[winner]
    assert here.legal == [set(), set()]


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("board", "placement", "use", "ended"), LINES_MADE)
def test_lines_count_after_the_ability_whoever_made_them(board, placement, use, ended, player):
    me, other, (kind, _, room) = "XO"[player], "OX"[player], placement.split()
    hands = ["-", "-"]
    hands[player] = "-" if kind == SPY else f"in hand {kind}"
    before = scene(f"{me} places, {other} predicts", swapped(player, board), *hands)
    found = before.play(**placed_by(player, placement, elsewhere(room)))
    if use:
        found = found.play(**{"xo"[player]: use})
    swap = {"line of X": "line of O", "line of O": "line of X"} if player else {}
    check_end(found, swap.get(ended, ended), player)
    check_end(before.play(**placed_by(player, placement, f"predict {room}")), None, player)


TWO_LEFT, ONE_LEFT, FULL = "x o x / x o o / o . .", "x o x / x o o / o x .", "x o x / x o o / o x x"


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(
    ("board", "mine", "others", "goes_on"),
    [
        (TWO_LEFT, "-", "-", False),
        (TWO_LEFT, "in hand sniper", "in hand hacker, mole", False),  # neither can enter an occupied room
        (TWO_LEFT, "in hand assassin", "-", True),
        (TWO_LEFT, "-", "in hand assassin", True),
        (TWO_LEFT, "in hand courier", "-", True),  # into H, just taken
        (TWO_LEFT, "-", "in hand courier", True),  # into F
        ("x . x / x O:mole o / o . x", "-", "in hand courier", False),  # no friendly spy beside B
        ("x . x / x O:mole o / o . x", "in hand courier", "-", True),
        ("x . . / x O:mole o / o . x", "-", "-", True),  # two rooms left
    ],
)
def test_one_room_left_is_a_draw_unless_an_occupied_one_can_be_entered(board, mine, others, goes_on, player):
    hands = [mine, others][:: 1 - 2 * player]
    says = f"{'XO'[player]} places, {'OX'[player]} predicts"
    before = scene(says, swapped(player, board), *hands)
    check_end(before.play(**placed_by(player, "spy to H", "predict A")), None if goes_on else "no room", player)
    check_end(before.play(**placed_by(player, "spy to H", "predict H")), None, player)


def test_the_last_one_who_could_enter_an_occupied_room():
    """Blocked, or placed: then nobody can. And who has nothing to place must pass."""
    here = scene("O places, X predicts", ONE_LEFT, "-", "in hand assassin")
    check_end(here.play("predict A", "assassin to A"), "no room", 1)
    check_end(here.play("predict B", "assassin to A"), "no room", 1)
    check_end(here.play("predict B", "assassin to C"), "line of O", 1)
    full = scene("X places, O predicts", FULL, "-", "in hand assassin")
    assert full.legal == [{"pass"}, {f"predict {room}" for room in LETTERS}]
    found = full.play("pass", "predict A")
    assert (found.says, found.board, "idle 1 of 20" in found.facts) == ("O places, X predicts", FULL, True)
    assert found.legal[1] == {f"assassin to {room}" for room in "ACDHI"}
    check_end(found.play("predict I", "assassin to I"), "no room", 1)
    offered = scene("X places, O predicts", FULL, "-", "in hand assassin", draw_offers=True)
    assert offered.legal[0] == {"pass", "offer draw"}


def test_so_many_turns_without_a_change_are_a_draw():
    board, facts = "X:hacker . . / . x . / . o .", "first X, idle 2 of 3, ply 30"
    last_but_one = partial(scene, board=board, facts=facts, max_idle_turns=3)
    here = last_but_one("X places, O predicts", x="in hand mole; hacker on")
    check_end(here.play("spy to B", "predict B"), "idle", 0)  # a hacker of the Placer's is no matter
    for move in ("spy to B", "mole to B", "mole to C"):  # placed, placed, blocked and used up
        found = here.play(move, "predict C")
        check_end(found, None, 0)
        assert "idle 0 of 3" in found.facts
    off = last_but_one("O places, X predicts", x="hacker on").play("predict A+B", "spy to B")
    check_end(off, None, 1)
    assert "idle 0 of 3" in off.facts
    game = load(mode="round", max_idle_turns=3)
    found = Scene(game, game.new_state(seed=0))
    for count in range(3):
        assert f"idle {count} of 3" in found.facts
        placer = "XO".index(found.says[0])
        found = found.play(**placed_by(placer, "spy to E", "predict E"))
    check_end(found, "idle", placer)


def test_passes_place_and_predict_nothing():
    here = scene("X places, O predicts", "o O:hacker . / . . . / . . .", "in hand sniper", "hacker on", allow_pass=True)
    assert "pass" in here.legal[0] & here.legal[1]
    assert "offer draw" not in here.legal[0] | here.legal[1]
    for prediction in ("pass", "predict A+C"):
        found = here.play("pass", prediction)
        assert (found.board, found.x, found.o) == (here.board, "in hand sniper", "hacker on")
        assert "idle 1 of 20" in found.facts
    found = here.play("spy to C", "pass")
    assert (found.board, "idle 0 of 20" in found.facts) == ("o O:hacker x / . . . / . . .", True)
    plain = scene("X places, O predicts", "o O:hacker . / . . . / . . .", "in hand sniper", "hacker on")
    assert not {"pass", "offer draw"} & (plain.legal[0] | plain.legal[1])


def test_two_offers_are_a_draw_and_one_is_a_pass():
    options = {"draw_offers": True, "max_idle_turns": 2, "facts": "first X, idle 1 of 2, ply 9"}
    here = scene("O places, X predicts", "o X:hacker . / . . . / . . .", "hacker on", **options)
    assert "offer draw" in here.legal[0] & here.legal[1]
    assert "pass" not in here.legal[0] | here.legal[1]
    check_end(here.play("offer draw", "offer draw"), "agreed", 1)
    check_end(here.play("predict A+C", "offer draw"), "idle", 1)
    found = here.play("offer draw", "spy to C")
    assert (found.says, found.board, found.x) == ("X places, O predicts", "o X:hacker o / . . . / . . .", "hacker on")
    assert "idle 0 of 2" in found.facts
    assert found.more == ["last turn: O spy to C, X offer draw"]


# --- the match ---


def play_round(here: Scene, winner: int | None, role: str = "place first", picks: tuple[str, ...] = ()) -> Scene:
    """A round of a match with max_idle_turns=2, from its first decision to the next round's, or to the end.

    The winner puts spies into A, B and C, all others are blocked; the specialists are not placed.
    """
    decider = 0 if here.legal[0] else 1
    here = here.play(**{"xo"[decider]: role})
    here = here.play(*(picks or [min(legal) for legal in here.legal]))
    assert here.says[0] == "XO"[decider if role == "place first" else 1 - decider]
    rooms = iter("ABC")
    while " predicts" in here.says:
        placer = "XO".index(here.says[0])
        room = next(rooms) if placer == winner else "I"
        here = here.play(**placed_by(placer, f"spy to {room}", "predict I"))
    return here


@pytest.mark.parametrize("role", ["place first", "predict first"])
@pytest.mark.parametrize("winner", [0, 1, None])
def test_who_decides_who_places_first(role, winner):
    """At first X; then the loser, or after a drawn round who did not place first in it."""
    game = load(max_idle_turns=2)
    here = Scene(game, game.new_state(seed=1))
    assert here.says == "X decides who places first"
    assert here.legal == [{"place first", "predict first"}, set()]
    for _ in range(2):
        first = ("XO".index(here.says[0]) + (role == "predict first")) % 2
        here = play_round(here, winner, role)
        assert here.says == f"{'XO'[1 - first if winner is None else 1 - winner]} decides who places first"
        assert here.board == ". . . / . . . / . . ."
        assert here.more[-1] == "last round: " + ("idle" if winner is None else f"line of {'XO'[winner]}")
    wins = [2 * (winner == player) for player in (0, 1)]
    assert here.facts.startswith(f"round 3, wins X {wins[0]} O {wins[1]} of 4, first nobody, idle 0 of 2")


def test_specialists_are_used_up_and_return():
    """Three or what is left are offered for 8 rounds; the one picked does not come back, even if not placed."""
    game = load(max_idle_turns=2)
    here, left = Scene(game, game.new_state(seed=2)), [set(SPECIALISTS), set(SPECIALISTS)]
    for round_number in range(1, 9):
        assert named(here.states, UNUSED)[0] == left
        decider = 0 if here.legal[0] else 1
        here = here.play(**{"xo"[decider]: "place first"})
        assert here.says == "both choose a specialist"
        offers = named(here.states, OFFERED)[0]
        assert [len(offer) for offer in offers] == [min(3, 9 - round_number)] * 2
        assert here.legal == [{f"choose {name}" for name in offer} for offer in offers]
        picks = [max(offer) if round_number % 2 else min(offer) for offer in offers]
        here = here.play(*[f"choose {name}" for name in picks])
        assert named(here.states, IN_HAND)[0] == [{name} for name in picks]
        for player in (0, 1):
            assert picks[player] in left[player]
            left[player].remove(picks[player])
            assert here.legal["XO".index(here.says[0])] >= {f"spy to {room}" for room in LETTERS}
        assert named(here.states, UNUSED)[0] == left
        for _ in range(2):
            here = here.play(**placed_by("XO".index(here.says[0]), "spy to E", "predict E"))
    pairs = {f"choose {a} and {b}" for a, b in combinations(SPECIALISTS, 2)}
    for _ in range(3):
        assert named(here.states, UNUSED)[0] == [set(SPECIALISTS)] * 2
        decider = 0 if here.legal[0] else 1
        offered = here.play(**{"xo"[decider]: "place first"})
        assert (offered.says, offered.legal) == ("both choose two specialists", [pairs, pairs])
        here = play_round(here, None, picks=("choose sniper and mole", "choose mole and hacker"))


def test_both_specialists_of_overtime_can_be_placed_and_only_these():
    game = load(max_idle_turns=2, rounds_to_win=99, max_rounds=99)
    here = Scene(game, game.new_state(seed=3))
    for _ in range(8):
        here = play_round(here, None)
    here = here.play(x="place first") if here.legal[0] else here.play(o="predict first")
    here = here.play("choose sniper and mole", "choose ninja and hacker")
    assert {name.split()[0] for name in here.legal[0]} == {SPY, "sniper", "mole"}
    here = here.play("mole to E", "predict A").play("predict B", "hacker to A")
    assert {name.split()[0] for name in here.legal[0]} == {SPY, "sniper"}
    here = here.play("sniper to D", "predict B+C").play("predict I", "ninja to F")
    assert {name.split()[0] for name in here.legal[0]} == {SPY}
    assert (here.board, here.o.startswith("unused"), "hacker on" in here.o) == (
        "O:hacker . . / X:sniper X:mole O:ninja / . . .",
        True,
        True,
    )
    here = here.play("spy to C", "predict G+H").play("predict A", "spy to B").play("spy to G", "predict H+I")
    assert (here.more[-1], here.says) == ("last round: line of X", "O decides who places first")
    assert "hacker on" not in here.o  # all is cleared


@pytest.mark.parametrize(
    ("options", "winners", "says", "wins"),
    [
        ({"rounds_to_win": 1}, [1], "O wins", (0, 1)),
        ({"rounds_to_win": 2}, [0, 1, None, None, 0], "X wins", (2, 1)),
        ({}, [0, 1, 1, None, 0, 1, 1], "O wins", (2, 4)),
        ({"max_rounds": 3}, [None, 0, None], "X wins", (1, 0)),
        ({"max_rounds": 3}, [1, 0, 1], "O wins", (1, 2)),
        ({"max_rounds": 2}, [1, 0], "draw", (1, 1)),
        ({"max_rounds": 1}, [None], "draw", (0, 0)),
        ({"max_rounds": 2, "rounds_to_win": 2}, [0, 0], "X wins", (2, 0)),
        ({}, [None] * 40, "draw", (0, 0)),
        ({}, [None] * 39 + [1], "O wins", (0, 1)),
    ],
)
def test_how_a_match_ends(options, winners, says, wins):
    """Drawn rounds score for nobody; after the last round more wins take the match."""
    game = load(max_idle_turns=2, **options)
    here = Scene(game, game.new_state(seed=4))
    for winner in winners:
        assert " decides who places first" in here.says
        assert here.rewards == [0, 0]
        here = play_round(here, winner)
    assert here.says.startswith(f"over: {says}, ")
    assert f"round {len(winners)}, wins X {wins[0]} O {wins[1]} of" in here.facts
    assert here.rewards == {"X wins": [1, -1], "O wins": [-1, 1], "draw": [0, 0]}[says]
    assert here.legal == [set(), set()]
