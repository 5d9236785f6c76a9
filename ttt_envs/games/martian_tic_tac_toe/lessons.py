"""Positions that show the rules of Martian Tic-Tac-Toe, for the page of `ttt serve` and the documentation."""

from ttt_envs.core.presentation import Lesson

#: See `Faces.lessons`.
LESSONS = (
    Lesson(
        said="Place. At their first turn both players put a small pyramid into an empty cell.",
        position="""
R to move
    a  b  c
 1  .  .  .
 2  .  .  .
 3  .  .  .
ply 0, occurred 1
""",
        play="b2=1; a1=1",
    ),
    Lesson(
        said="Swap. Red exchanges the small pyramid for a medium one, one size larger.",
        position="""
R to move
    a  b  c
 1  .  .  .
 2  .  .  .
 3  .  .  .
ply 0, occurred 1
""",
        play="b2=1; a1=1; b2=2",
    ),
    Lesson(
        said="Capture. Red's medium pyramid takes the place of blue's small one, which goes back to blue's stash.",
        position="""
R to move
    a  b  c
 1  .  .  .
 2  .  .  .
 3  .  .  .
ply 0, occurred 1
""",
        play="b2=1; a1=1; a1=2",
    ),
    Lesson(
        said=(
            "Three medium pyramids of red in a row win. Each has the same size: a small one among them would not do."
        ),
        position="""
R to move
    a  b  c
 1  R2 B1 B2
 2  .  R2 .
 3  B1 .  R1
ply 12, occurred 1
""",
        play="c3=2",
    ),
)
