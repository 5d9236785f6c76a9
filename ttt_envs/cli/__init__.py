"""The command `ttt`: one file a verb, one shell for all of them. `python -m ttt_envs` is the same command.

A verb is a dataclass: its fields are the command line, its docstring the help, its method `run` does the work and
returns an exit status, or None for success.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import tyro

from ttt_envs.cli.shell import run

DESCRIPTION = "Play, compare and measure agents on variants of tic-tac-toe."

#: Verb -> "module:dataclass", in the order of the help.
VERBS: dict[str, str] = {
    "games": "ttt_envs.cli.games:Games",
    "tournament": "ttt_envs.cli.tournament:Tournament",
    "regret": "ttt_envs.cli.regret:Regret",
    "exploitability": "ttt_envs.cli.exploitability:Exploitability",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    if "" not in sys.path:
        # As `python -m ttt_envs` has it: package.module:Name may lie in the current folder.
        sys.path.append("")
    verbs = {verb: _class_of(place) for verb, place in VERBS.items()}
    given: Any = tyro.extras.subcommand_cli_from_dict(verbs, args=arguments, prog="ttt", description=DESCRIPTION)
    return run(given.run)


def _class_of(place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(module), name)
