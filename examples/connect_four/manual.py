"""The rules of Connect Four for a player."""


def rules_text(rows: int, columns: int, line: int) -> str:
    """Return the rules with these options; see `Game.rules_text` for the form."""
    last = "abcdefgh"[columns - 1]
    return "\n\n".join(
        (
            f"Two players, X and O, drop discs into a standing frame of {columns} columns, a to {last} from the left, "
            f"of {rows} cells each. X begins, and the turn passes after every disc.",
            "At each turn a player names a column that is not full, and their disc falls to its lowest empty cell. A "
            "move is the letter of the column.",
            f"The first player with {line} discs in a row, horizontally, vertically or diagonally, wins at once and "
            "gets +1, the other -1. A full frame without such a row is a draw, which pays 0.",
        )
    )
