"""`ttt tournament`: games of agents against each other, and their ratings."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ttt_envs.cli.common import MeasuringAgents
from ttt_envs.cli.shell import parse
from ttt_envs.registry import GAMES, full_id
from ttt_envs.storage.untrusted import brief


@dataclass(frozen=True, kw_only=True)
class Tournament(MeasuringAgents):
    """Let agents play each other and rate them. Interrupted (Ctrl-C), it reports on the games finished by then."""

    games: int = 100
    """Games of each pairing; rounded up, so that each seed is played from every seat."""
    resamples: int = 1000
    """Resamples of the bootstrap that gives the intervals."""
    strict: bool = False
    """End the tournament at an agent's error or illegal action, which otherwise only loses the game."""
    pairs: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[PAIRS ...]", help_behavior_hint="")] = ()
    """Pairs to play instead of all, by the agents' numbers, such as 0-1 0-2."""
    workers: Annotated[int | str, tyro.conf.arg(metavar="N|ray[:ADDRESS]")] = 1
    """Processes that play at the same time, 0 for one per processor; ray for a Ray cluster that is started on this
    machine, ray:ADDRESS for one to join. Changes no result."""
    resume: bool = False
    """Continue the tournament in --out. Unspecified settings are read from that tournament; --games may be larger, and
    --agents may name further agents after the others. Programs, files and code among its agents are run only if
    --agents names all of its agents again."""

    function = "ttt_envs.evaluation.tournament:tournament"

    @classmethod
    def narrowed(cls, arguments: Sequence[str]) -> "Tournament | None":
        """Return the tournament to resume, with missing arguments from its folder; None without --resume."""
        early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        early.add_argument("--resume", action="store_true")
        early.add_argument("--agents", nargs="*")
        early.add_argument("--out", type=Path)
        known, _ = early.parse_known_args(arguments)
        if not known.resume or {"-h", "--help"} & set(arguments):
            return None
        if known.out is None:
            raise ValueError("--resume needs --out FOLDER, the folder of the tournament")
        from ttt_envs.agents import check_named
        from ttt_envs.evaluation.records.log import read_settings

        settings, where = read_settings(known.out), f"the tournament in {known.out}"
        game = settings["game"]
        if game not in {*GAMES, *arguments}:  # the name of a function, which would be run
            raise ValueError(f"{where} is of {brief(game)!r}, which is not registered: name it after the verb")
        if known.agents is None:
            check_named(settings["agents"], where, "name all its agents with --agents, in their order", arguments)
        settings["option"] = [f"{name}={text}" for name, text in settings["option"].items()]
        # `workers` is not taken from the folder, which may come from someone else: a file must not choose a server.
        kept: dict[str, Any] = {}
        for name in ("game", "agents", "option", "games", "seed", "resamples", "strict", "pairs"):
            value = settings[name]
            kept[name] = tuple(value) if isinstance(value, list) else value
        found: Tournament = parse({"tournament": cls}, ["tournament", *arguments], "ttt", "", cls(**kept))
        if (other := full_id(found.game)) != game:
            raise ValueError(f"{where} is of {brief(game)}, not of {other}")
        return found
