"""Positions of Martian Tic-Tac-Toe as text, and what is in them in words."""

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.testing.positions import after, masks_of

ID = "martian_tic_tac_toe"

#: Option sets, few of them, because each kind of record is compiled for itself.
THREE = {"size": 5, "players": 3, "max_plies": 60}
FOUR = {"size": 6, "players": 4, "max_plies": 40, "same_size_swap": True, "repetition_limit": None}
FULL = {"size": 6, "players": 2, "max_plies": 80}
CHESSBOARD = {"size": 8, "players": 4, "max_plies": 400}

EVERY_KIND = "R1 R2 R3 / B1 B2 B3 / . . ."
CALM = "R1 . . / . . . / . . B1"

#: All of blue's pieces are on the board.
BLUE_STUCK_OF_THREE = "B1 B2 B3 B1 B2 / B3 B1 B2 B3 B1 / B2 B3 B1 B2 B3 / R1 R1 R2 R3 . / Y1 Y1 Y2 Y3 ."

#: So they are here, and all of red's but one, a small one.
BLUE_STUCK = (
    "B1 B2 B3 B1 B2 B3 / B2 B3 B1 B2 B3 B1 / B3 B1 B2 R1 R2 R3 / R2 R3 R1 R2 R3 R1 / R3 R1 R2 R3 R2 . / . . . . . ."
)


def text_of(turn: str, board: str, ply: int, occurred: int = 1, log: str = "") -> str:
    """The text of a position; the board's rows stand between slashes."""
    rows = [row.strip() for row in board.split("/")]
    lines = [turn, "  ".join("abcdefgh"[: len(rows)])]
    lines += [f"{k} {row}" for k, row in enumerate(rows, start=1)]
    lines.append(f"ply {ply}, occurred {occurred}")
    if log:
        lines.append(f"since the last placement: {log}")
    return "\n".join(lines)


class Position:
    """A state to play on from, with what is in it in words."""

    def __init__(self, game: Game, states: np.ndarray) -> None:
        self.game = game
        self.states = states
        lines = game.format_state(states[0], None).splitlines()
        self.says = lines[0]
        self.board = " / ".join(" ".join(line.split()[1:]) for line in lines[2 : 2 + game.options["size"]])
        self.stash = states["stash"][0].tolist()
        self.occurred = int(states["occurred"][0])
        self.over = bool(states["done"][0])
        self.rewards = states["rewards"][0].tolist()
        mask = masks_of(game, states, int(states["to_move"][0]))[0]
        self.legal = {name for name, legal in zip(game.action_names, mask, strict=True) if legal}
        # Whatever is looked at here can be read back from its text.
        again = game.parse_state(game.format_state(states[0], None))
        again["rng"] = states["rng"]
        assert again.tobytes() == states.tobytes()

    def play(self, *names: str) -> "Position":
        here = self
        for name in names:
            assert name in here.legal, f"{name} in {here.says}: {here.board}"
            joint = np.full((1, here.game.num_players), here.game.parse_action(name))
            here = Position(here.game, after(here.game, here.states, joint))
        return here


def position(game: Game, turn: str, board: str, ply: int = 50, occurred: int = 1, log: str = "") -> Position:
    return Position(game, game.parse_state(text_of(turn, board, ply, occurred, log)))


def start(game: Game) -> Position:
    return Position(game, game.new_state(seed=0))
