"""The rules of Connect Four for a player."""


def rules_text(line: int) -> str:
    """The rules with this option; see `Game.rules_text` for the form."""
    return "\n\n".join(
        (
            "Two players, X and O, drop discs into a standing frame of seven columns, a to g from the left, of six "
            "cells each. X begins, and the turn passes after every disc.",
            "At each turn a player names a column that is not full, and their disc falls to its lowest empty cell. A "
            "move is the letter of the column.",
            f"The first player with {line} discs in a row, horizontally, vertically or diagonally, wins at once and "
            "gets +1, the other -1. A full frame without such a row is a draw, which pays 0.",
        )
    )
