"""`ttt tournament`: games of agents against each other, and their ratings."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from ttt_envs.cli.common import MeasuringAgents
from ttt_envs.cli.shell import parse
from ttt_envs.registry import GAMES, full_id
from ttt_envs.storage.outside import brief


@dataclass(frozen=True, kw_only=True)
class Tournament(MeasuringAgents):
    """Let agents play each other and rate them. Interrupted (Ctrl-C), it reports on the games finished by then."""

    games: int = 100
    """Games of each pairing; rounded up, so that each seed is played from every seat."""
    resamples: int = 1000
    """Resamples of the bootstrap that gives the intervals."""
    chunk: Annotated[int | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Games played side by side; by default a few seconds' worth. Changes no result."""
    strict: bool = False
    """End the tournament at an agent's error or illegal action, which otherwise only loses the game."""
    workers: Annotated[int | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Workers that play at the same time; by default one, or with Ray one for each processor. Changes no result."""
    engine: Annotated[Literal["processes", "ray"] | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Where they are: processes of this machine (by default, if there are several), or actors on a Ray cluster."""
    address: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS", help_behavior_hint="")] = None
    """Address of a Ray cluster, such as 127.0.0.1:6379; by default one is started on this machine."""
    resume: bool = False
    """Go on with the tournament in --out. Settings that are not given are its own; --games may be more than before.
    Programs, files and code among its agents are run only if --agents names all of its agents again."""
    add: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="")] = ()
    """Further agents for the tournament in --out; the games that it has are kept."""
    isolate: bool = False
    """Let each agent play in a process of its own, so that none can reach another one's memory."""
    record: bool = False
    """Keep every game, action by action, in games.jsonl; `ttt replay` shows them."""
    measured: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="[FOLDER ...]", help_behavior_hint="")] = ()
    """Results of regret, exploitability or a ladder, of the same game, whose figures the report shows, too."""
    pairs: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[PAIRS ...]", help_behavior_hint="")] = ()
    """Pairs to play instead of all: a number such as 8, of opponents that an agent is drawn against; swiss or
    swiss:6, for rounds between agents of about equal score; or pairs by the agents' numbers, such as 0-1 0-2."""

    function = "ttt_envs.evaluation.tournaments.tournament:tournament"

    @classmethod
    def narrowed(cls, arguments: Sequence[str]) -> "Tournament | None":
        """With --resume or --add, the tournament of the folder: what is not given is as it was."""
        early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        early.add_argument("--resume", action="store_true")
        early.add_argument("--add", nargs="*")
        early.add_argument("--agents", nargs="*")
        early.add_argument("--out", type=Path)
        known, _ = early.parse_known_args(arguments)
        if not (known.resume or known.add is not None) or {"-h", "--help"} & set(arguments):
            return None
        if known.out is None:
            raise ValueError("--resume and --add need --out FOLDER, the folder of the tournament")
        from ttt_envs.agents import check_named
        from ttt_envs.evaluation.tournaments.parts import read_settings

        settings, where = read_settings(known.out), f"the tournament in {known.out}"
        game = settings["game"]
        if game not in {*GAMES, *arguments}:  # the name of a function, which would be run
            raise ValueError(f"{where} is of {brief(game)!r}, which is not registered: name it after the verb")
        if known.agents is None:
            check_named(settings["agents"], where, "name all its agents with --agents, in their order", arguments)
        settings["option"] = [f"{name}={text}" for name, text in settings["option"].items()]
        # Where it is played is not among them: a file must not name a server.
        names = ["game", "agents", "option", "games", "seed", "resamples", "chunk"]
        names += ["strict", "record", "isolate", "pairs"]
        kept: dict[str, Any] = {}
        for name in names:
            if (value := settings.get(name)) is not None:
                kept[name] = tuple(value) if isinstance(value, list) else value
        found: Tournament = parse({"tournament": cls}, ["tournament", *arguments], "ttt", "", cls(**kept))
        if (other := full_id(found.game)) != game:
            raise ValueError(f"{where} is of {brief(game)}, not of {other}")
        return found
