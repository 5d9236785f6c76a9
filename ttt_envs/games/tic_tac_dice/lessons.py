"""Positions that show the rules of Tic-Tac-Dice, for the page of `ttt serve` and the documentation."""

from ttt_envs.core.presentation import Lesson

#: See `Faces.lessons`.
LESSONS = (
    Lesson(
        said="The dice show 2 and 3, so X may claim a 2, a 3 or a 5. The 3 is claimed already; 2 and 5 are left.",
        options={"rounds": "single"},
        position="""
X claims by dice 2 3
A 1    B 2*   C 3X
D 4    E 5*   F 6O
G 7X   H 8    I 8
ply 3
""",
    ),
    Lesson(
        said="Doubles: X must claim the 2 or the 4, and then rolls again.",
        options={"rounds": "single"},
        position="""
X claims by dice 2 2, then rolls again
A 1    B 2*   C 3X
D 4*   E 5    F 6O
G 7X   H 8    I 8
ply 3
""",
    ),
    Lesson(
        said="X claims the 5 in the centre, and has a row.",
        options={"rounds": "single"},
        position="""
X claims by dice 2 3
A 1    B 2*   C 3X
D 4    E 5*   F 6O
G 7X   H 8O   I 8
ply 4
""",
        play="E",
    ),
    Lesson(
        said=("All cards are claimed and nobody has a row: X has five markers, O four. In a match that is one point."),
        options={"rounds": "single"},
        position="""
X claims by dice 2 6
A 1X   B 2O   C 3X
D 4X   E 5O   F 6O
G 7O   H 8X   I 8*
ply 8
""",
        play="I",
    ),
)
