"""`ttt warm`: compile in advance everything that workers need."""

from dataclasses import dataclass
from os.path import commonpath
from typing import Annotated

import tyro

from ttt_envs import registry
from ttt_envs.cli.common import GameOptions
from ttt_envs.registry import parse_options


@dataclass(frozen=True, kw_only=True)
class Warm(GameOptions):
    """Compile all that a worker needs to play, such as in an image or on a node. The machine code is kept on disk."""

    games: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="GAME [GAME ...]", help_behavior_hint="")
    ]
    """Ids of games; `ttt games` lists them. With --option, one game."""
    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="")] = ()
    """Agents that the workers are to play."""

    def run(self) -> None:
        """Compile, and print the compiled parts with their times."""
        from ttt_envs.core.compile.kernel_cache import MachineCode
        from ttt_envs.evaluation.arena.precompile import warm

        if not self.games:
            raise ValueError("name one game or more, such as: ttt warm GAME")
        if self.option and len(self.games) > 1:
            raise ValueError("--option needs one game: warm games with options one after the other")
        games = [registry.load(name, **parse_options(name, self.option)) for name in self.games]
        kernels, seconds = 0, 0.0
        for game in games:
            print(game)
            for what, compiled, took in warm(game, self.agents):
                kernels, seconds = kernels + compiled, seconds + took
                print(f"  {what}: {compiled} compiled, {took:.1f} s", flush=True)
        if not kernels:
            print(f"All was compiled before; {seconds:.1f} s.")
            return
        print(f"{kernels} kernels compiled in {seconds:.1f} s. They are kept below {commonpath(MachineCode.compiled)}")
