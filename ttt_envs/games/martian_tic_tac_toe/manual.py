"""The rules of Martian Tic-Tac-Toe for a player."""

from ttt_envs.games.martian_tic_tac_toe.rules import row_length, usual_plies

#: The players, in turn order.
COLOURS = ("red", "blue", "yellow", "green")
_TIMES = {2: "second", 3: "third"}

#: How to read a position that is written as text.
LEGEND = "In a position as text R, B, Y and G are the colours, and R2 is red's medium pyramid."

#: A summary for the list of games.
PITCH = "Place pyramids of three sizes: swap your own, capture smaller ones. Three of one size in a row wins."


def rules_text(size: int, players: int, repetition_limit: int | None, max_plies: int, same_size_swap: bool) -> str:
    """Return the rules with these options; see `Faces.rules_text` for the form."""
    line = pieces = row_length(size)
    colours = f"{', '.join(COLOURS[: players - 1])} and {COLOURS[players - 1]}"
    last = f"{chr(ord('a') + size - 1)}{size}"
    same = ", of the same size," if same_size_swap else ""
    draws = [f"after {max_plies} moves"]
    if repetition_limit is not None:
        times = _TIMES.get(repetition_limit, f"{repetition_limit}th")
        within = f" within {usual_plies(size)} moves" if max_plies > usual_plies(size) else ""
        draws.insert(0, f"when a board with the same player to move occurs for the {times} time{within}")
    draws.insert(0, "when no player can move")
    loss = "the other -1" if players == 2 else f"each other player -1/{players - 1}"
    paragraphs = (
        f"The board has {size}x{size} cells. The columns are a to {last[0]} from the left, the rows 1 to {size} from "
        f"the top, so that the cells are a1 to {last}. Each player has a stash of {pieces} small, {pieces} medium and "
        f"{pieces} large pyramids of one colour. The sizes are numbered 1, 2 and 3. The players move in turn: "
        f"{colours}; red begins.",
        "At each turn a player puts one pyramid from their stash on the board:",
        "\n".join(
            (
                "- Place: a small pyramid into an empty cell. Only small pyramids enter empty cells.",
                f"- Swap: a pyramid in the place of one of the player's own. It must be smaller{same} or exactly one "
                "size larger than the pyramid there, which returns to the player's stash.",
                "- Capture: a pyramid in the place of an opponent's that is exactly one size smaller. The captured "
                "pyramid returns to its owner's stash. Large pyramids cannot be captured.",
            )
        ),
        "At their first turn each player must place. A player who can move must move; one who cannot is passed over "
        "automatically.",
        "A move is written cell=size: b2=3 puts a large pyramid on b2.",
        f"The first player with {line} pyramids of the same size and their colour in a row, without a gap, wins: "
        f"horizontally, vertically or diagonally{'' if size == line else ', anywhere on the board'}. The winner gets "
        f"+1, {loss}. The game is a draw, which pays 0, {', '.join(draws[:-1])}, or {draws[-1]}.",
    )
    return "\n\n".join(paragraphs)
