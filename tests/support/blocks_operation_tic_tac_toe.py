"""The meaning of each observation block of Operation Tic-Tac-Toe, worked out from the text of a position alone."""

import re
from collections.abc import Callable

from ttt_envs.core.game import Game

SPECIALISTS = ["sniper", "ninja", "assassin", "courier", "mole", "pusher", "grappler", "hacker"]

#: The first line of a position in each phase, in the order of the phases. A finished game has ended in a turn.
HEADS = ". decides who places first", "both choose", "(. places, . predicts|over)", ". decides on the ability in"


class Position:
    def __init__(self, text: str, game: Game, player: int) -> None:
        head, *lines = text.splitlines()
        rooms = " ".join(lines[:3]).split()
        self.rooms = dict(zip(rooms[::2], rooms[1::2], strict=True))
        self.me, self.other = "XO"[player], "OX"[player]
        self.sides = self.me, self.other
        self.phase = next(k for k, form in enumerate(HEADS) if re.match(form, head))
        self.over = head.startswith("over")
        self.specialists = {line[0]: line[3:].split("; ") for line in lines[3:5]}
        facts = re.search(r"^(round .*)?first (\w+), idle (\d+) of", text, re.MULTILINE)
        self.first, self.idle = facts[2], int(facts[3])
        counts = re.search(r"^round (\d+), wins X (\d+) O (\d+)", text, re.MULTILINE)
        if counts:
            self.round, self.wins = int(counts[1]), {"X": int(counts[2]), "O": int(counts[3])}
            self.rounds_left = game.options["max_rounds"] - self.round
        pending = re.search(r"on the ability in ([A-I])$", head)
        self.pending = pending[1] if pending else None
        # While specialists are chosen, the turn is the one to come; at the end, the last one.
        placer = re.search(r"([XO]) (places|decides on|placed last)", head)
        self.placer = self.first if self.phase == 1 else placer[1] if placer and self.phase else None
        both = self.phase == 1 or (self.phase == 2 and not self.over)
        self.deciding = "XO" if both else "" if self.over else head[0]

    def named(self, k: int, standing: str, specialist: int) -> bool:
        """Whether the specialist is named in this part of my (k=0) or the opponent's line."""
        parts = [part for part in self.specialists[self.sides[k]] if part.startswith(f"{standing} ")]
        return any(SPECIALISTS[specialist] in part.removeprefix(f"{standing} ").split(", ") for part in parts)

    def is_spy(self, room: int, side: str) -> bool:
        """Whether a spy of this side stands in the room."""
        return self.rooms["ABCDEFGHI"[room]] == side.lower()

    def is_specialist(self, room: int, side: str) -> bool:
        """Whether a specialist of this side stands in the room."""
        return self.rooms["ABCDEFGHI"[room]].startswith(f"{side}:")


FEATURES: dict[str, Callable[..., bool]] = {
    "own spies": lambda p, room: p.is_spy(room, p.me),
    "own specialists": lambda p, room: p.is_specialist(room, p.me),
    "opponent's spies": lambda p, room: p.is_spy(room, p.other),
    "opponent's specialists": lambda p, room: p.is_specialist(room, p.other),
    "pending room": lambda p, room: p.pending == "ABCDEFGHI"[room],
    "pending kind": lambda p, k: p.pending is not None and p.rooms[p.pending].endswith(f":{SPECIALISTS[k]}"),
    "placer": lambda p, _: p.placer == p.me,
    "to move": lambda p, _: p.me in p.deciding,
    "hacker on": lambda p, k: "hacker on" in p.specialists[p.sides[k]],
    "in hand": lambda p, k, specialist: p.named(k, "in hand", specialist),
    "unused": lambda p, k, specialist: p.named(k, "unused", specialist),
    "offered": lambda p, k, specialist: p.named(k, "offered", specialist),
    "phase": lambda p, phase: p.phase == phase,
    "first": lambda p, _: p.first == p.me,
    "overtime": lambda p, _: p.round > 8,
    "last rounds": lambda p, k: p.rounds_left <= k,
    "idle turns": lambda p, k: p.idle >= k + 1,
    "own wins": lambda p, k: p.wins[p.me] >= k + 1,
    "opponent's wins": lambda p, k: p.wins[p.other] >= k + 1,
}
