"""`ttt solve`: optimal play or an equilibrium of a small game, or the results of a game's own solver."""

from collections.abc import Sequence
from dataclasses import dataclass, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ttt_envs import registry
from ttt_envs.cli.common import GameArguments, GameOptions, Measuring, instead
from ttt_envs.cli.shell import parse
from ttt_envs.evaluation.reports.progress import Work

if TYPE_CHECKING:  # a Game brings Numba, which `--help` does without
    from ttt_envs.core.oracle import SolveCommand


@dataclass(frozen=True, kw_only=True)
class Solve(Measuring):
    """Solve a small game: every position if all is seen and players take turns, else an equilibrium by PCFR+.

    The agent `solved:FOLDER` plays by the result.
    A game with a solver of its own has subcommands, such as `ttt solve GAME table`; `ttt solve GAME --help` lists them.
    """

    iterations: int = 1000
    """Largest number of iterations of PCFR+."""
    target: Annotated[float | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Exploitability, in units of reward, at which to stop."""
    limit: int = 15_000_000
    """Largest number of positions: of different ones with perfect information, else of all nodes in the game's tree."""

    function = "ttt_envs.evaluation.solve:solve"

    def run(self) -> int:
        """Solve the game; if it is too large, name the commands of its own solver."""
        from ttt_envs.solvers.tree import TooLarge

        try:
            return super().run()
        except TooLarge as error:
            commands = self.load().solve_commands
            names = ", ".join(f"`ttt solve {self.game} {name}`" for name in commands)
            raise ValueError(
                f"{error}; {f'its own solver works out: {names}' if names else instead(self.game)}"
            ) from None

    @classmethod
    def narrowed(cls, arguments: Sequence[str]) -> "OwnSolver | None":
        """Return a command of the game's own solver, if the words after the verb name one."""
        game_id, *rest = arguments or ("",)
        try:
            commands = registry.load(game_id).solve_commands
        except ValueError:  # no such game, or `--help`
            return None
        if not commands or rest[:1] not in ([name] for name in (*commands, "-h", "--help")):
            return None
        given = parse(
            {name: _with_options(command) for name, command in commands.items()},
            rest,
            f"ttt solve {game_id}",
            "Results of the game's own solver. Without one of these names, `ttt solve` solves any small game.",
        )
        return OwnSolver(game=game_id, option=given.option, command=given)


@dataclass(frozen=True, kw_only=True)
class OwnSolver(GameArguments):
    """A game, and a command of its own solver with the command's arguments."""

    command: "SolveCommand"
    """Says what is worked out, and how."""

    def run(self) -> None:
        """Run the command and print its result."""
        options, found = self.load().options, list[str]()
        with Work(found, "results", 1.0) as work:
            found.append(self.command.run(options, lambda what, share: work.update(share, what)))
        print(found[0])


def _with_options(command: "type[SolveCommand]") -> Any:
    return make_dataclass(
        command.__name__, [], bases=(command, GameOptions), frozen=True, namespace={"__doc__": command.__doc__}
    )
