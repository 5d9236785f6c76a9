"""Conformance: checks that every game must pass, including your own.

`check_game(game)` runs all checks. `CHECKS` maps their names to the checks, for parametrised tests. The checks need
only the Game, and play random games. They compare rules, observations, text and drawing with each other, with the
game's declared facts and symmetries, and with the requirements of environments and agents.
"""

from collections.abc import Callable

from ttt_envs.core.game import Game
from ttt_envs.testing import environments, rules, symmetry, text, views

__all__ = ["CHECKS", "check_game"]


def __dir__() -> list[str]:
    return __all__


#: Name -> check. A check takes a Game and raises AssertionError if the game fails.
CHECKS: dict[str, Callable[[Game], None]] = {
    name.removeprefix("check_"): check
    for module in (rules, symmetry, views, text, environments)
    for name, check in vars(module).items()
    if name.startswith("check_")
}


def check_game(game: Game, *, progress: Callable[[str], None] | None = None) -> list[str]:
    """Run every check of `CHECKS`, and return their names.

    Args:
        game: the game, with the options to check.
        progress: called with a line for each passed check, for example `print`.

    Raises:
        AssertionError: the game fails a check; the message names it. An exception in the game's own functions counts
            as a failure, and is the cause of the AssertionError.
        RuntimeError: Python runs without assertions (-O).
    """
    if not __debug__:
        raise RuntimeError("check_game needs assertions: run Python without -O and PYTHONOPTIMIZE")
    for name, check in CHECKS.items():
        first = (check.__doc__ or "").partition("\n")[0]
        try:
            check(game)
        except Exception as error:
            said = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            raise AssertionError(f"{game} fails the check {name!r} ({first}) {said}") from error
        if progress is not None:
            progress(f"{name.replace('_', ' ')}: {first}")
    return list(CHECKS)
