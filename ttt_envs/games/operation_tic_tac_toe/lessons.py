"""Positions that show the rules of Operation Tic-Tac-Toe, for the page of `ttt serve` and the documentation."""

from ttt_envs.core.presentation import Lesson

#: See `Faces.lessons`.
LESSONS = (
    Lesson(
        said="X is the Placer. All pictures below begin here, each with another specialist in X's hand.",
        options={"mode": "round", "specialists": "sniper,none"},
        position="""
X places, O predicts
A x   B .   C o
D o   E .   F .
G .   H x   I o
X: in hand sniper
O: -
first X, idle 0 of 20, ply 6
""",
    ),
    Lesson(
        said="The Predictor named E, and the spy is placed in B. The roles swap.",
        options={"mode": "round", "specialists": "sniper,none"},
        position="""
X places, O predicts
A x   B .   C o
D o   E .   F .
G .   H x   I o
X: in hand sniper
O: -
first X, idle 0 of 20, ply 6
""",
        play="spy to B/predict E",
    ),
    Lesson(
        said="The Predictor named E: the spy is blocked and goes back to the supply.",
        options={"mode": "round", "specialists": "sniper,none"},
        position="""
X places, O predicts
A x   B .   C o
D o   E .   F .
G .   H x   I o
X: in hand sniper
O: -
first X, idle 0 of 20, ply 6
""",
        play="spy to E/predict E",
    ),
    Lesson(
        said="The sniper in E removes the enemy spy in D, which is in its row.",
        options={"mode": "round", "specialists": "sniper,none"},
        position="""
X places, O predicts
A x   B .   C o
D o   E .   F .
G .   H x   I o
X: in hand sniper
O: -
first X, idle 0 of 20, ply 6
""",
        play="sniper to E/predict B; remove D",
    ),
    Lesson(
        said="The ninja in E removes the enemy spy in C, an adjacent room.",
        options={"mode": "round", "specialists": "ninja,none"},
        position="""
X places, O predicts
A x   B .   C o
D o   E .   F .
G .   H x   I o
X: in hand ninja
O: -
first X, idle 0 of 20, ply 6
""",
        play="ninja to E/predict B; remove C",
    ),
    Lesson(
        said="The assassin takes the room of the enemy spy in I.",
        options={"mode": "round", "specialists": "assassin,none"},
        position="""
X places, O predicts
A x   B .   C o
D o   E .   F .
G .   H x   I o
X: in hand assassin
O: -
first X, idle 0 of 20, ply 6
""",
        play="assassin to I/predict B",
    ),
    Lesson(
        said="The courier takes the room of the friendly spy in A, who moves to B.",
        options={"mode": "round", "specialists": "courier,none"},
        position="""
X places, O predicts
A x   B .   C o
D o   E .   F .
G .   H x   I o
X: in hand courier
O: -
first X, idle 0 of 20, ply 6
""",
        play="courier to A/predict B; move to B",
    ),
    Lesson(
        said="The mole in E swaps the friendly spy in A and the enemy spy in D.",
        options={"mode": "round", "specialists": "mole,none"},
        position="""
X places, O predicts
A x   B .   C o
D o   E .   F .
G .   H x   I o
X: in hand mole
O: -
first X, idle 0 of 20, ply 6
""",
        play="mole to E/predict B; swap A D",
    ),
    Lesson(
        said="The pusher moves from E to D and pushes the enemy spy off the board.",
        options={"mode": "round", "specialists": "pusher,none"},
        position="""
X places, O predicts
A x   B .   C o
D o   E .   F .
G .   H x   I o
X: in hand pusher
O: -
first X, idle 0 of 20, ply 6
""",
        play="pusher to E/predict B; push west",
    ),
    Lesson(
        said="The grappler in E has swapped places with the enemy spy in D.",
        options={"mode": "round", "specialists": "grappler,none"},
        position="""
X places, O predicts
A x   B .   C o
D o   E .   F .
G .   H x   I o
X: in hand grappler
O: -
first X, idle 0 of 20, ply 6
""",
        play="grappler to E/predict B; grapple D",
    ),
    Lesson(
        said="With the hacker on, X predicted two rooms, B and F. O's spy went to G.",
        options={"mode": "round", "specialists": "hacker,none"},
        position="""
X places, O predicts
A x   B .   C o
D o   E .   F .
G .   H x   I o
X: in hand hacker
O: -
first X, idle 0 of 20, ply 6
""",
        play="hacker to E/predict B; predict B+F/spy to G",
    ),
)
