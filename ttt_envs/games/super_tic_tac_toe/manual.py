"""The rules of Super Tic-Tac-Toe for a player."""

#: How to read a position that is written as text.
LEGEND = "In a position as text the line 'boards' shows who owns each small board."

#: A summary for the list of games.
PITCH = "Nine boards in one: the cell you take decides the board in which your opponent must play next."


def rules_text(first_move: str, won_boards: str, random_opening_plies: int) -> str:
    """Return the rules with these options; see `Faces.rules_text` for the form."""
    where = "the centre board, board 4" if first_move == "center_board" else "any board"
    opening = f"X moves first, into any cell of {where}; then the players take turns."
    if random_opening_plies:
        moves = "move is" if random_opening_plies == 1 else f"{random_opening_plies} moves are"
        opening += f" The first {moves} drawn at random from the legal ones, so that games differ."
    if won_boards == "open":
        sent = (
            "A move in cell c of any board sends the opponent to board c: their next move must be in an empty cell of "
            "that board, even if somebody owns it already. If board c is full, they may move into any empty cell of "
            "any board."
        )
    else:
        sent = (
            "A board that somebody owns, or that is full, is closed: nobody may move in it. A move in cell c of any "
            "board sends the opponent to board c: their next move must be in an empty cell of that board. If board c "
            "is closed, they may move into any empty cell of any board that is not."
        )
    return "\n\n".join(
        (
            "Nine small tic-tac-toe boards of nine cells form one large board. Two players, X and O, put one mark of "
            "theirs into an empty cell at each turn. Boards are numbered 0 to 8, row by row from the top left, and so "
            "are the cells of each board. A move is written board/cell: 4/0 is the top left cell of the centre board.",
            opening,
            sent,
            "The first player with three marks in a row (a row, column or diagonal) in a small board owns it for the "
            "rest of the game; later rows of three in that board change nothing. A small board that fills up without "
            "a row of three belongs to nobody.",
            "A player who owns three small boards in a row wins at once. If no move is left and nobody has won, the "
            "game is a draw. The winner gets +1 and the loser -1; a draw pays 0.",
        )
    )
