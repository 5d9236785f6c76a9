"""Positions that show the rules of Tic-Tac Match, for the page of `ttt serve` and the documentation."""

from ttt_envs.core.presentation import Lesson

#: See `Faces.lessons`.
LESSONS = (
    Lesson(
        said="A turn of seat 1, as seat 1 sees it: their own hand, and the backs of seat 0's cards.",
        position="""
seat 1 plays
A gX  B .   C .
D .   E gX  F .
G .   H bO  I .
ID cards: X O
hand 0: 1 gX, 1 gO, 1 F, 1 D
hand 1: 1 gX, 1 yX, 1 F, 1 D
covered: none
discards: 1 W
turn 3, ply 3
""",
        viewer=1,
    ),
    Lesson(
        said=(
            "A symbol card covers a card that shares exactly one of colour and symbol with it: the yellow X covers "
            "the green one."
        ),
        position="""
seat 1 plays
A gX  B .   C .
D .   E gX  F .
G .   H bO  I .
ID cards: X O
hand 0: 1 gX, 1 gO, 1 F, 1 D
hand 1: 1 gX, 1 yX, 1 F, 1 D
covered: none
discards: 1 W
turn 3, ply 3
""",
        play="yellow X to A",
    ),
    Lesson(
        said="Seat 1 completes a row of green Xs. Seat 1's ID card shows O and seat 0's shows X: seat 0 has won.",
        position="""
seat 1 plays
A gX  B .   C .
D .   E gX  F .
G .   H bO  I .
ID cards: X O
hand 0: 1 gX, 1 gO, 1 F, 1 D
hand 1: 1 gX, 1 yX, 1 F, 1 D
covered: none
discards: 1 W
turn 3, ply 3
""",
        play="green X to I",
    ),
    Lesson(
        said="The same row, after a Double Play and a Flip: now seat 1's ID card shows X, and seat 1 has won.",
        position="""
seat 1 plays
A gX  B .   C .
D .   E gX  F .
G .   H bO  I .
ID cards: X O
hand 0: 1 gX, 1 gO, 1 F, 1 D
hand 1: 1 gX, 1 yX, 1 F, 1 D
covered: none
discards: 1 W
turn 3, ply 3
""",
        play="double play; flip; green X to I",
    ),
    Lesson(
        said="A Wipe-Out: seat 0 has a new hand, and it is seat 0's turn.",
        position="""
seat 1 plays
A gX  B .   C .
D .   E gX  F .
G .   H bO  I .
ID cards: X O
hand 0: 1 gX, 1 gO, 1 F, 1 D
hand 1: 1 gX, 1 yX, 1 F, 1 W
covered: none
discards: 1 W
turn 3, ply 3
""",
        play="wipe-out +1",
    ),
)
