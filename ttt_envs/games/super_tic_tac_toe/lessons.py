"""Positions that show the rules of Super Tic-Tac-Toe, for the page of `ttt serve` and the documentation."""

from ttt_envs.core.presentation import Lesson

#: See `Faces.lessons`.
LESSONS = (
    Lesson(
        said="X has opened in the centre board, in its cell 0. So O must move in board 0.",
        position="""
X to move in board 4
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
boards: ... ... ...
""",
        play="4/0",
    ),
    Lesson(
        said=(
            "X has three in a row in the centre board and owns it. The last move, in cell 4, sends O there all the "
            "same."
        ),
        position="""
X to move in board 4
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
boards: ... ... ...
""",
        play="4/0; 0/4; 4/8; 8/4; 4/4",
    ),
    Lesson(
        said=(
            "The last move, in cell 4, sends O to the centre board. It is full, without a row of three, so O may "
            "move anywhere."
        ),
        position="""
O to move anywhere
. . . . . . O . .
. X . . . . . . .
. . . . . . . . .
. . . X O X . . .
. . . X O O . . .
. . . O X X . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
boards: ... ... ...
last move: X 0/4
""",
    ),
    Lesson(
        said="X owns three boards in a row and has won.",
        position="""
over: X wins
X X X . . O . . .
O . . . . . . . O
. . O . O . . . .
. . . X . . O . .
O . . . X . . . .
. . . . . X . . .
. . . . . . . . .
. . . . . . . . .
. O . . . . X X X
boards: X.. .X. ..X
last move: X 8/8
""",
    ),
)
