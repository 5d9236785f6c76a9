"""`ttt tournament`: games of agents against each other, and their ratings."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from ttt_envs.cli.common import MeasuringAgents
from ttt_envs.cli.shell import parse
from ttt_envs.registry import GAMES
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
    """Who plays whom, instead of all: a number such as 8, of opponents that an agent is drawn against; swiss or
    swiss:6, for rounds between agents of about equal score; or pairs by the agents' numbers, such as 0-1 0-2."""

    function = "ttt_envs.evaluation.tournaments.tournament:tournament"

    @classmethod
    def narrowed(cls, arguments: Sequence[str]) -> "Tournament | None":
        """With --resume or --add, the tournament of the folder: what is not given is as it was."""
        words = list(arguments)
        given = [word.partition("=")[0] for word in words]
        if not {"--resume", "--add"} & set(given) or {"-h", "--help"} & set(given):
            return None
        if "--out" not in given:
            raise ValueError("--resume and --add need --out FOLDER, the folder of the tournament")
        place = given.index("--out")
        _, equals, folder = words[place].partition("=")
        if not equals:
            folder = next(iter(words[place + 1 :]), "")
        from ttt_envs.agents import check_named
        from ttt_envs.evaluation.tournaments.parts import read_settings

        settings, where = read_settings(Path(folder)), f"the tournament in {folder}"
        game = settings.pop("game")
        if words[0].startswith("-"):
            if game not in GAMES:  # the name of a function, which would be run
                raise ValueError(f"{where} is of {brief(game)!r}, which is not registered: name it after the verb")
            words.insert(0, game)
        if "--agents" not in given:
            check_named(settings["agents"], where, "name all its agents with --agents, in their order", words)
        for name in ("agents", "option", "games", "seed", "resamples", "chunk", "strict", "record", "isolate", "pairs"):
            value, flag = settings.get(name), f"--{name}"
            if flag in given or value in (None, False, [], {}):
                continue
            if isinstance(value, dict):
                value = [f"{key}={text}" for key, text in value.items()]
            words += [flag, *map(str, value if isinstance(value, list) else [] if value is True else [value])]
        return parse({"tournament": cls}, ["tournament", *words], "ttt", "Let agents play each other and rate them.")
